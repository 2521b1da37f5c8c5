package gate

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// TestApprovalUnderCrashes kills the gate after each change to the disk of an approved call: one approval is good for one
// effect, and a call that was certainly not sent may use it still.
func TestApprovalUnderCrashes(t *testing.T) {
	for _, tool := range []string{"dear", "costly", "owncostly", "careful"} {
		t.Run(tool, func(t *testing.T) {
			s := newShop(t)
			s.ask = func(context.Context, *interlock.Approval) (Said, error) { return Agreed, nil }
			var m moment
			s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
				m.sent = s.disk.Changes()
				s.save(text(args, "request_id"), text(args, "text"))
				return s.answerOf(tool, args), nil
			}
			if got := s.says(tool, saved, rest{}); !strings.HasPrefix(got, "ok") {
				t.Fatal(got)
			}
			m.answered = s.disk.Changes()
			seen := map[string]int{}
			for crash := range s.disk.Crashes(0) {
				for _, sent := range sentBy(crash, m) {
					disk, err := copyOf(crash)
					if err != nil {
						t.Fatal(err)
					}
					n := &shop{far: &far{t: t, disk: disk, policy: s.policy}, texts: map[string]string{}, done: map[string]int{}}
					if sent {
						n.copyWorld(s)
					}
					if err := n.tryOpen(); err != nil {
						t.Errorf("%v: %v", crash, err)
						continue
					}
					if err := n.Recover(context.Background(), []*Tool{n.tool("owncostly")}); err != nil {
						t.Errorf("%v: Recover: %v", crash, err)
					}
					n.ask = func(context.Context, *interlock.Approval) (Said, error) { return Later, nil }
					got := n.says(tool, saved, rest{})
					word, _, _ := strings.Cut(got, ":")
					seen[word]++
					switch {
					case n.done["r1"] > 1:
						t.Errorf("%v, sent %v: %d effects by one approval", crash, sent, n.done["r1"])
					case crash.After >= m.answered && tool != "costly" && tool != "owncostly" && !strings.HasPrefix(got, "ok"):
						t.Errorf("%v: it was acknowledged, and the retry: %s", crash, got)
					}
					n.records()
				}
			}
			t.Logf("%v", seen)
			if seen["input needed"] == 0 || len(seen) < 2 {
				t.Errorf("nothing was tried: %v", seen)
			}
		})
	}
}

// TestManyCallersOfOneApproval races unkeyed callers for one approval, at once.
func TestManyCallersOfOneApproval(t *testing.T) {
	s := newShop(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { s.Do(ctx, s.call("costly", saved, rest{})) })
	}
	s.answer(1, interlock.Agreed)
	time.Sleep(time.Second)
	cancel()
	wg.Wait()
	if s.total() != 1 {
		t.Errorf("%d effects by one approval", s.total())
	}
}
