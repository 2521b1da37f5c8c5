package gate

import (
	"context"
	"errors"
	"testing"
	"time"

	"sallyport/internal/effects"
	"sallyport/internal/interlock"
	"sallyport/internal/policy"
)

// judgeBy makes a text the policy of a world.
func (w *world) judgeBy(text string) {
	w.t.Helper()
	p, err := policy.Parse("policy.json", []byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	w.SetPolicy(p)
}

func TestServersJudgeEffects(t *testing.T) {
	w := newWorld(t)
	w.World = effects.World{Dir: "/work", Workspace: "/work", Homes: []string{"/home/me"}}
	w.judgeBy(`{"version":2,"default":"allow","tools":{"get":{"effects":{"reads":["what"]}}},
		"rules":[{"id":"keys","decision":"deny","reads":["~/.ssh/**"],"writes":["~/.ssh/**"]},
		{"id":"inside","decision":"deny","tools":["put"],"args":{"path":{"under":["/work/secret"]}}}]}`)
	for _, test := range []struct{ tool, args, want string }{
		{"send", `{"path":"/home/me/.ssh/id"}`, "keys"},
		{"send", `{"path":"~/.ssh/id"}`, "keys"},
		{"send", `{"path":"main.go"}`, ""},
		{"get", `{"what":"/home/me/.ssh/id"}`, "keys"},
		{"get", `{"path":"/home/me/.ssh/id"}`, ""}, // the declaration says that it is no path
		{"put", `{"request_id":"one","path":"secret/a"}`, "inside"},
		{"put", `{"request_id":"two","path":"open/a"}`, ""},
	} {
		_, err := w.call(context.Background(), test.tool, test.args)
		var denied *DeniedError
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s %s: %v", test.tool, test.args, err)
		case test.want != "" && (!errors.As(err, &denied) || denied.Rule != test.want):
			t.Errorf("%s %s: %v, want a denial by %s", test.tool, test.args, err, test.want)
		}
	}
	if got := w.lastRecord().Get("effects"); string(got.Bytes()) != `{"writes":["./open"]}` {
		t.Errorf("the record says of the effects: %s", got.Bytes())
	}
}

func TestToolsSayWhatTheyDo(t *testing.T) {
	w := newWorld(t)
	w.tools["send"].Effects = &effects.Declaration{}
	w.judgeBy(`{"version":2,"default":"allow","rules":[{"id":"all","decision":"deny","reads":["**"],"writes":["**"]}]}`)
	w.mustCall("send", `{"path":"/etc/passwd"}`, `"sent"`)
}

func TestWhatIsObservedIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.judgeBy(`{"version":2,"default":"allow","rules":[{"id":"no-get","decision":"deny","tools":["get"],"mode":"observe"}]}`)
	w.mustCall("get", `{}`, `"got"`)
	last := w.lastRecord()
	observed, _ := last.Get("observed").Text()
	rule, _ := last.Get("observed_rule").Text()
	if observed != "deny" || rule != "no-get" {
		t.Errorf("the record is %s", last.Bytes())
	}
}

// counted lets so many calls pass.
type counted int

func (c *counted) Take(_ time.Time, limits []interlock.Limit) (*interlock.Refusal, error) {
	if *c < 0 {
		return nil, errors.New("the disk is gone")
	}
	if *c == 0 {
		return &interlock.Refusal{Name: limits[0].Name, Wait: 90 * time.Second}, nil
	}
	*c--
	return nil, nil
}

func TestLimitsOfRules(t *testing.T) {
	const limited = `{"version":2,"default":"deny","rules":[{"id":"slowly","decision":"allow","tools":["send"],"limit":{"calls":2,"per":"1h"}}]}`
	two, broken := counted(2), counted(-1)
	for _, test := range []struct {
		name  string
		store Limits
		pass  int32
	}{{"two", &two, 2}, {"broken", &broken, 0}, {"none", nil, 0}} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.Limits = test.store
			w.judgeBy(limited)
			for range 4 {
				_, err := w.call(context.Background(), "send", `{}`)
				var denied *DeniedError
				if err != nil && (!errors.As(err, &denied) || denied.Rule != "slowly") {
					t.Errorf("%v, want a denial by the rule", err)
				}
			}
			if got := w.puts.Load(); got != test.pass {
				t.Errorf("%d calls passed, want %d", got, test.pass)
			}
			v := w.Decide(w.question("send", `{}`))
			if v.Decision != policy.Allow {
				t.Fatalf("the policy decides %v", v.Decision)
			}
			if w.Count(&v); v.Decision != policy.Deny || v.Why.Rule != "slowly" {
				t.Errorf("a hook's call is decided %v by %s", v.Decision, v.Why.Rule)
			}
		})
	}
}
