package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/policy"
)

// waiting are the approvals that wait.
func (s *shop) waiting() (waiting []interlock.Approval) {
	s.t.Helper()
	all, err := s.Approvals.List(time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range all {
		if a.Verdict == interlock.Waiting {
			waiting = append(waiting, a)
		}
	}
	return waiting
}

// answer waits until n approvals wait, and answers them all.
func (s *shop) answer(n int, v interlock.Verdict) {
	s.t.Helper()
	for range 100 {
		time.Sleep(100 * time.Millisecond)
		waiting := s.waiting()
		if len(waiting) < n {
			continue
		}
		for _, a := range waiting {
			if err := s.Answer(a.ID, v, "as you like"); err != nil {
				s.t.Error(err)
			}
		}
		return
	}
	s.t.Errorf("%d approvals wait, want %d", len(s.waiting()), n)
}

// begin calls in the background.
func (s *shop) begin(ctx context.Context, name, args string) <-chan string {
	done := make(chan string, 1)
	c := s.call(name, args, rest{})
	go func() { done <- words(s.Do(ctx, c)) }()
	return done
}

// inTime runs a test on a clock that does not make it wait.
func inTime(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newShop(t)) })
}

// TestApprovalIsGoodForOneCall asks for each kind of call, and again for the next one.
func TestApprovalIsGoodForOneCall(t *testing.T) {
	for tool, want := range map[string]string{
		"dear": "committed", "costly": "committed", "owncostly": "committed", "again": "committed", "careful": "committed CONTINUE", "private": "observed",
	} {
		inTime(t, func(t *testing.T, s *shop) {
			for i := range 2 {
				done := s.begin(context.Background(), tool, fmt.Sprintf(`{"request_id":"r%d","text":"tea"}`, i))
				synctest.Wait()
				if s.total() != i && tool != "private" {
					t.Fatalf("%s: %d effects while nobody had agreed", tool, s.total())
				}
				s.answer(1, interlock.Agreed)
				if got := <-done; !strings.HasPrefix(got, "ok") {
					t.Errorf("%s: %s", tool, got)
				}
				if left, err := s.Approvals.List(time.Now()); err != nil || len(left) != 0 {
					t.Errorf("%s: %d approvals are left, %v", tool, len(left), err)
				}
			}
			records := s.verdicts()
			if tool == "careful" {
				records = append(records[:3], records[4:7]...) // without the records of the looks
			}
			one := []string{tool + " asked", tool + " permitted", tool + " " + want}
			if diff := cmp.Diff(append(one, one...), records); diff != "" {
				t.Errorf("%s: records (-want +got):\n%s", tool, diff)
			}
		})
	}
}

func TestUnkeyedCallOfTheSameArgumentsIsAskedAgain(t *testing.T) {
	for _, tool := range []string{"costly", "owncostly", "private"} {
		inTime(t, func(t *testing.T, s *shop) {
			for range 2 {
				done := s.begin(context.Background(), tool, saved)
				s.answer(1, interlock.Agreed)
				if got := <-done; !strings.HasPrefix(got, "ok") {
					t.Errorf("%s: %s", tool, got)
				}
			}
		})
	}
}

func TestDeniedAndExpired(t *testing.T) {
	for _, tool := range []string{"dear", "costly"} {
		inTime(t, func(t *testing.T, s *shop) {
			done := s.begin(context.Background(), tool, saved)
			s.answer(1, interlock.Refused)
			if got, want := <-done, "denied by "+tool+": a person denied this call"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			s.want(tool, saved, "denied by "+tool+": a person denied this call") // until it expires
			time.Sleep(16 * time.Minute)
			start := time.Now()
			s.want(tool, saved, "denied by "+tool+": nobody agreed in time")
			if took, want := time.Since(start).Round(time.Minute), map[string]time.Duration{"dear": 10 * time.Minute, "costly": 15 * time.Minute}[tool]; took != want {
				t.Errorf("%s: it waited %v, want %v", tool, took, want)
			}
			if s.total() != 0 {
				t.Errorf("%s: there was an effect", tool)
			}
		})
	}
}

