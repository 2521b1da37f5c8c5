package gate

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"sallyport/internal/durable/crashfs"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

var payKey = mutation.Key{Principal: "local", Tool: "pay", ID: "r1", Upstream: "bank"}

// inDoubt is a gate with an inconclusive mutation, and its attempt.
func inDoubt(t *testing.T) (*far, string) {
	t.Helper()
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) { return Result{}, io.ErrUnexpectedEOF }
	f.say("pay", `{"request_id":"r1"}`, rest{})
	f.answer = nil
	found, err := mutation.Find(f.disk, "d", "r1")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	return f, found[0].Attempt
}

func TestResolve(t *testing.T) {
	const given = `{"content":[],"given":1}`
	for name, test := range map[string]struct {
		settlement Settlement
		retry      string
		effects    int32
		records    []string
	}{
		"committed":        {Settlement{As: AsCommitted}, "committed false", 1, []string{"r1 pay allow committed committed", "r1 pay allow replay"}},
		"with a result":    {Settlement{As: AsCommitted, Result: []byte(given), Form: Whole}, given, 1, []string{"r1 pay allow committed committed", "r1 pay allow replay"}},
		"absent":           {Settlement{As: AsAbsent}, `{"n":2, "z":1.0,"a":1e400}`, 2, []string{"r1 pay allow not_executed absent", "r1 pay allow committed"}},
		"abandoned":        {Settlement{As: AsAbandoned}, "abandoned true", 1, []string{"r1 pay allow inconclusive abandoned", "r1 pay allow inconclusive"}},
		"other processes'": {Settlement{As: AsAbandoned}, "abandoned true", 1, []string{"r1 pay allow inconclusive abandoned", "r1 pay allow inconclusive"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, attempt := inDoubt(t)
			test.settlement.Attempt, test.settlement.Reason = attempt, "looked"
			if err := f.Resolve(context.Background(), payKey, test.settlement); err != nil {
				t.Fatal(err)
			}
			if name == "other processes'" {
				f.open()
			}
			if got := f.say("pay", `{"request_id":"r1"}`, rest{}); got != test.retry {
				t.Errorf("a retry gets %s, want %s", got, test.retry)
			}
			f.wantEffects(test.effects)
			f.wantRecords(append([]string{"r1 pay allow inconclusive"}, test.records...)...)
			if test.settlement.As != AsAbsent {
				if got := f.say("pay", `{"request_id":"r1","other":1}`, rest{}); got != "conflict true" {
					t.Errorf("other arguments: %s", got)
				}
			}
			if err := f.Resolve(context.Background(), payKey, test.settlement); !errors.Is(err, ErrSettled) {
				t.Errorf("a second time: %v, want ErrSettled", err)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	f, attempt := inDoubt(t)
	for name, test := range map[string]struct {
		key        mutation.Key
		settlement Settlement
		want       string
	}{
		"another attempt": {payKey, Settlement{Attempt: "0123456789abcdef", As: AsAbsent}, ErrSettled.Error()},
		"another key":     {mutation.Key{Principal: "ann", Tool: "pay", ID: "r1", Upstream: "bank"}, Settlement{Attempt: attempt, As: AsAbsent}, ErrSettled.Error()},
		"our own tools":   {mutation.Key{Principal: "local", Tool: "pay", ID: "r1"}, Settlement{Attempt: attempt, As: AsAbsent}, "no such verdict"},
		"no verdict":      {payKey, Settlement{Attempt: attempt}, "no such verdict"},
		"another verdict": {payKey, Settlement{Attempt: attempt, As: "done"}, "no such verdict"},
	} {
		if err := f.Resolve(context.Background(), test.key, test.settlement); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	other, err := mutation.Open(f.disk, "d", func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	claim, err := other.Begin(context.Background(), payKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Resolve(context.Background(), payKey, Settlement{Attempt: attempt, As: AsAbsent, Reason: "x"}); !errors.Is(err, mutation.ErrInFlight) {
		t.Errorf("in flight: %v", err)
	}
	claim.Release()
	f.wantRecords("r1 pay allow inconclusive")
}

// TestEveryCrashOfASettlement kills the gate after each change of a settlement: what is settled is on the record, and the
// settlement can be given again where it is not.
func TestEveryCrashOfASettlement(t *testing.T) {
	for _, as := range []string{AsCommitted, AsAbsent, AsAbandoned} {
		f, attempt := inDoubt(t)
		start := f.disk.Changes()
		s := Settlement{Attempt: attempt, As: as, Reason: "looked"}
		if err := f.Resolve(context.Background(), payKey, s); err != nil {
			t.Fatal(err)
		}
		settled, open := 0, 0
		for crash := range f.disk.Crashes(start) {
			next := &far{t: t, disk: crash.FS, policy: forwardPolicy}
			next.open()
			if err := next.Recover(context.Background(), nil); err != nil {
				t.Errorf("%s, %v: Recover: %v", as, crash, err)
			}
			err := next.Resolve(context.Background(), payKey, s)
			switch {
			case errors.Is(err, ErrSettled):
				settled++
			case err == nil && crash.After < f.disk.Changes():
				open++
			default:
				t.Errorf("%s, %v: %v", as, crash, err)
			}
			records := settlements(t, next.disk)
			if records != 1 {
				t.Errorf("%s, %v: %d records of the settlement, want 1", as, crash, records)
			}
			next.say("pay", `{"request_id":"r1"}`, rest{})
			if want := map[string]int32{AsCommitted: 0, AsAbsent: 1, AsAbandoned: 0}[as]; next.effects.Load() != want {
				t.Errorf("%s, %v: %d effects, want %d", as, crash, next.effects.Load(), want)
			}
		}
		if settled == 0 || open == 0 {
			t.Errorf("%s: %d crashes left it settled, %d open: nothing was tried", as, settled, open)
		}
	}
}

func settlements(t *testing.T, disk *crashfs.FS) int {
	t.Helper()
	text, err := disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), `"method":"claims/resolve"`)
}
