package attacks_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asked lets a person be asked about each put at "one". What "two" does needs nobody.
const asked = "version: 2\nstarter: off\ndefault: deny\nrules:\n" +
	"  - {id: looks, decision: allow, tools: [one__look, two__look], read_only: true}\n" +
	"  - {id: others, decision: allow, tools: [two__put]}\n" +
	"  - {id: asks, decision: ask, tools: [one__put], reason: \"Ask first.\", approval: {expires: 10m}%s}\n"

const keyedAsk = ", mutation: {key: request_id}"

// able lets a modern call come from a client that can put a form to its person.
func able(call string) string {
	return strings.Replace(call, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
}

// brought is a modern call that can be asked back, with what a retry brings.
func brought(arguments, state, responses string) string {
	more := ""
	if state != "" {
		more += `"requestState":` + state + `,`
	}
	if responses != "" {
		more += `"inputResponses":` + responses + `,`
	}
	return strings.Replace(able(modernCall(1, "one__put", arguments)), `"params":{`, `"params":{`+more, 1)
}

const agreed = `{"sallyport/approval":{"action":"accept","content":{"approve":true}}}`

// question is the state of the question that an answer asks, as it is spelt; "" if it asks none.
func question(answer string) string {
	var m struct {
		Result struct {
			ResultType   string          `json:"resultType"`
			RequestState json.RawMessage `json:"requestState"`
		} `json:"result"`
	}
	if json.Unmarshal([]byte(answer), &m) != nil || m.Result.ResultType != "input_required" {
		return ""
	}
	return string(m.Result.RequestState)
}

const (
	thing = `{"name":"thing","text":"right"}`
	other = `{"name":"thing","text":"other","request_id":"k-other"}`
)

// said is an answer of a person's client.
func said(answer string) string { return `{"sallyport/approval":` + answer + `}` }

// unclear are answers that say neither yes nor no: the call waits for an operator.
var unclear = []string{
	`{"action":"accept","content":{"approve":"true"}}`,
	`{"action":"accept","content":{"approve":1}}`,
	`{"action":"accept"}`,
	`{"action":"accept","content":{"Approve":true}}`,
	`{"action":"accept","approve":true}`,
	`{"action":"cancel","content":{"approve":true}}`,
	`{"content":{"approve":true}}`,
	`null`,
	`true`,
}

// forged are the arguments, the state and the answers of calls to which nobody agreed. mine and others are the states of two
// questions, and id is the approval of the first.
func forged(id, mine, others string) map[string][3]string {
	return map[string][3]string{
		"no state":            {thing, "", agreed},
		"no answer":           {thing, mine, ""},
		"an empty state":      {thing, `""`, agreed},
		"our prefix":          {thing, `"sallyport:"`, agreed},
		"a guess":             {thing, `"sallyport:0000000000000000"`, agreed},
		"the id alone":        {thing, `"` + id + `"`, agreed},
		"in capitals":         {thing, strings.ToUpper(mine), agreed},
		"the other's":         {thing, others, agreed},
		"for the other":       {other, mine, agreed},
		"a path":              {thing, `"sallyport:../approvals/` + id + `"`, agreed},
		"a pattern":           {thing, `"sallyport:*"`, agreed},
		"two ids":             {thing, `"sallyport:` + id + `,` + id + `"`, agreed},
		"behind a blank":      {thing, `" sallyport:` + id + `"`, agreed},
		"with a newline":      {thing, `"sallyport:` + id + `\n"`, agreed},
		"a list of states":    {thing, `[` + mine + `]`, agreed},
		"other key":           {thing, mine, strings.Replace(agreed, "sallyport/approval", "approval", 1)},
		"key in capitals":     {thing, mine, strings.Replace(agreed, "sallyport/approval", "Sallyport/Approval", 1)},
		"list of answers":     {thing, mine, `[` + agreed + `]`},
		"a carried round":     {thing, `"sallyport:` + id + `.eyJyZXF1ZXN0U3RhdGUiOiJ4In0"`, agreed},
		"more arguments":      {`{"name":"thing","text":"right","wait":1}`, mine, agreed},
		"arguments spelt so":  {`{"name":"thing","text":"right "}`, mine, agreed},
		"name of another key": {`{"name":"thing","text":"right","request_id":"k2"}`, mine, agreed},
	}
}

// Whatever a client makes up as the answer of its person, or brings from another question, is no consent.
func TestForgedConsent(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", keyedAsk} {
		t.Run("asked"+more, func(t *testing.T) {
			t.Parallel()
			s := newShelves(t, fmt.Sprintf(asked, more))
			g := s.serve(t)
			ask := func(call string) string {
				t.Helper()
				g.say(t, call)
				return g.hearAnswer(t, "1")
			}
			withKey := func(arguments string) string {
				if strings.Contains(arguments, "request_id") {
					return arguments
				}
				return strings.Replace(arguments, "{", `{"request_id":"k",`, 1)
			}
			mine := question(ask(brought(withKey(thing), "", "")))
			others := question(ask(brought(withKey(other), "", "")))
			if mine == "" || others == "" || mine == others {
				t.Fatalf("the states are %s and %s", mine, others)
			}
			id := strings.Trim(strings.TrimPrefix(mine, `"sallyport:`), `"`)
			for name, c := range forged(id, mine, others) {
				if got := ask(brought(withKey(c[0]), c[1], c[2])); question(got) == "" && !strings.Contains(got, `"error"`) {
					t.Errorf("%s: heard %s", name, got)
				}
			}
			for i, answer := range unclear {
				third := fmt.Sprintf(`{"name":"third","text":"%d","request_id":"k-%d"}`, i, i)
				g.say(t, strings.Replace(brought(third, question(ask(brought(third, "", ""))), said(answer)), `"id":1,`, fmt.Sprintf(`"id":%d,`, 100+i), 1))
			}
			if log := s.one.read("log"); log != "" {
				t.Errorf("the server did, with nobody's consent,\n%s", log)
			}
			// The one that is meant: good for this very call, once.
			if got := ask(brought(withKey(thing), mine, agreed)); !strings.Contains(got, `"text":"put"`) {
				t.Errorf("the good answer heard %s", got)
			}
			for range 3 {
				got := ask(brought(withKey(thing), mine, agreed))
				if more == "" && question(got) == "" {
					t.Errorf("a replay of the answer heard %s", got)
				}
			}
			if received := s.one.read("log"); strings.Count(received, "put+") != 1 {
				t.Errorf("the server did\n%s", received)
			}
			if got := ask(brought(withKey(other), others, said(`{"action":"decline"}`))); !strings.Contains(got, "a person denied") {
				t.Errorf("the refusal heard %s", got)
			}
			if got := ask(brought(withKey(other), others, agreed)); !strings.Contains(got, "a person denied") {
				t.Errorf("a yes after the no heard %s", got)
			}
			for i := range unclear {
				g.cancel(t, 100+i)
			}
			g.ends(t)
			if log := s.one.read("log"); strings.Count(log, "put+") != 1 {
				t.Errorf("the server did\n%s", log)
			}
		})
	}
}

