package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/durable/crashfs"
	"sallyport/internal/mutation"
)

// TestLostAnswers has an upstream fail in all ways, for calls under all terms.
func TestLostAnswers(t *testing.T) {
	lost := func(context.Context, Call) (Result, error) { return Result{}, errors.New("reset at 10.0.0.1 /secret") }
	unsent := func(context.Context, Call) (Result, error) {
		return Result{}, &NotDone{errors.New("refused at 10.0.0.1 /secret")}
	}
	panics := func(context.Context, Call) (Result, error) { panic("ouch /secret") }
	for name, test := range map[string]struct {
		tool    string
		answer  func(context.Context, Call) (Result, error)
		want    string
		records []string
	}{
		"read, lost":         {"get", lost, "inconclusive: no answer came", []string{"r1 get allow forwarded", "r1 get allow inconclusive"}},
		"read, unsent":       {"get", unsent, "nothing was done", []string{"r1 get allow forwarded", "r1 get allow failed"}},
		"read, panic":        {"get", panics, "inconclusive: no answer came", []string{"r1 get allow forwarded", "r1 get allow inconclusive"}},
		"no key, lost":       {"send", lost, "it may be done twice", []string{"r1 send allow forwarded", "r1 send allow inconclusive"}},
		"no key, unsent":     {"send", unsent, "nothing was done", []string{"r1 send allow forwarded", "r1 send allow failed"}},
		"key, lost":          {"pay", lost, "until an operator settles it", []string{"r1 pay allow inconclusive"}},
		"key, unsent":        {"pay", unsent, "nothing was done", []string{"r1 pay allow failed"}},
		"key, panic":         {"pay", panics, "until an operator settles it", []string{"r1 pay allow inconclusive"}},
		"idempotent, lost":   {"set", lost, "can be sent again, which the policy calls harmless", []string{"r1 set allow inconclusive"}},
		"idempotent, unsent": {"set", unsent, "nothing was done", []string{"r1 set allow failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t)
			f.answer = test.answer
			got := f.say(test.tool, `{"request_id":"r1"}`, rest{})
			if !strings.HasPrefix(got, "error: the server behind the gate could not be reached or gave no answer") || !strings.Contains(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
			if strings.Contains(got, "secret") || strings.Contains(got, "10.0.0.1") {
				t.Errorf("the caller is told %s", got)
			}
			f.wantRecords(test.records...)
		})
	}
}

// TestInconclusiveStaysSo loses an answer and retries in this process and the next ones.
func TestInconclusiveStaysSo(t *testing.T) {
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) { return Result{}, io.ErrUnexpectedEOF }
	f.say("pay", `{"request_id":"r1"}`, rest{})
	f.answer = nil // it would answer now, and must not be asked
	for range 2 {
		for range 2 {
			if got := f.say("pay", `{"request_id":"r1"}`, rest{}); !strings.Contains(got, "was cut off") || !strings.Contains(got, "inconclusive") {
				t.Error(got)
			}
		}
		if got := f.say("pay", `{"request_id":"r1","other":1}`, rest{}); got != "conflict true" {
			t.Errorf("other arguments: %s", got)
		}
		f.open()
		if err := f.Recover(context.Background(), nil); err != nil {
			t.Error(err)
		}
	}
	f.wantEffects(1)
	inconclusive := "r1 pay allow inconclusive"
	f.wantRecords(inconclusive, inconclusive, inconclusive, "r1 pay allow conflict", inconclusive, inconclusive, "r1 pay allow conflict")
}

func TestIdempotentIsSentAgain(t *testing.T) {
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) { return Result{}, io.ErrUnexpectedEOF }
	f.say("set", `{"request_id":"r1"}`, rest{})
	f.answer = nil
	if got := f.say("set", `{"request_id":"r1","other":1}`, rest{}); got != "conflict true" {
		t.Errorf("other arguments: %s", got)
	}
	for range 2 {
		if got := f.say("set", `{"request_id":"r1"}`, rest{}); got != `{"n":2, "z":1.0,"a":1e400}` {
			t.Error(got)
		}
	}
	f.wantEffects(2)
	f.wantRecords("r1 set allow inconclusive", "r1 set allow conflict", "r1 set allow committed", "r1 set allow replay")
}

// TestOneUpstreamCallForMany has many callers retry one mutation at once.
func TestOneUpstreamCallForMany(t *testing.T) {
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) {
		time.Sleep(5 * time.Millisecond)
		return Result{Body: []byte(`{"paid":1}`), Form: Whole}, nil
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got, err := f.do("pay", `{"request_id":"r1"}`, rest{}); err != nil || string(got.Body) != `{"paid":1}` {
				t.Errorf("%s, %v", got.Body, err)
			}
		})
	}
	wg.Wait()
	f.wantEffects(1)
}

