package gate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/policy"
)

// TestCallerThatCancelsDoesNotStopItself: a verified call without a key is looked at when it is done, and not when its caller
// has had enough.
func TestCallerThatCancelsDoesNotStopItself(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		s.act = func(ctx context.Context, s *shop, tool string, args canon.Value) (Result, error) {
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
				return Result{}, ctx.Err() // it is done all the same
			}
			s.save(text(args, "request_id"), text(args, "text"))
			return s.answerOf(tool, args), nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		result, err := s.Do(ctx, s.call("put", saved, rest{}))
		if got := words(result, err); got != "ok held" || s.stop() != nil {
			t.Errorf("%s, stop %+v", got, s.stop())
		}
	})
}

// TestApprovalThatExpiresBeforeItIsUsed: the lane of the scope is taken for hours after a person agreed.
func TestApprovalThatExpiresBeforeItIsUsed(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		lane, err := s.Stops.Enter(context.Background(), interlock.Scope{Principal: "local", Server: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		got := s.begin(context.Background(), "careful", saved)
		synctest.Wait()
		s.answer(1, interlock.Agreed)
		time.Sleep(3 * time.Hour)
		lane.Leave()
		time.Sleep(time.Second)
		synctest.Wait()
		if s.total() != 0 || len(s.waiting()) != 1 {
			t.Fatalf("%d effects, waiting %v; want another question", s.total(), s.waiting())
		}
		s.answer(1, interlock.Agreed)
		if said := <-got; said != "ok held" || s.total() != 1 {
			t.Errorf("%s, %d effects", said, s.total())
		}
	})
}

// TestOnlyAnOperatorMayAgree: the client is not asked where the policy says so.
func TestOnlyAnOperatorMayAgree(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		p, err := policy.Parse("policy.yaml", []byte(strings.Replace(s.policy, "approval: {expires: 10m}", "approval: {expires: 10m, by: operator}", 1)))
		if err != nil {
			t.Fatal(err)
		}
		s.SetPolicy(p)
		s.ask = func(context.Context, *interlock.Approval) (Said, error) {
			t.Error("the client was asked")
			return Agreed, nil
		}
		got := s.begin(context.Background(), "dear", saved)
		synctest.Wait()
		time.Sleep(time.Second)
		if s.total() != 0 {
			t.Fatal("it was carried out")
		}
		s.answer(1, interlock.Agreed)
		if said := <-got; said != "ok unchecked" {
			t.Error(said)
		}
	})
}

// TestNobodyWaitsWithoutAClient: at the end of the conversation a parked call ends, and its approval stays.
func TestNobodyWaitsWithoutAClient(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		unattended, leave := context.WithCancel(context.Background())
		s.Unattended = unattended
		parked := make(chan *interlock.Approval, 1)
		done := make(chan error, 1)
		go func() {
			c := s.call("dear", saved, rest{})
			c.Parked = func(a *interlock.Approval) { parked <- a }
			_, err := s.Do(context.Background(), c)
			done <- err
		}()
		synctest.Wait()
		if a := <-parked; a.Tool != "dear" {
			t.Errorf("parked: %+v", a)
		}
		leave()
		var unavailable *UnavailableError
		if err := <-done; !errors.As(err, &unavailable) || !unavailable.NothingDone() || !errors.Is(err, errUnattended) {
			t.Errorf("it ends with %v", err)
		}
		s.Unattended = context.Background()
		s.answer(1, interlock.Agreed)
		s.want("dear", saved, "ok unchecked")
	})
}