// One principal's consent is no other's, over HTTP, where each may ask for the very same call.
func TestConsentIsItsPrincipals(t *testing.T) {
	t.Parallel()
	s := newShelves(t, fmt.Sprintf(asked, ""))
	ann, bob := "Bearer "+s.token(t, "ann"), "Bearer "+s.token(t, "bob")
	f := s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json"))
	post := func(who, state, responses string) string {
		t.Helper()
		return f.post(t, brought(thing, state, responses), called("one__put", "Authorization", who)...).data()
	}
	anns := question(post(ann, "", ""))
	if bobs := question(post(bob, anns, agreed)); bobs == "" || bobs == anns {
		t.Errorf("bob, with ann's question, is asked %q, and ann was %q", bobs, anns)
	}
	if got := post(ann, "", ""); question(got) != anns {
		t.Errorf("after bob's answer ann heard %s", got)
	}
	if log := s.one.read("log"); log != "" {
		t.Errorf("the server did\n%s", log)
	}
	if got := post(ann, anns, agreed); !strings.Contains(got, `"text":"put"`) {
		t.Errorf("ann's own answer heard %s", got)
	}
	if got := post(bob, anns, agreed); question(got) == "" {
		t.Errorf("bob heard %s", got)
	}
	if log := s.one.read("log"); strings.Count(log, "put+") != 1 {
		t.Errorf("the server did\n%s", log)
	}
}

