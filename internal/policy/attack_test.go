package policy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

// FuzzParse holds Parse to its promises: an error has a place in the file, and a policy that loads denies what it lists
// under deny and what it does not list under allow, whatever the arguments.
func FuzzParse(f *testing.F) {
	args := []byte(`{"s":"\ud83d\ude00x","text":"hello","request_id":"req-0001"}`)
	for _, tc := range parseErrors {
		f.Add([]byte(tc.text), args)
	}
	f.Add(readExample(f), args)
	f.Add([]byte(`{"version":1,"allow":["a","b"],"deny":["a"],"arg_rules":{"a":{"s":{}},"b":{"s":{"min_len":1,"max_len":3}}}}`), args)
	f.Add([]byte(`{"version":1,"allow":["\u0061"],"d\u0065ny":["a"]}`), args)
	f.Add([]byte(`{"version":1,"allow":["a"]}`), []byte(`not JSON`))
	f.Fuzz(func(t *testing.T, text, args []byte) {
		before := bytes.Clone(text)
		p, err := policy.Parse("p.json", text)
		if !bytes.Equal(text, before) {
			t.Fatal("Parse changed the text")
		}
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		sum := sha256.Sum256(text)
		if got, want := p.Digest(), hex.EncodeToString(sum[:]); got != want {
			t.Errorf("digest: got %s, want %s", got, want)
		}
		root, err := canon.Parse(text)
		if err != nil {
			t.Fatalf("a text that canon refuses loaded: %v", err)
		}
		v, _ := canon.Parse(args) // absent where it is not JSON
		checkTools(t, p, root, v)
	})
}

// checkPlace checks that an error points into the text.
func checkPlace(t *testing.T, text []byte, err error) {
	e, ok := errors.AsType[*policy.Error](err)
	if !ok {
		t.Fatalf("got a %T, want a *policy.Error", err)
	}
	lines := bytes.Split(text, []byte("\n"))
	if e.File != "p.json" || e.Msg == "" || e.Line < 1 || e.Line > len(lines) {
		t.Fatalf("got %#v, want a line of %d", e, len(lines))
	}
	if most := len(bytes.Runes(lines[e.Line-1])) + 1; e.Col < 1 || e.Col > most {
		t.Errorf("got %#v, want a column of %d", e, most)
	}
}

// checkTools judges every string of a policy that loaded as the name of a tool.
func checkTools(t *testing.T, p *policy.Policy, root, args canon.Value) {
	allow, deny := texts(root.Get("allow")), texts(root.Get("deny"))
	for _, tool := range append(texts(root), "", "a", "rm_rf") {
		got, why := p.Evaluate(policy.Request{Tool: tool, Args: args})
		switch {
		case slices.Contains(deny, tool):
			if got != policy.Deny || why.Rule != "deny" || !why.Hidden || p.Visible(tool) {
				t.Errorf("%q is denied: got %v, %+v, visible %v", tool, got, why, p.Visible(tool))
			}
		case !slices.Contains(allow, tool):
			if got != policy.Deny || why.Rule != "default" || !why.Hidden || p.Visible(tool) {
				t.Errorf("%q is not allowed: got %v, %+v, visible %v", tool, got, why, p.Visible(tool))
			}
		default:
			if why.Hidden || !p.Visible(tool) || (got == policy.Allow) != (why.Rule == "allow") {
				t.Errorf("%q is allowed: got %v, %+v, visible %v", tool, got, why, p.Visible(tool))
			}
		}
	}
}

// texts returns all strings in a value, keys included.
func texts(v canon.Value) []string {
	var all []string
	if s, ok := v.Text(); ok {
		all = append(all, s)
	}
	for v := range v.Elements() {
		all = append(all, texts(v)...)
	}
	for key, v := range v.Members() {
		all = append(append(all, key), texts(v)...)
	}
	return all
}

// mutable is a valid policy in which each list matters: without its deny list or its rules it would allow more.
const mutable = `{
  "version": 1,
  "allow": ["write_note", "read_ledger", "rm_rf"],
  "deny": ["rm_rf", "mkfs"],
  "arg_rules": {"write_note": {"request_id": {"min_len": 8}, "text": {"max_len": 12}}}
}
`

// part says where in mutable a byte stands, or the gap before it, as far as a change there may open something.
//
//   - In a name of the allow list, a change may put the name that it makes, and no other, in place of the old one.
//   - In the deny list, a change may free the one name that it spoils, if the allow list has it.
//   - In the rules, a change may loosen or lose a rule (a digit, a tool's or an argument's name), for tools that were
//     allowed all along.
//
// Anywhere else a change must open nothing: the file fails to load, or decides as strictly as before.
type part int

const (
	elsewhere part = iota
	allowName
	denyList
	argRules
)

func partOf(i int) part {
	within := func(from, to string) bool {
		start := strings.Index(mutable, from) + len(from)
		return i >= start && i < start+strings.Index(mutable[start:], to)
	}
	switch {
	case within(`"allow": [`, "]") && strings.Count(mutable[:i], `"`)%2 == 1:
		return allowName
	case within(`"deny": [`, "]"):
		return denyList
	case within(`"arg_rules": {`, "\n"):
		return argRules
	default:
		return elsewhere
	}
}

