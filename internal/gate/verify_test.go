package gate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

const saved = `{"request_id":"r1","text":"tea"}`

func TestVerifiedCallHolds(t *testing.T) {
	for _, tool := range []string{"save", "steady", "put", "own", "ownput", "answers", "late"} {
		s := newShop(t)
		s.want(tool, saved, "ok held")
		if stop := s.stop(); stop != nil {
			t.Errorf("%s: stopped: %+v", tool, stop)
		}
		want := []string{tool + " committed CONTINUE", "read observed verify"}
		if diff := cmp.Diff(want, s.verdicts()); diff != "" {
			t.Errorf("%s: records (-want +got):\n%s", tool, diff)
		}
		if s.total() != 1 || s.looks != 1 {
			t.Errorf("%s: %d effects and %d looks, want 1 and 1", tool, s.total(), s.looks)
		}
	}
}

// liars are servers that answer success.
var liars = map[string]func(ctx context.Context, s *shop, tool string, args canon.Value) (Result, error){
	"does nothing": func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		return s.answerOf(tool, args), nil
	},
	"does something else": func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		s.save(text(args, "request_id"), "coffee")
		return s.answerOf(tool, args), nil
	},
}

// TestLateEffect has a server do what it says only a while after its answer: without a retry that is a stop.
func TestLateEffect(t *testing.T) {
	for tool, want := range map[string]string{"save": "ok differed", "late": "ok held"} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t)
			s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
				time.AfterFunc(1500*time.Millisecond, func() { s.save(text(args, "request_id"), text(args, "text")) })
				return s.answerOf(tool, args), nil
			}
			start := time.Now()
			s.want(tool, saved, want)
			took := time.Since(start)
			if tool == "late" && (took < 1500*time.Millisecond || took > 2*time.Second) {
				t.Errorf("it was seen after %v", took)
			}
			if wait := 50 * time.Millisecond; tool == "late" && s.looks != 6 { // at 0, 50, 150, 350, 750 and 1550 ms
				t.Errorf("%d looks from %v on, want 6", s.looks, wait)
			}
			time.Sleep(2 * time.Second)
			if (s.stop() != nil) != (tool == "save") {
				t.Errorf("%s: stop %+v", tool, s.stop())
			}
		})
	}
}

// TestRetryGivesUp looks no longer than the rule says.
func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		s.act = liars["does nothing"]
		start := time.Now()
		s.want("late", saved, "ok differed")
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it looked for %v, want 2s", took)
		}
	})
}

// TestFailingLookIsTriedAgain lets the observation itself fail for a while.
func TestFailingLookIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		begun := time.Now()
		s.see = func(_ context.Context, s *shop, args canon.Value) (Result, error) {
			if time.Since(begun) < time.Second {
				return Result{}, errors.New("not yet")
			}
			return structured(`{"text":"tea"}`), nil
		}
		s.want("late", saved, "ok held")
	})
}

