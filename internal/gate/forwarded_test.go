package gate

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/mutation"
)

const firstAnswer = `{"n":1, "z":1.0,"a":1e400}`

func TestForwardedMutationOnce(t *testing.T) {
	f := newFar(t)
	for _, step := range []struct {
		name, args string
		rest       rest
		want       string
	}{
		{"pay", `{"request_id":"r1","sum":1.0}`, rest{}, firstAnswer},
		{"pay", `{ "sum":1.00,"request_id":"\u00721" }`, rest{meta: `{"progressToken":7}`}, firstAnswer}, // spelt otherwise
		{"pay", `{"request_id":"r1","sum":2}`, rest{}, "conflict true"},
		{"pay", `{"request_id":"r1","sum":1.0}`, rest{principal: "ann"}, `{"n":2, "z":1.0,"a":1e400}`}, // keys are a principal's own
		{"pay", `{"request_id":"r1","sum":1.0}`, rest{round: []byte(`{"answers":1}`)}, `{"n":3, "z":1.0,"a":1e400}`},
		{"pay", `{"request_id":"r1","sum":1.0}`, rest{round: []byte(`{"answers":1}`)}, `{"n":3, "z":1.0,"a":1e400}`},
		{"pay", `{"request_id":"r1","sum":1.0}`, rest{round: []byte(`{"answers":2}`)}, `{"n":4, "z":1.0,"a":1e400}`},
		{"big", `{"request_id":"r1","sum":1.0}`, rest{}, `{"n":5, "z":1.0,"a":1e400}`}, // and a tool's own
		{"meta", `{"request_id":"r1"}`, rest{meta: `{"sallyport/request_id":"m1"}`}, `{"n":6, "z":1.0,"a":1e400}`},
		{"meta", `{"request_id":"r1"}`, rest{meta: `{"sallyport/request_id":"m1"}`}, `{"n":6, "z":1.0,"a":1e400}`},
		{"meta", `{"request_id":"r1"}`, rest{meta: `{"sallyport/request_id":"m2"}`}, `{"n":7, "z":1.0,"a":1e400}`},
	} {
		if got := f.say(step.name, step.args, step.rest); got != step.want {
			t.Errorf("%s %s %+v: %s, want %s", step.name, step.args, step.rest, got, step.want)
		}
	}
	f.wantEffects(7)
	f.wantRecords("r1 pay allow committed", "r1 pay allow replay", "r1 pay allow conflict", "r1 pay allow committed", "r1 pay allow committed",
		"r1 pay allow replay", "r1 pay allow committed", "r1 big allow committed", "m1 meta allow committed", "m1 meta allow replay", "m2 meta allow committed")
	f.open()
	if got := f.say("pay", `{"request_id":"r1","sum":1.0}`, rest{}); got != firstAnswer {
		t.Errorf("another process: %s", got)
	}
}

// TestServersKeysAreApart gives a tool of the same name, of another server and of our own, the same request_id.
func TestServersKeysAreApart(t *testing.T) {
	f := newFar(t)
	f.say("pay", `{"request_id":"r1"}`, rest{})
	c := f.make("pay", `{"request_id":"r1"}`, rest{})
	c.Tool.Upstream = "shop"
	if _, err := f.Do(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	f.wantEffects(2)
}

// TestAnswersAreReplayedInTheirForm stores every kind of answer, and asks for it again in this process and the next.
func TestAnswersAreReplayedInTheirForm(t *testing.T) {
	large := append(append([]byte(`{"content":"`), bytes.Repeat([]byte("é"), 40_000)...), `","x":1e400,"x":2}`...)
	for name, test := range map[string]struct {
		answer  Result
		outcome string
	}{
		"whole":       {Result{Body: []byte(`{"content":[],"b":"\ud800","b":1e400}`), Form: Whole}, "committed"},
		"failed":      {Result{Body: []byte(`{"content":[],"isError":true}`), Form: Whole, Failed: true}, "failed"},
		"fault":       {Result{Body: []byte(`{"code":-32000,"message":"no","data":{"a":1.0}}`), Form: Fault, Failed: true}, "failed"},
		"open":        {Result{Body: []byte(`{"resultType":"input_required","requestState":"s"}`), Form: Whole, Open: true}, "forwarded"},
		"large":       {Result{Body: large, Form: Whole}, "committed"},
		"large fault": {Result{Body: large, Form: Fault, Failed: true}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t)
			f.answer = func(context.Context, Call) (Result, error) { return test.answer, nil }
			for i := range 3 {
				got, err := f.do("pay", `{"request_id":"r1"}`, rest{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.answer, got); diff != "" {
					t.Errorf("answer %d (-want +got):\n%.500s", i, diff)
				}
				if i == 1 {
					f.open()
				}
			}
			f.wantEffects(1)
			f.wantRecords("r1 pay allow "+test.outcome, "r1 pay allow replay", "r1 pay allow replay")
		})
	}
}

func TestStoredAnswerThatIsLost(t *testing.T) {
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) {
		return Result{Body: bytes.Repeat([]byte("1"), 100_000), Form: Whole}, nil
	}
	if _, err := f.do("pay", `{"request_id":"r1"}`, rest{}); err != nil {
		t.Fatal(err)
	}
	names, err := f.disk.Names("d/" + mutation.BlobDir)
	if err != nil || len(names) != 1 {
		t.Fatalf("the folder of blobs holds %q, %v", names, err)
	}
	if err := f.disk.Remove("d/" + mutation.BlobDir + "/" + names[0]); err != nil {
		t.Fatal(err)
	}
	_, err = f.do("pay", `{"request_id":"r1"}`, rest{})
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), names[0]) || !strings.Contains(err.Error(), "was done before") {
		t.Errorf("error %v, want one that names %s", err, names[0])
	}
	f.wantEffects(1)
}