// TestParkedCallIsTakenByItsRetry goes away while a person is asked; the answer comes when nobody is there.
func TestParkedCallIsTakenByItsRetry(t *testing.T) {
	for _, tool := range []string{"dear", "costly", "owncostly", "careful"} {
		for _, restart := range []bool{false, true} {
			inTime(t, func(t *testing.T, s *shop) {
				ctx, cancel := context.WithCancel(context.Background())
				done := s.begin(ctx, tool, saved)
				synctest.Wait()
				cancel()
				if got := <-done; got != "error: context canceled" {
					t.Errorf("%s: the caller went away: %s", tool, got)
				}
				s.answer(1, interlock.Agreed)
				if s.total() != 0 {
					t.Fatalf("%s: it was carried out with nobody there", tool)
				}
				if restart {
					s.open()
				}
				if got := s.says(tool, saved, rest{}); !strings.HasPrefix(got, "ok") || s.total() != 1 {
					t.Errorf("%s: the retry: %s, %d effects", tool, got, s.total())
				}
				want := []string{tool + " asked", tool + " not_executed", tool + " permitted", tool + " committed"}
				if tool == "careful" {
					want[3] += " CONTINUE"
					want = append(want, "read observed verify")
				}
				if diff := cmp.Diff(want, s.verdicts()); diff != "" {
					t.Errorf("%s: records (-want +got):\n%s", tool, diff)
				}
			})
		}
	}
}

// TestDuplicatesWhileParked: callers with one key are one call.
func TestDuplicatesWhileParked(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		var calls []<-chan string
		for range 10 {
			calls = append(calls, s.begin(context.Background(), "dear", saved))
		}
		s.answer(1, interlock.Agreed)
		for _, done := range calls {
			if got := <-done; got != "ok unchecked" {
				t.Error(got)
			}
		}
		if s.total() != 1 || len(s.waiting()) != 0 {
			t.Errorf("%d effects, %d approvals wait", s.total(), len(s.waiting()))
		}
	})
}

// TestOneApprovalForTwoUnkeyedCalls: two calls are two, although they look alike. One is carried out, the other asks anew.
func TestOneApprovalForTwoUnkeyedCalls(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		first, second := s.begin(context.Background(), "costly", saved), s.begin(context.Background(), "costly", saved)
		synctest.Wait()
		if n := len(s.waiting()); n != 1 {
			t.Errorf("%d approvals wait, want one for both", n)
		}
		s.answer(1, interlock.Agreed)
		var left <-chan string
		select {
		case got := <-first:
			left = second
			t.Log(got)
		case got := <-second:
			left = first
			t.Log(got)
		}
		synctest.Wait()
		if s.total() != 1 {
			t.Errorf("%d effects by one approval", s.total())
		}
		s.answer(1, interlock.Refused)
		if got := <-left; !strings.HasPrefix(got, "denied by costly") {
			t.Errorf("the other: %s", got)
		}
		if s.total() != 1 {
			t.Errorf("%d effects, want 1", s.total())
		}
	})
}

// TestPolicyThatChangesVoids changes the policy while a person is asked, and after the answer.
func TestPolicyThatChangesVoids(t *testing.T) {
	asks := strings.Replace(shopPolicy, "This is dear.", "This is very dear.", 1)
	for name, test := range map[string]struct {
		policy string
		want   string
		ask    bool // the new policy asks as well
	}{
		"it denies": {"version: 2\ndefault: deny\n", "denied by default", false},
		"it allows": {"version: 2\ndefault: deny\nrules:\n  - {id: all, decision: allow, tools: [dear, costly], mutation: {key: request_id}}\n", "ok unchecked", false},
		"it asks":   {asks, "ok unchecked", true},
	} {
		for _, tool := range []string{"dear", "costly"} {
			for _, answered := range []bool{false, true} {
				inTime(t, func(t *testing.T, s *shop) {
					changed, err := policy.Parse("policy.yaml", []byte(strings.ReplaceAll(test.policy, "VERIFY",
						`{observe: {tool: read}, expect: "observation.text == args.text"}`)))
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(context.Background())
					done := s.begin(ctx, tool, saved)
					synctest.Wait()
					if answered { // and its caller is gone
						cancel()
						<-done
						s.answer(1, interlock.Agreed)
						s.SetPolicy(changed)
						done = s.begin(context.Background(), tool, saved)
					} else {
						s.SetPolicy(changed)
						s.answer(1, interlock.Agreed)
					}
					synctest.Wait()
					if test.ask {
						time.Sleep(time.Second)
						if s.total() != 0 {
							t.Errorf("%s %s: what was agreed to under another policy was carried out", name, tool)
						}
						s.answer(1, interlock.Agreed)
					}
					if got := <-done; !strings.HasPrefix(got, test.want) {
						t.Errorf("%s %s, answered %v: %s, want %s", name, tool, answered, got, test.want)
					}
					cancel()
				})
			}
		}
	}
}