// TestWhatStops has everything that can go wrong with an observation, one at a time.
func TestWhatStops(t *testing.T) {
	for name, test := range map[string]struct {
		tool   string
		set    func(s *shop)
		reason string
	}{
		"it fails": {"save", func(s *shop) {
			s.see = func(context.Context, *shop, canon.Value) (Result, error) { return Result{}, errors.New("secret") }
		}, "failed"},
		"it panics": {"save", func(s *shop) {
			s.see = func(context.Context, *shop, canon.Value) (Result, error) { panic("secret") }
		}, "failed"},
		"it says isError": {"save", func(s *shop) {
			s.see = func(context.Context, *shop, canon.Value) (Result, error) {
				return Result{Body: []byte(`{"content":[],"isError":true,"structuredContent":{"text":"tea"}}`), Form: Whole}, nil
			}
		}, "shows nothing"},
		"it is a fault": {"save", func(s *shop) {
			s.see = func(context.Context, *shop, canon.Value) (Result, error) {
				return Result{Body: []byte(`{"code":1,"message":"secret"}`), Form: Fault, Failed: true}, nil
			}
		}, "shows nothing"},
		"it wants input": {"save", func(s *shop) {
			s.see = func(context.Context, *shop, canon.Value) (Result, error) {
				return Result{Body: []byte(`{"structuredContent":{"text":"tea"},"resultType":"input_required"}`), Form: Whole, Open: true}, nil
			}
		}, "shows nothing"},
		"it is too large": {"save", func(s *shop) {
			s.see = func(context.Context, *shop, canon.Value) (Result, error) {
				return structured(`{"more":"` + strings.Repeat("x", mostObserved) + `","text":"tea"}`), nil
			}
		}, "larger than"},
		"it has another shape": {"odd", func(*shop) {}, "cannot be told"},
		"it never ends": {"save", func(s *shop) {
			s.see = func(ctx context.Context, _ *shop, _ canon.Value) (Result, error) {
				<-ctx.Done()
				return Result{}, ctx.Err()
			}
		}, "took longer than 10s"},
		"it cannot be made": {"save", func(s *shop) {
			s.lookErr = func(context.Context) error { return errors.New("secret") }
		}, "could not be made"},
		"making it panics": {"save", func(s *shop) {
			s.lookErr = func(context.Context) error { panic("secret") }
		}, "could not be made"},
		"its pin changed": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Refuse = &DeniedError{Rule: "pin", Reason: "secret"} })
		}, `denied by "pin"`},
		"its schema refuses it": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Tool.Check = func(canon.Value) error { return errors.New("secret") } })
		}, `denied by "schema"`},
		"it is another tool": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Name = "plain" })
		}, `denied by "verify"`},
		"it is a verified tool": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Name = "save" })
		}, `denied by "saves"`},
		"it is one that is asked about": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Name = "private" })
		}, `denied by "private"`},
		"it is another method": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Method = "resources/read" })
		}, `denied by "verify"`},
		"it is none of ours": {"save", func(s *shop) {
			s.afterwards(func(c *Call) { c.Tool = nil })
		}, `denied by "unknown"`},
		"the result lacks what it needs": {"answers", func(s *shop) {
			s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
				s.save(text(args, "request_id"), text(args, "text"))
				return structured(`{}`), nil
			}
		}, "cannot be made"},
		"a task": {"save", func(s *shop) {
			s.act = func(context.Context, *shop, string, canon.Value) (Result, error) {
				return Result{Body: []byte(`{"resultType":"task","taskId":"t"}`), Form: Whole, Open: true, Task: true}, nil
			}
		}, "a task"},
		"a task without a key": {"put", func(s *shop) {
			s.act = func(context.Context, *shop, string, canon.Value) (Result, error) {
				return Result{Body: []byte(`{"task":{"taskId":"t"}}`), Form: Whole, Open: true, Task: true}, nil
			}
		}, "a task"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t)
				test.set(s)
				result, err := s.run(test.tool, saved, rest{})
				if err != nil || result.Checks != Differed {
					t.Errorf("%s, want differed", words(result, err))
				}
				stop := s.stop()
				if stop == nil || !strings.Contains(stop.Reason, test.reason) || strings.Contains(stop.Reason, "secret") {
					t.Errorf("stop %+v, want a reason with %q", stop, test.reason)
				}
				for _, line := range s.verdicts() {
					if strings.HasPrefix(line, test.tool) && strings.HasSuffix(line, "STOP") {
						return
					}
				}
				t.Errorf("no record has the verdict: %q", s.verdicts())
			})
		})
	}
}

// afterwards changes the call that looks once there is an effect.
func (s *shop) afterwards(change func(c *Call)) {
	s.looker = func(c *Call) {
		if s.total() > 0 {
			change(c)
		}
	}
}

// TestWhatCannotBeLookedAtIsNotDone has what is wrong with an observation from the beginning: nothing is done, and nobody is
// stopped.
func TestWhatCannotBeLookedAtIsNotDone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *Call)
		reason string
	}{
		"there is no such tool": {func(c *Call) { c.Tool = nil }, `no server here has the tool "read"`},
		"its pin changed":       {func(c *Call) { c.Refuse = &DeniedError{Rule: "pin", Reason: "secret"} }, `rule "pin" denies the call`},
		"a verified tool":       {func(c *Call) { c.Name = "save" }, `rule "saves" denies the call`},
		"a tool asked about":    {func(c *Call) { c.Name = "private" }, `rule "private" denies the call`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.looker = test.change
			for _, tool := range []string{"save", "put"} {
				_, err := s.run(tool, saved, rest{})
				var denied *DeniedError
				if !errors.As(err, &denied) || !strings.Contains(denied.Reason, test.reason) || strings.Contains(denied.Reason, "secret") {
					t.Errorf("%s: %v, want a denial with %q", tool, words(Result{}, err), test.reason)
				}
			}
			if s.total() > 0 || s.stop() != nil {
				t.Errorf("%d effects, stop %+v", s.total(), s.stop())
			}
			s.looker = nil
			s.want("save", saved, "ok held") // the key was not used up
		})
	}
}

