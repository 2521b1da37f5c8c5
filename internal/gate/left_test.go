package gate

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// leftOf is what would be written down before a call.
func leftOf(t testing.TB, s *shop, tool, args, approval string) (*course, []byte) {
	t.Helper()
	c := s.call(tool, args, rest{})
	w, _, denied := s.weigh(s.Policy(), &c)
	if denied != nil {
		t.Fatal(denied.Reason)
	}
	w.rec.Attempt, w.approval, w.rec.Approval = "0123456789abcdef", approval, approval
	w.rec.TraceID, w.rec.Effects = "4bf92f3577b34da6a3ce929d0e0e4736", []byte(`{"writes":["/tmp/tea"]}`)
	w.rec.Observed, w.rec.ObservedRule = "deny", "watched"
	return w, w.left(&c, 77)
}

func TestLeftIsReadAsItWasWritten(t *testing.T) {
	for _, tool := range []string{"save", "put", "late", "answers", "own", "careful"} {
		s := newShop(t)
		args, approval := `{"text":"t\u00e9a \u2028","request_id":"r1","n":1.50,"z":[null,true]}`, ""
		if tool == "careful" {
			approval = "fedcba9876543210"
		}
		w, left := leftOf(t, s, tool, args, approval)
		if spelt, err := canon.Canonical(left); err != nil || !bytes.Equal(spelt, left) {
			t.Errorf("%s: it is not canonical (%v): %s", tool, err, left)
		}
		r, err := readLeft(left)
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		w.rec.Recovered = true
		if diff := cmp.Diff(*w.rec, r.rec); diff != "" {
			t.Errorf("%s: the record (-written +read):\n%s", tool, diff)
		}
		c := s.call(tool, args, rest{})
		key, keyed := w.key(&c)
		if r.keyed != keyed || keyed && r.key != key || r.offset != 77 || !bytes.Equal(r.args.Bytes(), w.args) {
			t.Errorf("%s: read %+v", tool, r)
		}
		for i, v := range w.terms.Verify {
			got := r.verify[i]
			same := got.Rule == v.Rule && got.Tool == v.Tool && got.For == v.For && got.Expect.Source() == v.Expect.Source() &&
				bytes.Equal(got.Args.AppendCanonical(nil), v.Args.AppendCanonical(nil))
			if !same {
				t.Errorf("%s: rule %+v, want %+v", tool, got, v)
			}
		}
	}
}