// TestInFlightElsewhere holds the claim in another process.
func TestInFlightElsewhere(t *testing.T) {
	f := newFar(t)
	other, err := mutation.Open(f.disk, "d", func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	claim, err := other.Begin(context.Background(), mutation.Key{Principal: "local", Tool: "pay", ID: "r1", Upstream: "bank"})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	r, err := f.do("pay", `{"request_id":"r1"}`, rest{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"content":[{"type":"text","text":"{\"request_id\":\"r1\",\"status\":\"in_flight\"}"},` +
		`{"type":"text","text":"in_flight: another process is carrying out this call at the moment. Send the same request_id and arguments again shortly."}],` +
		`"structuredContent":{"request_id":"r1","status":"in_flight"},"isError":true}`
	if string(r.Body) != want || r.Form != Own || !r.Failed {
		t.Errorf("%+v %s, want %s", r, r.Body, want)
	}
	f.wantEffects(0)
	f.wantRecords("r1 pay allow in_flight")
}

// TestMutationGoesOnWithoutItsClient cancels a call under all terms while the upstream works.
func TestMutationGoesOnWithoutItsClient(t *testing.T) {
	for tool, finished := range map[string]bool{"pay": true, "set": true, "get": false, "send": false} {
		t.Run(tool, func(t *testing.T) {
			f := newFar(t)
			ctx, cancel := context.WithCancel(context.Background())
			f.answer = func(ctx context.Context, _ Call) (Result, error) {
				cancel()
				if ctx.Err() != nil {
					return Result{}, ctx.Err()
				}
				return Result{Body: []byte(`{"ok":1}`), Form: Whole}, nil
			}
			_, err := f.Do(ctx, f.make(tool, `{"request_id":"r1"}`, rest{}))
			var unavailable *UnavailableError
			// Whoever is told of a cancelled call that nothing was begun would send it again.
			if finished && err != nil || !finished && (!errors.As(err, &unavailable) || !strings.Contains(err.Error(), "inconclusive")) {
				t.Errorf("error %v", err)
			}
			if finished {
				if got := f.say(tool, `{"request_id":"r1"}`, rest{}); got != `{"ok":1}` {
					t.Errorf("the retry gets %s", got)
				}
				f.wantEffects(1)
				return
			}
			f.wantRecords("r1 "+tool+" allow forwarded", "r1 "+tool+" allow inconclusive")
		})
	}
}

// TestMutationDoesNotGoOnForEver has an upstream that never answers.
func TestMutationDoesNotGoOnForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.answer = func(ctx context.Context, _ Call) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() }
		for _, timeout := range []time.Duration{0, time.Second} {
			f.CallTimeout = timeout
			start := time.Now()
			if got := f.say("pay", fmt.Sprintf(`{"request_id":"r%v"}`, timeout), rest{}); !strings.Contains(got, "until an operator settles it") {
				t.Error(got)
			}
			want := timeout
			if want == 0 {
				want = 10 * time.Minute
			}
			if got := time.Since(start); got != want {
				t.Errorf("it took %v, want %v", got, want)
			}
		}
	})
}

// TestOutcomeLostBesideItsRecord takes the outcome of a call away whose record is there, as the death of the machine may while
// both become durable, or a sync that fails: it is not carried out again, nothing is said that the ledger contradicts, and an
// operator can settle it.
func TestOutcomeLostBesideItsRecord(t *testing.T) {
	for name, lose := range map[string]func(f *far){
		"the machine died": func(f *far) {
			f.do("pay", `{"request_id":"r1"}`, rest{})
			text, err := f.disk.ReadFile("d/" + mutation.FileName)
			if err != nil {
				f.t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			if len(lines) != 4 || lines[2][65] != 'O' {
				f.t.Fatalf("the claims are %q, want a header, an intent and an outcome", lines)
			}
			file, err := f.disk.Open("d/" + mutation.FileName)
			if err != nil {
				f.t.Fatal(err)
			}
			if err := file.Truncate(int64(len(lines[0]) + len(lines[1]))); err != nil {
				f.t.Fatal(err)
			}
		},
		"a sync failed": func(f *far) {
			f.answer = func(context.Context, Call) (Result, error) {
				f.disk.FailOn(func(op crashfs.Op, name string, _ int) error {
					if op == crashfs.Sync && strings.HasSuffix(name, mutation.FileName) {
						return errors.New("the disk is gone")
					}
					return nil
				})
				return Result{Body: []byte(`{}`), Form: Whole}, nil
			}
			if got := f.say("pay", `{"request_id":"r1"}`, rest{}); !strings.Contains(got, "until an operator settles it") {
				f.t.Errorf("the call whose outcome was lost: %s", got)
			}
			f.disk.FailOn(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFar(t)
			lose(f)
			f.wantRecords("r1 pay allow committed")
			f.open()
			if err := f.Recover(context.Background(), nil); err != nil {
				t.Error(err)
			}
			for range 2 {
				got := f.say("pay", `{"request_id":"r1"}`, rest{})
				if !strings.Contains(got, "its answer was lost") || !strings.Contains(got, "(the call itself was carried out)") {
					t.Errorf("a retry: %s", got)
				}
			}
			if got := f.say("pay", `{"request_id":"r1","more":1}`, rest{}); got != "conflict true" {
				t.Errorf("a retry with other arguments: %s", got)
			}
			f.wantEffects(1)
			for _, as := range []string{AsAbsent, AsAbandoned} {
				if err := settle(t, f, as); !errors.Is(err, ErrCarriedOut) {
					t.Errorf("settled as %s, which the ledger contradicts: %v", as, err)
				}
			}
			if err := settle(t, f, AsCommitted); err != nil {
				t.Errorf("settling: %v", err)
			}
			if got := f.say("pay", `{"request_id":"r1"}`, rest{}); got != "committed false" {
				t.Errorf("a retry of what is settled: %s", got)
			}
			f.wantEffects(1)
			f.wantRecords("r1 pay allow committed", "r1 pay allow not_executed", "r1 pay allow not_executed", "r1 pay allow conflict",
				"r1 pay allow committed committed", "r1 pay allow replay")
		})
	}
}

// settle settles the call r1 of pay.
func settle(t *testing.T, f *far, as string) error {
	t.Helper()
	key := mutation.Key{Principal: "local", Tool: "pay", ID: "r1", Upstream: "bank"}
	e, err := f.claims.Look(key)
	if err != nil {
		t.Fatal(err)
	}
	return f.Resolve(context.Background(), key, Settlement{Attempt: e.Attempt, As: as, Reason: "looked"})
}