// TestWhatStopsNobody has calls that certainly did nothing, or that are not over: there is nothing to be verified.
func TestWhatStopsNobody(t *testing.T) {
	for name, test := range map[string]struct {
		result  Result
		err     error
		want    string
		outcome string
	}{
		"isError":        {Result{Body: []byte(`{"content":[],"isError":true}`), Form: Whole, Failed: true}, nil, "failed unchecked", "failed"},
		"fault":          {Result{Body: []byte(`{"code":1}`), Form: Fault, Failed: true}, nil, "failed unchecked", "failed"},
		"input required": {Result{Body: []byte(`{"resultType":"input_required"}`), Form: Whole, Open: true}, nil, "open unchecked", "forwarded"},
		"not sent":       {Result{}, &NotDone{errors.New("refused")}, "error: the server behind the gate could not be reached or gave no answer: the log says why (nothing was done)", "failed"},
	} {
		for _, tool := range []string{"save", "put", "steady"} {
			s := newShop(t)
			s.act = func(context.Context, *shop, string, canon.Value) (Result, error) { return test.result, test.err }
			s.want(tool, saved, test.want)
			if s.looks != 0 || s.stop() != nil {
				t.Errorf("%s %s: %d looks, stop %+v", name, tool, s.looks, s.stop())
			}
			if got := s.verdicts(); got[len(got)-1] != tool+" "+test.outcome {
				t.Errorf("%s %s: records %q", name, tool, got)
			}
			s.act = nil
			s.open()
			s.want("save", `{"request_id":"r2","text":"tea"}`, "ok held")
			if s.looks != 1 {
				t.Errorf("%s %s: the next process looked %d times, want once at its own call", name, tool, s.looks)
			}
		}
	}
}

// TestLostCallIsLookedAt loses the answer: what is there decides whether others may go on, and the claim stays as it was.
func TestLostCallIsLookedAt(t *testing.T) {
	for _, test := range []struct {
		tool  string
		done  bool
		want  string
		retry string
	}{
		{"save", true, "error: no answer came, but what is there is what the rules expect (inconclusive", "error: no answer came, but what is there is what the rules expect (inconclusive"},
		{"save", false, "error: it was not confirmed, and what is there is not what the rules expect", "error: it was not confirmed, and"},
		{"put", true, "error: no answer came, but", "ok held"},
		{"put", false, "error: it was not confirmed", "denied by latch"},
		{"steady", true, "error: no answer came, but", "ok held"},
		{"steady", false, "error: it was not confirmed", "denied by latch"},
		{"own", true, "error: no answer came, but", "ok held"},
		{"own", false, "error: it was not confirmed", "denied by latch"},
	} {
		s := newShop(t)
		s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
			if test.done {
				s.save(text(args, "request_id"), text(args, "text"))
			}
			return Result{}, errors.New("the connection broke")
		}
		if got := s.says(test.tool, saved, rest{}); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s, done %v: %s", test.tool, test.done, got)
		}
		if (s.stop() == nil) != test.done {
			t.Errorf("%s, done %v: stop %+v", test.tool, test.done, s.stop())
		}
		s.act = nil
		if got := s.says(test.tool, saved, rest{}); !strings.HasPrefix(got, test.retry) {
			t.Errorf("%s, done %v, again: %s", test.tool, test.done, got)
		}
	}
}

// TestReplaysSayWhatWasSeen gives stored answers again with what came of looking, under a latch too.
func TestReplaysSayWhatWasSeen(t *testing.T) {
	for _, tool := range []string{"save", "own"} {
		for _, lie := range []bool{false, true} {
			s := newShop(t)
			want := "ok held"
			if lie {
				s.act, want = liars["does something else"], "ok differed"
			}
			for range 2 {
				s.want(tool, saved, want)
				s.want(tool, saved, want)
				s.open()
			}
			if s.total() != 1 || s.looks != 1 {
				t.Errorf("%s: %d effects and %d looks, want 1 and 1", tool, s.total(), s.looks)
			}
		}
	}
}