// TestWhatUsesNoKeyUp refuses and fails a call in every way that is sure, and then lets it through.
func TestWhatUsesNoKeyUp(t *testing.T) {
	for name, test := range map[string]struct {
		tool, args string
		rest       rest
		answer     func(context.Context, Call) (Result, error)
		limits     Limits
		want       string
		mend       func(f *far)
	}{
		"denied":  {tool: "other", args: `{"request_id":"r1"}`, want: "denied by default", mend: func(f *far) { f.policy = strings.Replace(f.policy, "big]", "other]", 1) }},
		"asked":   {tool: "asked", args: `{"request_id":"r1"}`, want: "denied by asks", mend: func(f *far) { f.policy = strings.NewReplacer("- {id: asks", "# ", "big]", "asked]").Replace(f.policy) }},
		"schema":  {tool: "pay", args: `{"request_id":"r1","bad":1}`, want: "denied by schema"},
		"refused": {tool: "pay", args: `{"request_id":"r1"}`, rest: rest{refuse: &DeniedError{Rule: "pin", Reason: "pinned definition changed"}}, want: "denied by pin"},
		"limited": {tool: "limited", args: `{"request_id":"r1"}`, limits: new(counted), want: "denied by limited", mend: func(*far) {}},
		"not sent": {tool: "pay", args: `{"request_id":"r1"}`, answer: func(context.Context, Call) (Result, error) {
			return Result{}, &NotDone{errors.New("connection refused")}
		}, want: "error: the server behind the gate could not be reached or gave no answer: the log says why (nothing was done)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t)
			f.answer, f.Limits = test.answer, test.limits
			if got := f.say(test.tool, test.args, test.rest); got != test.want {
				t.Fatalf("%s, want %s", got, test.want)
			}
			f.effects.Store(0)
			f.answer = nil
			if test.mend != nil {
				test.mend(f)
				f.open()
			}
			many := counted(5)
			f.Limits = &many
			args := strings.Replace(test.args, `,"bad":1`, `,"good":1`, 1) // other arguments: a used key would conflict
			if got := f.say(test.tool, args, rest{}); got != firstAnswer {
				t.Errorf("the key was used up: %s", got)
			}
			f.wantEffects(1)
		})
	}
}

func TestCallsWithoutTheirKeyAreDenied(t *testing.T) {
	for _, test := range []struct {
		tool, args, meta, names string
	}{
		{"pay", `{}`, "", `"request_id"`},
		{"pay", ``, `{"sallyport/request_id":"in the wrong place"}`, `"request_id"`},
		{"pay", `{"request_id":""}`, "", `"request_id"`},
		{"pay", `{"request_id":7}`, "", `"request_id"`},
		{"pay", `{"request_id":null}`, "", `"request_id"`},
		{"pay", `{"request_id":["r"]}`, "", `"request_id"`},
		{"pay", `["request_id"]`, "", `"request_id"`},
		{"pay", `{"request_id":"` + strings.Repeat("x", 1025) + `"}`, "", `"request_id"`},
		{"meta", `{"sallyport/request_id":"in the wrong place"}`, "", `"sallyport/request_id"`},
		{"meta", `{}`, `{"sallyport/request_id":1}`, `"sallyport/request_id"`},
		{"meta", `{}`, `{"sallyport/request_id":""}`, `"sallyport/request_id"`},
	} {
		f := newFar(t)
		_, err := f.do(test.tool, test.args, rest{meta: test.meta})
		var denied *DeniedError
		if !errors.As(err, &denied) || !strings.Contains(denied.Reason, test.names) {
			t.Errorf("%s %.60s %s: %v", test.tool, test.args, test.meta, err)
			continue
		}
		if want := map[string]string{"pay": "pays", "meta": "meta"}[test.tool]; denied.Rule != want {
			t.Errorf("denied by %s, want %s", denied.Rule, want)
		}
		f.wantEffects(0)
		if records := f.records(); len(records) != 1 || !strings.HasSuffix(records[0], "deny not_executed "+denied.Rule) {
			t.Errorf("records %q", records)
		}
	}
	f := newFar(t)
	if got := f.say("pay", `{"request_id":"`+strings.Repeat("x", 1024)+`"}`, rest{}); got != firstAnswer {
		t.Errorf("a key of 1024 bytes: %s", got)
	}
}

// TestRefusalComesAfterThePolicy keeps a pin from telling of a tool that the policy hides.
func TestRefusalComesAfterThePolicy(t *testing.T) {
	f := newFar(t)
	refuse := &DeniedError{Rule: "pin", Reason: "pinned definition changed"}
	if got := f.say("nowhere", `{}`, rest{refuse: refuse}); got != "denied by default" {
		t.Error(got)
	}
	_, err := f.do("send", `{}`, rest{refuse: refuse})
	var denied *DeniedError
	if !errors.As(err, &denied) || denied.Rule != "pin" || denied.Tool != "send" || denied.Reason != refuse.Reason {
		t.Errorf("%+v", err)
	}
	f.wantEffects(0)
	f.wantRecords("missing nowhere deny not_executed default", "missing send deny not_executed pin")
}

func TestAskIsADenialThatSaysSo(t *testing.T) {
	f := newFar(t)
	_, err := f.do("asked", `{}`, rest{})
	var denied *DeniedError
	if !errors.As(err, &denied) || !strings.Contains(denied.Reason, "This is dear.") || !strings.Contains(denied.Reason, "nobody can be asked here") {
		t.Errorf("%+v", err)
	}
}
