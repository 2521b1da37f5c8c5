package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// leftBy is what a gate writes down before a call that is verified by rules, with something that nobody may be shown.
func leftBy(tool, attempt string, rules ...string) string {
	b := canon.AppendString([]byte(`{"args":{"iban":"hidden"},"args_digest":"d","attempt":`), attempt)
	b = canon.AppendString(append(b, `,"effects":{"reaches":["hidden"]},"id":"hidden","offset":0,"request_id":"hidden","tool":`...), tool)
	b = append(b, `,"verify":[`...)
	for i, rule := range rules {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(append(b, `{"expect":"observation.hidden == args.iban","for":0,"observe":{"hidden":"${args.iban}"},"rule":`...), rule)
		b = append(b, `,"tool":"look"}`...)
	}
	return string(append(b, "]}"...))
}

// begun makes what a gate is at, until leave, and what it left from then on.
func (p *person) begun(dir string, scope interlock.Scope, left string) (leave func()) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lane, err := stopsOf(dir).Enter(ctx, scope)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := lane.Begin([]byte(left)); err != nil {
		p.t.Fatal(err)
	}
	return lane.Leave
}

const (
	nothingStopped = "nothing is stopped in .ledger\n"
	leftToVerify   = "left to be verified: the next change of that principal at that server looks at it first; there is nothing to release\n\n"
)

// TestReleaseListShowsWhatIsLeft tells the stops, then what is left to be verified, and of the living nothing.
func TestReleaseListShowsWhatIsLeft(t *testing.T) {
	p, dir, _ := newPayer(t)
	ann, bob := interlock.Scope{Principal: "ann", Server: "shop"}, interlock.Scope{Principal: "bob", Server: ""}
	leave := p.begun(dir, ann, leftBy("order", "aaaaaaaaaaaaaaaa", "orders", "prices"))
	for _, flags := range [][]string{{"--list"}, {"--reason", "x"}} {
		if out, ok := p.run(append([]string{"release"}, flags...)...); out != nothingStopped || ok != (flags[0] == "--list") {
			t.Errorf("%v while a gate is at it: ok %t\n%s", flags, ok, out)
		}
	}
	leave()
	const annsOrder = "principal   ann\nserver      shop\ntool        order\nrule        orders\nrule        prices\nattempt     aaaaaaaaaaaaaaaa\n\n"
	const bobs = "principal   bob\nserver      sallyport itself\nreason      what was left cannot be read: the next change there is denied, and stops there until it is released\n\n"
	p.begun(dir, bob, `{"attempt":"hidden"}`)()
	for _, flags := range [][]string{{"--list"}, {"--reason", "x"}} {
		out, ok := p.run(append([]string{"release"}, flags...)...)
		if diff := cmp.Diff(nothingStopped+"\n"+leftToVerify+annsOrder+bobs, out); diff != "" || ok != (flags[0] == "--list") {
			t.Errorf("%v, with nothing stopped: ok %t (-want +got):\n%s", flags, ok, diff)
		}
	}
	p.stopped(dir, stopAt("bank"))
	stop := `principal   ann
server      bank
tool        pay
rule        pays
reason      what is there is not what was paid
attempt     0123456789abcdef
since       2027-01-15T08:00:00Z

`
	for flags, want := range map[string]string{
		"":                               stop + leftToVerify + annsOrder + bobs,
		" --principal ann":               stop + leftToVerify + annsOrder,
		" --server shop":                 nothingStopped + "\n" + leftToVerify + annsOrder,
		" --server bank":                 stop,
		" --principal bob":               nothingStopped + "\n" + leftToVerify + bobs,
		" --principal bob --server shop": nothingStopped,
	} {
		out, ok := p.run(strings.Fields("release --list" + flags)...)
		if diff := cmp.Diff(want, out); diff != "" || !ok {
			t.Errorf("--list%s: ok %t (-want +got):\n%s", flags, ok, diff)
		}
	}
	if out, ok := p.run("release", "--list", "--server", ""); !ok || out != nothingStopped+"\n"+leftToVerify+bobs {
		t.Errorf("at sallyport itself: ok %t\n%s", ok, out)
	}
	out, ok := p.run("release", "--list", "--json")
	want := fmt.Sprintf(`{"stops":[{"ledger":".ledger","principal":"ann","server":"bank","tool":"pay","rule":"pays",`+
		`"reason":"what is there is not what was paid","attempt":"0123456789abcdef","time":%d}],"left":[`+
		`{"ledger":".ledger","principal":"ann","server":"shop","tool":"order","rules":["orders","prices"],"attempt":"aaaaaaaaaaaaaaaa"},`+
		`{"ledger":".ledger","principal":"bob","server":"","reason":%q}]}`+"\n", int64(whenStopped), unreadableWords)
	if diff := cmp.Diff(want, out); diff != "" || !ok {
		t.Errorf("--json: ok %t (-want +got):\n%s", ok, diff)
	}

	// What is released is what is stopped, and nothing else is shown as if it were.
	out, ok = p.answer("yes", nil, "release", "--reason", "paid by hand")
	if diff := cmp.Diff(stop+"released: ann at bank\n", out); diff != "" || !ok {
		t.Errorf("released: ok %t (-want +got):\n%s", ok, diff)
	}
	for _, scope := range []interlock.Scope{ann, bob} {
		if got := p.stands(dir, scope); got != interlock.Left {
			t.Errorf("%v is %v, want left", scope, got)
		}
	}
}