// TestOneWrongByteOpensNoDoor changes, removes and inserts each byte at each place of a policy.
func TestOneWrongByteOpensNoDoor(t *testing.T) {
	original := mustParse(t, mutable)
	args := []canon.Value{{}}
	for _, text := range []string{
		`{}`, `{"request_id":"req-0001","text":"x"}`, `{"request_id":"r","text":"x"}`, `{"request_id":"req-0001"}`,
		`{"request_id":"req-0001","text":"more than twelve"}`, `{"request_id":1,"text":2}`,
	} {
		args = append(args, call(t, "", text).Args)
	}
	loaded, opened := 0, map[part]int{}
	try := func(i int, text []byte) {
		p, err := policy.Parse("p.json", text)
		if err != nil {
			return
		}
		loaded++
		root, err := canon.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		opens := map[string]bool{}
		for _, tool := range append(texts(root), "", "write_note", "read_ledger", "rm_rf", "mkfs") {
			for _, v := range args {
				r := policy.Request{Tool: tool, Args: v}
				was, _ := original.Evaluate(r)
				if is, _ := p.Evaluate(r); is > was {
					opens[tool] = true
				}
			}
		}
		where := partOf(min(i, len(mutable)-1))
		if len(opens) > 0 {
			opened[where]++
		}
		for tool := range opens {
			if !mayOpen(where, tool) {
				t.Fatalf("byte %d: %q is opened by\n%s", i, tool, text)
			}
		}
		if len(opens) > 1 {
			t.Fatalf("byte %d: %v are opened by\n%s", i, opens, text)
		}
	}
	for i := range len(mutable) + 1 {
		before, after := mutable[:i], mutable[i:]
		for b := range 256 {
			try(i, fmt.Appendf(nil, "%s%c%s", before, b, after)) // a character, as an editor inserts it
			if i < len(mutable) && byte(b) != mutable[i] {
				try(i, slices.Concat([]byte(before), []byte{byte(b)}, []byte(after[1:])))
			}
		}
		if i < len(mutable) {
			try(i, []byte(before+after[1:]))
		}
	}
	if loaded < 1000 || opened[allowName] == 0 || opened[denyList] == 0 || opened[argRules] == 0 {
		t.Errorf("%d texts loaded and %v opened something: the test reaches too little", loaded, opened)
	}
}

// mayOpen reports whether a change in a part may open a tool.
func mayOpen(where part, tool string) bool {
	listed := slices.Contains([]string{"write_note", "read_ledger", "rm_rf", "mkfs"}, tool)
	switch where {
	case allowName:
		return !listed
	case denyList:
		return tool == "rm_rf"
	case argRules:
		return tool == "write_note"
	default:
		return false
	}
}

// TestLengthIsExact spells random strings in random ways, with and without escapes, and sets the limits at and beside
// their length.
func TestLengthIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	runes := []rune("ax\"\\/\n\x00\x7fé\u0301\u07ff日\uFFFD\uFFFF😀\U0010FFFF")
	for range 500 {
		n := rng.IntN(30)
		escapes := rng.IntN(3) // none but the necessary, some, all
		pairs := rng.IntN(3)   // none but by chance, some, all: they are the longest escapes
		literal := []byte{'"'}
		for range n {
			r := runes[rng.IntN(len(runes))]
			if pairs == 2 || pairs == 1 && rng.IntN(2) == 0 {
				r = '😀'
			}
			spelling := ""
			if escapes == 2 || escapes == 1 && rng.IntN(2) == 0 {
				spelling = []string{`\u%04x`, `\u%04X`}[rng.IntN(2)]
			}
			literal = appendRune(literal, r, spelling)
		}
		literal = append(literal, '"')
		for _, tc := range []struct {
			least, most int
			want        string
		}{
			{n, n, "allow"},
			{0, n, "allow"},
			{n + 1, n + 1, "arg_rules.t.s.min_len"},
			{n + 1, 9999, "arg_rules.t.s.min_len"},
			{0, n - 1, "arg_rules.t.s.max_len"},
		} {
			if tc.most < 0 {
				continue
			}
			p := mustParse(t, fmt.Sprintf(`{"version":1,"allow":["t"],"arg_rules":{"t":{"s":{"min_len":%d,"max_len":%d}}}}`, tc.least, tc.most))
			if _, why := p.Evaluate(call(t, "t", fmt.Sprintf(`{"s":%s}`, literal))); why.Rule != tc.want {
				t.Fatalf("%s, %d long, with limits %d to %d: got %q, want %q", literal, n, tc.least, tc.most, why.Rule, tc.want)
			}
		}
	}
}

// appendRune spells a rune within a JSON string: by the escape that the format makes, if there is one.
func appendRune(dst []byte, r rune, escape string) []byte {
	switch {
	case escape == "":
		quoted := canon.AppendString(nil, string(r))
		return append(dst, quoted[1:len(quoted)-1]...)
	case r > 0xFFFF:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(dst, escape+escape, high, low)
	default:
		return fmt.Appendf(dst, escape, r)
	}
}
