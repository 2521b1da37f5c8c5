package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// FuzzHook sends events to each host's hook: it ends with 0 or 2, within its deadline, and says nothing or what is exactly the
// host's dialect. What is no JSON object is denied.
func FuzzHook(f *testing.F) {
	for i, host := range Hosts() {
		archive, err := txtar.ParseFile(filepath.Join("testdata", host+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) != ".told" {
				f.Add(uint8(i), bytes.TrimSpace(file.Data))
			}
		}
	}
	home, err := os.MkdirTemp("", "fuzz-hook-*")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { os.RemoveAll(home) })
	policyFile, err := filepath.Abs("../../testdata/conformance/hook-policy.json")
	if err != nil {
		f.Fatal(err)
	}
	const deadline = 10 * time.Second // of a machine that fuzzes on all its cores
	f.Fuzz(func(t *testing.T, which uint8, event []byte) {
		host := Hosts()[int(which)%len(Hosts())]
		start := time.Now()
		r := runWith(t, Options{Host: host, Policy: policyFile, Checks: which >= 128, Deadline: deadline},
			System{Stdin: bytes.NewReader(event)}, map[string]string{"HOME": home})
		if took := time.Since(start); took > deadline+time.Second {
			t.Errorf("it took %v", took)
		}
		if err := mustSpeak(host, r); err != nil {
			t.Error(err)
		}
		trimmed := bytes.TrimSpace(bytes.TrimPrefix(event, bom))
		if (len(trimmed) == 0 || trimmed[0] != '{') && outcome(t, host, r) != "deny" {
			t.Errorf("%q is not denied: %q", event, r.Stdout)
		}
	})
}

// FuzzTwofold holds the quick ways of finding keys that fold to each other to the plain one.
func FuzzTwofold(f *testing.F) {
	for _, pair := range [][2]string{{"command", "Command"}, {"k", "K"}, {"_a", "a"}, {"a_b", "aB"}, {"", "_"}, {"ſ", "s"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one := fold(a, true) == fold(b, true)
		if one && !mayFold(a, b) {
			t.Errorf("%q and %q fold to each other, and the quick look does not see it", a, b)
		}
		if fold(a, false) == fold(b, false) && !one {
			t.Errorf("%q and %q are one with underscores and two without", a, b)
		}
		if again := fold(fold(a, true), false); again != fold(a, true) {
			t.Errorf("%q folds to %q, and that to %q", a, fold(a, true), again)
		}
	})
}
