package cli

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// put puts a call to a person, as a gate does.
func (p *person) put(dir, tool, args string, expires time.Duration) *interlock.Approval {
	p.t.Helper()
	v, err := canon.Parse([]byte(args))
	if err != nil {
		p.t.Fatal(err)
	}
	digest, err := v.Digest()
	if err != nil {
		p.t.Fatal(err)
	}
	now := time.Now()
	a, err := approvalsOf(dir).Put(interlock.Approval{
		Matter: interlock.Matter{Principal: "ann", Upstream: "bank", Method: "tools/call", Tool: tool, Digest: digest, Key: "r9", Policy: "p"},
		Rule:   "pays", Reason: "it is money", Args: v, Created: now.UnixNano(), Expires: now.Add(expires).UnixNano(),
	}, now)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// verdictOn is what stands of an approval.
func (p *person) verdictOn(dir, id string) interlock.Verdict {
	p.t.Helper()
	all, err := approvalsOf(dir).List(time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, a := range all {
		if a.ID == id {
			return a.Verdict
		}
	}
	return ""
}

// TestApprovalsAreWhatAPersonSays answers a waiting call both ways, at a terminal and at none.
func TestApprovalsAreWhatAPersonSays(t *testing.T) {
	for _, c := range []struct {
		command, method string
		want            interlock.Verdict
	}{{"approve", "approvals/approve", interlock.Agreed}, {"deny", "approvals/deny", interlock.Refused}} {
		t.Run(c.command, func(t *testing.T) {
			p := newPerson(t)
			dir := filepath.Join(p.dir, ".ledger")
			b := openBank(t, dir)
			if _, err := b.pay("r1"); err != nil { // so that there is a ledger
				t.Fatal(err)
			}
			if out, ok := p.run("approvals", "list"); !ok || !strings.HasPrefix(out, "no call waits for a person in ") {
				t.Errorf("with nothing to ask: ok %t\n%s", ok, out)
			}
			a := p.put(dir, "pay", `{"cents":500,"request_id":"r9"}`, time.Hour)
			out, ok := p.run("approvals", "list")
			for _, fact := range []string{"approval    " + a.ID, "state       waiting", "principal   ann", "tool        pay", "server      bank",
				"request_id  r9", `arguments   {"cents":500,"request_id":"r9"}`, "rule        pays", "reason      it is money", "waits       ", "s, since 20", "until       20"} {
				if !ok || !strings.Contains(out, fact) {
					t.Errorf("the list does not say %q: ok %t\n%s", fact, ok, out)
				}
			}
			args := []string{"approvals", c.command, a.ID, "--note", "asked Bob"}
			if out, ok := p.run(args...); ok || !strings.Contains(out, "there is no terminal") {
				t.Errorf("without a terminal: ok %t\n%s", ok, out)
			}
			if out, ok := p.answer("no", nil, args...); ok || !strings.Contains(out, "not confirmed") {
				t.Errorf("not confirmed: ok %t\n%s", ok, out)
			}
			if got := p.verdictOn(dir, a.ID); got != interlock.Waiting {
				t.Fatalf("before a yes it is %q", got)
			}
			out, ok = p.answer("yes", nil, args...)
			if !ok || !strings.Contains(out, `{"cents":500,"request_id":"r9"}`) || !strings.HasSuffix(out, "\n"+string(c.want)+"\n") {
				t.Errorf("answered: ok %t\n%s", ok, out)
			}
			if got := p.verdictOn(dir, a.ID); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
			text := p.read(filepath.Join(dir, "ledger.jsonl"))
			if strings.Count(text, `"method":"`+c.method+`"`) != 1 || !strings.Contains(text, `"reason":"asked Bob"`) || !strings.Contains(text, `"approval":"`+a.ID) {
				t.Errorf("the ledger has not one record of it:\n%s", text)
			}
			if out, ok := p.run(args...); ok || !strings.Contains(out, "this call was answered already: "+string(c.want)) {
				t.Errorf("a second time: ok %t\n%s", ok, out)
			}
			if out, ok := p.run("show", "r9"); !ok || !strings.Contains(out, "asked   "+string(c.want)+", approval "+a.ID) {
				t.Errorf("show: ok %t\n%s", ok, out)
			}
		})
	}
}

// TestApprovalThatIsGone is not answered.
func TestApprovalThatIsGone(t *testing.T) {
	p, dir, _ := newPayer(t)
	if out, ok := p.run("approvals", "approve", "0123456789abcdef"); ok || !strings.Contains(out, "no call waits for approval under this id") {
		t.Errorf("unknown: ok %t\n%s", ok, out)
	}
	a := p.put(dir, "pay", `{}`, time.Hour)
	out, ok := p.answer("yes", func() {
		if err := approvalsOf(dir).Remove(a.ID); err != nil {
			t.Error(err)
		}
	}, "approvals", "approve", a.ID)
	if ok || !strings.Contains(out, "hint: it expired or was answered meanwhile") {
		t.Errorf("gone while the question stood: ok %t\n%s", ok, out)
	}
}

// TestApprovalsShowAttacksCalmly: an agent chooses the arguments, and must not write to the operator's terminal with them.
func TestApprovalsShowAttacksCalmly(t *testing.T) {
	p, dir, _ := newPayer(t)
	var attacks []byte
	for _, attack := range attacksOnTerminals {
		if strings.Contains(attack, "\xff") {
			continue // no JSON holds it
		}
		attacks = append(canon.AppendString(append(attacks, ','), attack), `,""`...)
	}
	args := `{"padding":"` + strings.Repeat("long ", 200) + `","x":["first"` + string(attacks) + `]}`
	a := p.put(dir, "pay\x1b[2J", args, time.Hour)
	list, ok := p.run("approvals", "list")
	if !ok || !isCalm(strings.ReplaceAll(list, "\n", "")) || !strings.Contains(list, "… (") {
		t.Errorf("list: ok %t, %q", ok, list)
	}
	asJSON, ok := p.run("approvals", "list", "--json")
	if !ok || !isCalm(strings.TrimSuffix(asJSON, "\n")) {
		t.Errorf("list --json: ok %t, %q", ok, asJSON)
	}
	v, err := canon.Parse([]byte(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	for got := range v.Get("approvals").Elements() {
		if digest, err := got.Get("arguments").Digest(); err != nil || digest != a.Digest {
			t.Errorf("in JSON the arguments have the digest %s, %v, want %s", digest, err, a.Digest)
		}
	}
	whole, ok := p.answer("no", nil, "approvals", "approve", a.ID)
	if ok || !isCalm(strings.ReplaceAll(whole, "\n", "")) || !strings.Contains(whole, `\u202egnp.exe`) {
		t.Errorf("before the question the call is shown whole: ok %t, %q", ok, whole)
	}
}

// TestApprovalsAreFoundBehindAFolder: one in the working folder does not hide the calls that wait in the folder of wrapped
// servers, and the answer goes to where the call waits.
func TestApprovalsAreFoundBehindAFolder(t *testing.T) {
	p := newPerson(t)
	near, far := p.bothLedgers()
	if out, ok := p.run("approvals", "list"); !ok || out != "no call waits for a person in .ledger, nor in "+far+"\n" {
		t.Errorf("with nothing to ask: ok %t\n%s", ok, out)
	}
	a := p.put(far, "pay", `{"request_id":"r9"}`, time.Hour)
	if out, ok := p.run("approvals", "list"); !ok || !strings.HasPrefix(out, "approval    "+a.ID+"\n") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if out, ok := p.answer("yes", nil, "approvals", "approve", a.ID); !ok || !strings.HasSuffix(out, "\napproved\n") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if got := p.verdictOn(far, a.ID); got != interlock.Agreed {
		t.Errorf("it is %q", got)
	}
	if text := p.read(filepath.Join(near, "ledger.jsonl")); strings.Contains(text, "approvals/approve") {
		t.Errorf("the answer is on record where nobody asked:\n%s", text)
	}
}

// TestApprovalsOfAnotherPolicy says so of an approval that the servers which are alive would not find any more.
func TestApprovalsOfAnotherPolicy(t *testing.T) {
	p, dir, b := newPayer(t)
	a := p.put(dir, "pay", `{"request_id":"r9"}`, time.Hour)
	if out, ok := p.run("approvals", "list"); !ok || strings.Contains(out, "\npolicy ") {
		t.Errorf("with no server there is nothing to say: ok %t\n%s", ok, out)
	}
	present := announce(dir, b.door.Policy(), slog.New(slog.DiscardHandler))
	if out, ok := p.run("approvals", "list"); !ok || !strings.Contains(out, "\npolicy      "+anotherPolicy+"\n") {
		t.Errorf("ok %t\n%s", ok, out)
	}
	if out, ok := p.run("approvals", "list", "--json"); !ok || !strings.Contains(out, `"policy":"`+anotherPolicy+`"`) {
		t.Errorf("ok %t\n%s", ok, out)
	}
	present.leave()
	a.ID, a.Policy = "", b.door.Policy().Digest()
	if _, err := approvalsOf(dir).Put(*a, time.Now()); err != nil {
		t.Fatal(err)
	}
	present = announce(dir, b.door.Policy(), slog.New(slog.DiscardHandler))
	defer present.leave()
	if out, ok := p.run("approvals", "list"); !ok || strings.Count(out, "\nstate ") != 2 || strings.Count(out, "\npolicy ") != 1 {
		t.Errorf("one of the two is of the server's policy: ok %t\n%s", ok, out)
	}
}