// TestCallThatWasNotSentGivesItsApprovalBack refuses the connection once.
func TestCallThatWasNotSentGivesItsApprovalBack(t *testing.T) {
	for _, tool := range []string{"dear", "costly"} {
		inTime(t, func(t *testing.T, s *shop) {
			s.ask = func(context.Context, *interlock.Approval) (Said, error) { return Agreed, nil }
			s.act = func(context.Context, *shop, string, canon.Value) (Result, error) {
				return Result{}, &NotDone{errors.New("refused")}
			}
			if got := s.says(tool, saved, rest{}); !strings.HasSuffix(got, "(nothing was done)") {
				t.Errorf("%s: %s", tool, got)
			}
			s.act, s.ask = nil, func(context.Context, *interlock.Approval) (Said, error) {
				t.Errorf("%s: the person was asked again", tool)
				return Refused, nil
			}
			s.want(tool, saved, "ok unchecked")
		})
	}
}

// TestLostCallUsesItsApprovalUp loses the answer. Only what a rule calls idempotent is sent again, by the same approval, and
// only while the policy is the same.
func TestLostCallUsesItsApprovalUp(t *testing.T) {
	for _, test := range []struct {
		tool, want string
		asked      int
	}{
		{"dear", "error: an earlier attempt with this request_id was cut off", 0},
		{"costly", "denied by costly", 1},
		{"again", "ok unchecked", 0},
	} {
		inTime(t, func(t *testing.T, s *shop) {
			s.ask = func(context.Context, *interlock.Approval) (Said, error) { return Agreed, nil }
			s.act = func(context.Context, *shop, string, canon.Value) (Result, error) { return Result{}, errors.New("lost") }
			if got := s.says(test.tool, saved, rest{}); !strings.Contains(got, "(inconclusive") {
				t.Errorf("%s: %s", test.tool, got)
			}
			asked := 0
			s.act, s.ask = nil, func(context.Context, *interlock.Approval) (Said, error) { asked++; return Refused, nil }
			if got := s.says(test.tool, saved, rest{}); !strings.HasPrefix(got, test.want) || asked != test.asked {
				t.Errorf("%s again: %s, asked %d times, want %s and %d", test.tool, got, asked, test.want, test.asked)
			}
		})
	}
	inTime(t, func(t *testing.T, s *shop) {
		s.ask = func(context.Context, *interlock.Approval) (Said, error) { return Agreed, nil }
		s.act = func(context.Context, *shop, string, canon.Value) (Result, error) { return Result{}, errors.New("lost") }
		s.says("again", saved, rest{})
		s.policy = strings.Replace(s.policy, "This is dear.", "This is very dear.", 1)
		s.open()
		s.act, s.ask = nil, func(context.Context, *interlock.Approval) (Said, error) { return Refused, nil }
		s.want("again", saved, "denied by again: a person denied this call")
	})
}

func TestLatchComesBeforeTheQuestion(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		s.act = liars["does nothing"]
		s.want("save", saved, "ok differed")
		s.ask = func(context.Context, *interlock.Approval) (Said, error) {
			t.Error("a person was bothered")
			return Refused, nil
		}
		for _, tool := range []string{"dear", "costly", "careful"} {
			s.want(tool, `{"request_id":"r2","text":"tea"}`, "denied by latch…")
		}
		if n := len(s.waiting()); n != 0 {
			t.Errorf("%d approvals wait", n)
		}
	})
}