// Two processes and twenty requests at once bring the one consent: the call is carried out once.
func TestARaceForOneConsent(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", keyedAsk} {
		t.Run("asked"+more, func(t *testing.T) {
			t.Parallel()
			s := newShelves(t, fmt.Sprintf(asked, more))
			ann := "Bearer " + s.token(t, "ann")
			fronts := []*front{
				s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json")),
				s.serveHTTP(t, s.servers(), "--tokens", filepath.Join(s.dir, "tokens.json")),
			}
			const thing = `{"name":"thing","text":"right","wait":50,"request_id":"k"}`
			post := func(f *front, state, responses string) string {
				return f.post(t, brought(thing, state, responses), called("one__put", "Authorization", ann)...).data()
			}
			state := question(post(fronts[0], "", ""))
			var wg sync.WaitGroup
			var mu sync.Mutex // guards done
			done := 0
			for i := range 20 {
				wg.Go(func() {
					got := post(fronts[i%2], state, agreed)
					mu.Lock()
					defer mu.Unlock()
					if strings.Contains(got, `"text":"put"`) {
						done++
					}
				})
			}
			wg.Wait()
			if log := s.one.read("log"); strings.Count(log, "put+") != 1 || done < 1 || more == "" && done != 1 {
				t.Errorf("%d heard that it was done, and the server did\n%s", done, log)
			}
		})
	}
}

// A call that waits for an operator, whose caller goes away: the yes alone lets nothing happen. It is good for the retry, once.
func TestAnApprovedCallWhoseCallerIsGoneIsNotMade(t *testing.T) {
	t.Parallel()
	s := newShelves(t, fmt.Sprintf(asked, ""))
	g := s.serve(t)
	g.say(t, modernCall(1, "one__put", `{"name":"thing","text":"right"}`))
	ids := s.awaitApprovals(t, g, 1)
	g.cancel(t, 1)
	g.say(t, `{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{`+modernMeta+`}}`)
	g.hearAnswer(t, "2")
	if out, _, err := s.operator(t, "approvals", "approve", ids[0]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	time.Sleep(400 * time.Millisecond) // more than the pause between two looks
	if log := s.one.read("log"); log != "" {
		t.Errorf("with no caller the server did\n%s", log)
	}
	g.say(t, brought(`{"name":"thing","text":"right"}`, "", ""))
	if got := g.hearAnswer(t, "1"); !strings.Contains(got, `"text":"put"`) {
		t.Errorf("the retry heard %s", got)
	}
	g.say(t, brought(`{"name":"thing","text":"right"}`, "", ""))
	if got := g.hearAnswer(t, "1"); question(got) == "" {
		t.Errorf("the same once more heard %s", got)
	}
	if log := s.one.read("log"); strings.Count(log, "put+") != 1 {
		t.Errorf("the server did\n%s", log)
	}
}

// A client that dies while its call waits for a person takes nothing with it that runs on: the gate ends, and the yes that
// comes later lets nothing happen, since nobody is there to take the answer.
func TestAClientThatDiesWhileItsCallWaits(t *testing.T) {
	t.Parallel()
	s := newShelves(t, fmt.Sprintf(asked, ""))
	cmd := s.command("serve", "--policy", s.policy, "--servers", s.dir+"/servers.json")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { defer close(gone); _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Signal(syscallTerm); <-gone }()
	fmt.Fprintln(in, modernCall(1, "one__put", `{"name":"thing","text":"right"}`))
	ids := s.awaitApprovals(t, &gate{cmd: cmd}, 1)
	_ = in.Close()
	_ = out.Close()
	select {
	case <-gone:
	case <-time.After(8 * time.Second):
		t.Error("8 s after its client died the gate is still there")
	}
	if out, _, err := s.operator(t, "approvals", "approve", ids[0]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	time.Sleep(600 * time.Millisecond) // more than the pause between two looks
	if log := s.one.read("log"); log != "" {
		t.Errorf("with no client there the server did\n%s", log)
	}
}

// Consent is to a call under the policy that asked: another policy asks anew, also where it differs by a comment only.
func TestConsentIsVoidUnderAnotherPolicy(t *testing.T) {
	t.Parallel()
	policy := fmt.Sprintf(asked, "")
	s := newShelves(t, policy)
	g := s.serve(t)
	ask := func(state, responses string) string {
		t.Helper()
		g.say(t, brought(thing, state, responses))
		return g.hearAnswer(t, "1")
	}
	state := question(ask("", ""))
	s.write(t, "policy.yaml", policy+"# another\n")
	_ = g.cmd.Process.Signal(syscall.SIGHUP)
	for end := time.Now().Add(patience); question(ask("", "")) == state; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the other policy is not asking")
		}
	}
	if got := ask(state, agreed); question(got) == "" || question(got) == state {
		t.Errorf("the old consent heard %s", got)
	}
	if log := s.one.read("log"); log != "" {
		t.Errorf("the server did\n%s", log)
	}
}