// TestLeftThatCannotBeReadStops puts into the latch what no call leaves.
func TestLeftThatCannotBeReadStops(t *testing.T) {
	for _, left := range []string{`{}`, `not JSON`, `{"args":{},"attempt":"a","offset":0,"verify":[]}`, `{"args":{},"attempt":"a","offset":0,"verify":[{"expect":"1 +","for":0,"observe":{},"rule":"r","tool":"read"}]}`} {
		s := newShop(t)
		lane, err := s.Stops.Enter(context.Background(), interlock.Scope{Principal: "local", Server: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if err := lane.Begin([]byte(left)); err != nil {
			t.Fatal(err)
		}
		s.open() // the process died
		s.want("plain", saved, "denied by latch: stopped: an earlier call was cut off before it was verified, and what it left cannot be read…")
		if s.stop() == nil || s.total() != 0 {
			t.Errorf("%s: stop %+v, %d effects", left, s.stop(), s.total())
		}
	}
}

// TestLeftBeyondTheLedger refuses to decide by a ledger that lost records: an operator must look.
func TestLeftBeyondTheLedger(t *testing.T) {
	s := newShop(t)
	lane, err := s.Stops.Enter(context.Background(), interlock.Scope{Principal: "local", Server: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	_, left := leftOf(t, s, "put", saved, "")
	if err := lane.Begin(left); err != nil { // the ledger was at byte 77 then, and is empty
		t.Fatal(err)
	}
	s.open()
	s.want("plain", saved, "denied by latch: stopped: an earlier call was cut off before it was verified, and the ledger has lost records since…")
	stop := s.stop()
	if stop == nil || stop.Tool != "put" || s.total() != 0 {
		t.Fatalf("stop %+v, %d effects", stop, s.total())
	}
	if err := s.Release(context.Background(), *stop, "looked"); err != nil {
		t.Error(err)
	}
	s.want("plain", saved, "ok unchecked")
	s.wantRecords("r1 plain deny not_executed latch", "r1 put allow inconclusive recovered", "missing put allow permitted puts", "r1 plain allow committed")
}

// FuzzReadLeft reads whatever may stand in a latch: what is read has all that a verification needs.
func FuzzReadLeft(f *testing.F) {
	s := newShop(f)
	for _, tool := range []string{"save", "put"} {
		_, left := leftOf(f, s, tool, saved, "")
		f.Add(left)
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"args":"","attempt":"0","offset":0}`))
	f.Fuzz(func(t *testing.T, left []byte) {
		r, err := readLeft(left)
		if err != nil {
			return
		}
		if r.attempt == "" || r.attempt != leftAttempt(left) || len(r.verify) == 0 && r.unclear == nil || !r.args.Exists() {
			t.Errorf("read %+v", r)
		}
		if r.unclear != nil {
			return // by which nothing is looked at
		}
		for _, v := range r.verify {
			r.values()
			if v.Args == nil || v.Expect == nil {
				t.Errorf("a rule lacks what it needs: %+v", v)
			}
		}
		if r.expected() == "" {
			t.Error("no digest")
		}
	})
}

// leave is what a process leaves that died when the slot of a call was durable, and nothing else.
func (s *shop) leave(tool, attempt string) {
	s.t.Helper()
	c := s.call(tool, saved, rest{})
	w, _, _ := s.weigh(s.Policy(), &c)
	w.rec.Attempt = attempt
	lane, err := s.Stops.Enter(context.Background(), c.scope())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := lane.Begin(w.left(&c, 0)); err != nil {
		s.t.Fatal(err)
	}
	s.open()
}

// TestLeftOfAnAttemptThatWasNeverMade clears what stands for a call whose intent never became durable: its key may have been
// used by another attempt.
func TestLeftOfAnAttemptThatWasNeverMade(t *testing.T) {
	s := newShop(t)
	s.want("save", saved, "ok held")
	s.texts, s.looks = map[string]string{}, 0 // a look would find nothing, and stop
	s.leave("save", "0123456789abcdef")
	s.want("plain", `{"request_id":"r2","text":"tea"}`, "ok unchecked")
	if s.looks != 0 || s.stop() != nil {
		t.Errorf("%d looks, stop %+v", s.looks, s.stop())
	}
}

// TestLeftOfACallWithoutAClaim: what is left is all that there is of the call. It may have been sent, so it is recorded at the
// start of the next process, once, and looked at before the next change.
func TestLeftOfACallWithoutAClaim(t *testing.T) {
	for _, done := range []bool{true, false} {
		s := newShop(t)
		if done {
			s.save("r1", "tea")
		}
		s.leave("put", "0123456789abcdef")
		for range 2 {
			if err := s.Recover(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			s.open()
		}
		s.wantRecords("r1 put allow inconclusive recovered")
		if done {
			s.want("plain", `{"request_id":"r2","text":"tea"}`, "ok unchecked")
			s.wantRecords("r1 put allow inconclusive recovered", "r1 put allow observed recovered", "r1 read allow observed", "r2 plain allow committed")
			continue
		}
		s.want("plain", `{"request_id":"r2","text":"tea"}`, "denied by latch: stopped…")
		s.wantRecords("r1 put allow inconclusive recovered", "r1 put allow observed recovered", "r1 read allow observed", "r2 plain deny not_executed latch")
	}
}

// TestLeftIsNotRecordedForTheLiving: another process is at the call, and will record it itself.
func TestLeftIsNotRecordedForTheLiving(t *testing.T) {
	s := newShop(t)
	s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		claims, err := mutation.Open(s.disk, "d", func() (bool, error) { return false, nil })
		if err != nil {
			t.Error(err)
		}
		l, err := ledger.Open(s.disk, "d")
		if err != nil {
			t.Error(err)
		}
		other := New(s.Policy(), l, claims, slog.New(slog.DiscardHandler))
		other.Stops = interlock.OpenStops(s.disk, "d/stops")
		if err := other.Recover(context.Background(), nil); err != nil {
			t.Error(err)
		}
		s.save(text(args, "request_id"), text(args, "text"))
		return s.answerOf(tool, args), nil
	}
	s.want("put", saved, "ok held")
	s.wantRecords("r1 put allow committed", "r1 read allow observed")
}