// TestLatchThatIsSetWhileAPersonThinks holds what was agreed to.
func TestLatchThatIsSetWhileAPersonThinks(t *testing.T) {
	for _, tool := range []string{"dear", "costly", "careful"} {
		inTime(t, func(t *testing.T, s *shop) {
			done := s.begin(context.Background(), tool, `{"request_id":"r2","text":"tea"}`)
			synctest.Wait()
			s.act = liars["does nothing"]
			s.want("save", saved, "ok differed") // the lane is free while a person is asked
			s.act = nil
			s.answer(1, interlock.Agreed)
			if got := <-done; !strings.HasPrefix(got, "denied by latch") || s.total() != 0 {
				t.Errorf("%s: %s, %d effects", tool, got, s.total())
			}
		})
	}
}

func TestWhatIsDeniedIsNotAsked(t *testing.T) {
	s := newShop(t)
	s.ask = func(context.Context, *interlock.Approval) (Said, error) {
		t.Error("a person was asked")
		return Agreed, nil
	}
	s.want("dear", `{"request_id":"r1","bad":1}`, "denied by schema…")
	s.want("dear", `{}`, "denied by dear…")
	c := s.call("dear", saved, rest{})
	c.Refuse = &DeniedError{Rule: "pin", Reason: "changed"}
	if got := words(s.Do(context.Background(), c)); got != "denied by pin: changed" {
		t.Error(got)
	}
	s.want("nowhere", saved, "denied by default…")
}

func TestAnswersThatFindNobody(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		before := len(s.records())
		for _, v := range []interlock.Verdict{interlock.Agreed, interlock.Refused} {
			if err := s.Answer("0123456789abcdef", v, ""); !errors.Is(err, interlock.ErrNoApproval) {
				t.Errorf("%s: %v", v, err)
			}
		}
		if err := s.Answer("0123456789abcdef", interlock.Waiting, ""); err == nil {
			t.Error("an answer that is none was taken")
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := s.begin(ctx, "dear", saved)
		synctest.Wait()
		id := s.waiting()[0].ID
		cancel()
		<-done
		time.Sleep(11 * time.Minute)
		if err := s.Answer(id, interlock.Agreed, ""); !errors.Is(err, interlock.ErrNoApproval) {
			t.Errorf("after it expired: %v", err)
		}
		if got := len(s.records()) - before; got != 2 { // asked, and gone
			t.Errorf("%d records, want 2: an answer to nobody is none", got)
		}
	})
}

// TestAnswerIsRecordedFirst has no ledger to record it in: nobody agreed.
func TestAnswerIsRecordedFirst(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		ctx, cancel := context.WithCancel(context.Background())
		done := s.begin(ctx, "dear", saved)
		synctest.Wait()
		id := s.waiting()[0].ID
		cancel()
		<-done
		if err := s.disk.Remove("d/ledger.jsonl"); err != nil {
			t.Fatal(err)
		}
		if err := s.Answer(id, interlock.Agreed, ""); err == nil || errors.Is(err, interlock.ErrNoApproval) {
			t.Errorf("without a ledger: %v", err)
		}
		if n := len(s.waiting()); n != 1 {
			t.Errorf("%d approvals wait, want 1", n)
		}
	})
}

// TestPolicyThatChangesInTheLane changes the policy when the person has agreed and the call waits for its turn.
func TestPolicyThatChangesInTheLane(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		ctx, cancel := context.WithCancel(context.Background())
		parked := s.begin(ctx, "careful", `{"request_id":"r2","text":"tea"}`)
		synctest.Wait()
		cancel()
		<-parked
		s.answer(1, interlock.Agreed)
		let := make(chan struct{})
		s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
			<-let
			s.save(text(args, "request_id"), text(args, "text"))
			return s.answerOf(tool, args), nil
		}
		first := s.begin(context.Background(), "save", saved)
		synctest.Wait()
		second := s.begin(context.Background(), "careful", `{"request_id":"r2","text":"tea"}`)
		synctest.Wait()
		other, err := policy.Parse("policy.yaml", []byte("version: 2\ndefault: deny\n"))
		if err != nil {
			t.Fatal(err)
		}
		s.SetPolicy(other)
		close(let)
		if got := <-first; got != "ok held" {
			t.Errorf("the first, by the policy that it began with: %s", got)
		}
		if got := <-second; !strings.HasPrefix(got, "denied by default") || s.done["r2"] != 0 {
			t.Errorf("what was agreed to under another policy: %s, %d effects", got, s.done["r2"])
		}
	})
}