// TestReleaseListLooksOnly takes no lane and changes nothing on the disk, beside a gate that is at work in one scope and looks
// at what was left in another, and waits for neither.
func TestReleaseListLooksOnly(t *testing.T) {
	p, dir, _ := newPayer(t)
	left := interlock.Scope{Principal: "ann", Server: "shop"}
	p.begun(dir, left, leftBy("order", "aaaaaaaaaaaaaaaa", "orders"))()
	defer p.begun(dir, interlock.Scope{Principal: "ann", Server: "bank"}, leftBy("pay", "bbbbbbbbbbbbbbbb", "pays"))()
	heir, err := stopsOf(dir).Enter(context.Background(), left)
	if err != nil {
		t.Fatal(err)
	}
	defer heir.Leave()
	before := p.tree(dir)
	out, ok := p.run("release", "--list")
	if !ok || !strings.Contains(out, "aaaaaaaaaaaaaaaa") || strings.Contains(out, "bbbbbbbbbbbbbbbb") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if diff := cmp.Diff(before, p.tree(dir)); diff != "" {
		t.Errorf("it changed the folder (-before +after):\n%s", diff)
	}
	if err := heir.Clear(); err != nil {
		t.Error(err)
	}
	if out, _ := p.run("release", "--list"); out != nothingStopped {
		t.Errorf("after the heir has looked:\n%s", out)
	}
}

// tree is what there is in a folder, by path.
func (p *person) tree(dir string) map[string]string {
	p.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		found[path] = fmt.Sprint(info.Mode(), info.ModTime())
		if !entry.IsDir() {
			found[path] += p.read(path)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// TestReleaseListKeepsWhatIsLeftPrivate: principals, servers, tools and rules are others' text, and the arguments are for nobody.
func TestReleaseListKeepsWhatIsLeftPrivate(t *testing.T) {
	p, dir, _ := newPayer(t)
	const act = "\x1b[2J\u009b1m\u202e\r\n" + `"}],"stops":[`
	scope := interlock.Scope{Principal: "ann" + act + "server      forged", Server: "shop" + act}
	p.begun(dir, scope, leftBy("order"+act, "a"+act, "orders"+act))()
	for i, left := range []string{"", "hidden", `"hidden"`, `{"hidden":`, leftBy("t", "", "r"), leftBy("t", "hidden"), strings.Repeat("[", 100_000) + "hidden"} {
		p.begun(dir, interlock.Scope{Principal: "bob", Server: fmt.Sprint("of ", i)}, left)()
	}
	for _, flag := range []string{"", " --json"} {
		out, ok := p.run(strings.Fields("release --list" + flag)...)
		if !ok || !isCalm(strings.ReplaceAll(out, "\n", "")) || strings.Contains(out, "hidden") || strings.Contains(out, "\nserver      forged") {
			t.Errorf("%s: ok %t, %q", flag, ok, out)
		}
		if got := strings.Count(out, "what was left cannot be read"); got != 7 {
			t.Errorf("%s: %d cannot be read, want 7:\n%s", flag, got, out)
		}
		if flag == "" {
			continue
		}
		var got struct {
			Stops []any
			Left  []struct {
				Principal, Server, Tool, Attempt string
				Rules                            []string
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Stops) != 0 || len(got.Left) != 8 {
			t.Fatalf("%v, %d stops, %d left, want none and 8", err, len(got.Stops), len(got.Left))
		}
		first := got.Left[0]
		if first.Principal != scope.Principal || first.Server != scope.Server || first.Tool != "order"+act || first.Attempt != "a"+act || len(first.Rules) != 1 || first.Rules[0] != "orders"+act {
			t.Errorf("in JSON it is %+v", first)
		}
	}
}

// TestReleaseListOfBothFolders says where each thing is, and of a folder that it cannot look into, what to do.
func TestReleaseListOfBothFolders(t *testing.T) {
	p := newPerson(t)
	_, far := p.bothLedgers()
	p.begun(far, interlock.Scope{Principal: "ann", Server: "shop"}, leftBy("order", "aaaaaaaaaaaaaaaa", "orders"))()
	want := "nothing is stopped in .ledger, nor in " + far + "\n\n" + leftToVerify + "ledger      " + far + "\nprincipal   ann\nserver      shop\n" +
		"tool        order\nrule        orders\nattempt     aaaaaaaaaaaaaaaa\n\n"
	if out, ok := p.run("release", "--list"); !ok || out != want {
		t.Errorf("ok %t (-want +got):\n%s", ok, cmp.Diff(want, out))
	}
	if out, ok := p.run("release", "--list", "--json"); !ok || !strings.HasPrefix(out, `{"stops":[],"left":[{"ledger":"`+far+`","principal":"ann",`) {
		t.Errorf("ok %t\n%s", ok, out)
	}
	stops := filepath.Join(far, interlock.StopsDir)
	if err := errors.Join(os.RemoveAll(stops), os.WriteFile(stops, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, ok := p.run("release", "--list"); ok || !strings.HasPrefix(out, "sallyport: reading the stops: ") || !strings.Contains(out, "\nhint: run this as the user ") {
		t.Errorf("ok %t\n%s", ok, out)
	}
}
