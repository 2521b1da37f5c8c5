package gate

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/interlock"
)

// TestAskingAtTheClient has the client's person say everything there is to say.
func TestAskingAtTheClient(t *testing.T) {
	for name, test := range map[string]struct {
		ask     func(ctx context.Context, a *interlock.Approval) (Said, error)
		want    string
		records []string
		waits   int
	}{
		"agreed":  {func(context.Context, *interlock.Approval) (Said, error) { return Agreed, nil }, "ok unchecked", []string{"asked", "permitted", "committed"}, 0},
		"refused": {func(context.Context, *interlock.Approval) (Said, error) { return Refused, nil }, "denied by dear: a person denied this call", []string{"asked", "not_executed", "not_executed"}, 0},
		"later":   {func(context.Context, *interlock.Approval) (Said, error) { return Later, nil }, "input needed", []string{"asked"}, 1},
		"an error parks it": {func(context.Context, *interlock.Approval) (Said, error) { return Agreed, errors.New("lost") }, "denied by dear: nobody agreed in time",
			[]string{"asked", "not_executed"}, 0},
		"a panic parks it": {func(context.Context, *interlock.Approval) (Said, error) { panic("ouch") }, "denied by dear: nobody agreed in time",
			[]string{"asked", "not_executed"}, 0},
	} {
		inTime(t, func(t *testing.T, s *shop) {
			s.ask = test.ask
			s.want("dear", saved, test.want)
			var want []string
			for _, outcome := range test.records {
				want = append(want, "dear "+outcome)
			}
			if diff := cmp.Diff(want, s.verdicts()); diff != "" {
				t.Errorf("%s: records (-want +got):\n%s", name, diff)
			}
			if n := len(s.waiting()); n != test.waits {
				t.Errorf("%s: %d approvals wait, want %d", name, n, test.waits)
			}
		})
	}
}

// TestLaterComesBack answers with a retry, as clients of the modern era do. Asking again puts nothing on record.
func TestLaterComesBack(t *testing.T) {
	for _, tool := range []string{"dear", "costly"} {
		inTime(t, func(t *testing.T, s *shop) {
			var id string
			s.ask = func(_ context.Context, a *interlock.Approval) (Said, error) { id = a.ID; return Later, nil }
			s.want(tool, saved, "input needed")
			first := id
			s.want(tool, saved, "input needed")
			if id != first {
				t.Errorf("%s: asked under %s, then under %s", tool, first, id)
			}
			s.ask = func(_ context.Context, a *interlock.Approval) (Said, error) {
				if a.ID != first {
					t.Errorf("%s: asked under %s, want %s", tool, a.ID, first)
				}
				return Agreed, nil
			}
			s.want(tool, saved, "ok unchecked")
			if diff := cmp.Diff([]string{tool + " asked", tool + " permitted", tool + " committed"}, s.verdicts()); diff != "" {
				t.Errorf("%s: records (-want +got):\n%s", tool, diff)
			}
		})
	}
}

// TestOperatorIsQuicker answers at the terminal while the client's person thinks, who is not waited for then.
func TestOperatorIsQuicker(t *testing.T) {
	inTime(t, func(t *testing.T, s *shop) {
		hushed := false
		s.ask = func(ctx context.Context, _ *interlock.Approval) (Said, error) {
			<-ctx.Done()
			hushed = true
			return Agreed, ctx.Err()
		}
		done := s.begin(context.Background(), "dear", saved)
		s.answer(1, interlock.Refused)
		if got := <-done; got != "denied by dear: a person denied this call" || !hushed {
			t.Errorf("%s, the client was told: %v", got, hushed)
		}
	})
}
