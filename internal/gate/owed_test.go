package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// next is what the next process makes of a disk, with the world as it was.
func (s *shop) next(disk *crashfs.FS) *shop {
	s.t.Helper()
	n := &shop{far: &far{t: s.t, disk: disk, policy: s.policy}, texts: map[string]string{}, done: map[string]int{}}
	n.copyWorld(s)
	n.open()
	n.recover()
	return n
}

func (s *shop) recover() {
	s.t.Helper()
	if err := s.Recover(context.Background(), []*Tool{s.tool("own")}); err != nil {
		s.t.Errorf("Recover: %v", err)
	}
}

// recordsOf counts the records of a request and a tool that say what became of the call: not those of looks after a crash.
func (s *shop) recordsOf(request, tool string) (n int) {
	s.t.Helper()
	for _, line := range s.records() {
		if strings.HasPrefix(line, request+" "+tool+" allow ") && !strings.Contains(line, " observed") {
			n++
		}
	}
	return n
}

// failing fails what is written to the files of a name until it is mended.
func (s *shop) failing(part string) (mend func()) {
	s.disk.FailOn(func(op crashfs.Op, name string, _ int) error {
		if op == crashfs.Write && strings.Contains(name, part) {
			return errors.New("no quota left")
		}
		return nil
	})
	return func() { s.disk.FailOn(nil) }
}

// TestStopKeepsWhatTheLedgerCannotTake: a liar's call is carried out, and then nothing can be recorded. The stop that follows must
// not be all that is left of the call: its record comes at the next start, or before an operator's release.
func TestStopKeepsWhatTheLedgerCannotTake(t *testing.T) {
	for _, tool := range []string{"save", "put", "ownput"} {
		for _, restart := range []bool{false, true} {
			s, got := owing(t, tool)
			want := "do not send it again; it is recorded when this is mended"
			if tool == "save" {
				want = "it was done but could not be recorded"
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %q in it", tool, got, want)
			}
			if stop := s.stop(); stop == nil || stop.Record == "" {
				t.Fatalf("%s: the stop is %+v", tool, stop)
			}
			if restart {
				s.open()
				s.recover()
				if n := s.recordsOf("r1", tool); n != 1 {
					t.Errorf("%s: %d records after the restart: %q", tool, n, s.records())
				}
				if stop := s.stop(); stop == nil || stop.Record != "" {
					t.Errorf("%s: what is on record is still kept: %+v", tool, stop)
				}
				s.open()
				s.recover()
			}
			next, fine := "plain", "ok unchecked"
			if strings.HasPrefix(tool, "own") {
				next, fine = "own", "ok held"
			}
			s.want(next, `{"request_id":"r2","text":"tea"}`, "denied by latch: stopped…")
			stop := s.stop()
			release := func() error { return s.Release(context.Background(), *stop, "looked") }
			if stop.Record != "" {
				mend := s.failing(ledger.FileName)
				if err := release(); err == nil || s.stop() == nil {
					t.Errorf("%s: released without a record: %v", tool, err)
				}
				mend()
			}
			if err := release(); err != nil || s.stop() != nil {
				t.Errorf("%s: release: %v, stop %+v", tool, err, s.stop())
			}
			if tool == "save" { // whose claim has the record
				s.want(tool, saved, "ok differed")
			}
			if n := s.recordsOf("r1", tool); n != 1 && tool != "save" {
				t.Errorf("%s: %d records after the release: %q", tool, n, s.records())
			}
			if n := strings.Count(strings.Join(s.verdicts(), "\n"), " STOP"); n != 1 {
				t.Errorf("%s: %d verdicts on record: %q", tool, n, s.verdicts())
			}
			s.want(next, `{"request_id":"r3","text":"tea"}`, fine)
		}
	}
}

// owing is a shop whose liar's call could not be recorded, and what its caller heard.
func owing(t *testing.T, tool string) (s *shop, heard string) {
	t.Helper()
	s = newShop(t)
	s.want("plain", `{"request_id":"r0","text":"tea"}`, "ok unchecked")
	s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		s.save(text(args, "request_id"), "coffee")
		s.failing(ledger.FileName)
		return s.answerOf(tool, args), nil
	}
	heard = s.says(tool, saved, rest{})
	s.disk.FailOn(nil)
	s.act = nil
	return s, heard
}

// TestEveryCrashOfPayingOff takes the power away, or kills the process, at each change that a start or a release makes where a stop
// keeps a record: the record is in the ledger once, before the stop is gone, and the stop stays what it was.
func TestEveryCrashOfPayingOff(t *testing.T) {
	for _, release := range []bool{false, true} {
		s, _ := owing(t, "put")
		was := *s.stop()
		at := s.disk.Changes()
		if release {
			if err := s.Release(context.Background(), was, "looked"); err != nil {
				t.Fatal(err)
			}
		} else {
			s.open()
			s.recover()
		}
		was.Record = ""
		states, gone := 0, 0
		for crash := range s.disk.Crashes(at) {
			states++
			disk, err := copyOf(crash)
			if err != nil {
				t.Fatal(err)
			}
			n := s.next(disk)
			if n.recordsOf("r1", "put") != 1 {
				t.Errorf("%v: on record %q", crash, n.records())
			}
			stop := n.stop()
			if stop == nil {
				gone++
				continue
			}
			if *stop != was {
				t.Errorf("%v: the stop is %+v, want %+v", crash, *stop, was)
			}
			if err := n.Release(context.Background(), *stop, "looked"); err != nil {
				t.Errorf("%v: %v", crash, err)
			}
		}
		if states < 20 || (gone > 0) != release {
			t.Errorf("release %v: %d states, %d without the stop", release, states, gone)
		}
	}
}

// TestFaultsOfPayingOff fails each operation of the same, alone and with all that follow: the stop stays, and the next try succeeds.
func TestFaultsOfPayingOff(t *testing.T) {
	for _, release := range []bool{false, true} {
		for _, allAfter := range []bool{false, true} {
			for fail, fired := 0, true; fired; fail++ {
				s, _ := owing(t, "put")
				stop := *s.stop()
				mended := s.failAt(fail, allAfter)
				try := func() error { return s.Recover(context.Background(), nil) }
				if release {
					try = func() error { return s.Release(context.Background(), stop, "looked") }
				}
				err := try()
				fired = mended() != ""
				when := fmt.Sprintf("release %v, fault %d, all after it %v: %v", release, fail, allAfter, err)
				s.open() // a sync that failed wants a new process
				now := s.stop()
				switch {
				case now == nil && !release:
					t.Errorf("%s: the stop is gone", when)
				case now == nil:
				case now.Slot != "":
					t.Errorf("%s: the stop cannot be read: %+v", when, now)
				default:
					if err := s.Release(context.Background(), *now, "looked"); err != nil {
						t.Errorf("%s: again: %v", when, err)
					}
				}
				if n := s.recordsOf("r1", "put"); n != 1 {
					t.Errorf("%s: %d records: %q", when, n, s.records())
				}
			}
		}
	}
}

// TestWhatIsOwedOfOneScopeKeepsNoOther: what was left in one scope is beyond a ledger that lost records; the stop of another pays.
func TestWhatIsOwedOfOneScopeKeepsNoOther(t *testing.T) {
	s, _ := owing(t, "put")
	c := s.call("put", `{"request_id":"r9","text":"tea"}`, rest{principal: "other"})
	w, _, _ := s.weigh(s.Policy(), &c)
	w.rec.Attempt = "0123456789abcdef"
	lane, err := s.Stops.Enter(context.Background(), c.scope())
	if err != nil {
		t.Fatal(err)
	}
	if err := lane.Begin(w.left(&c, 1<<40)); err != nil {
		t.Fatal(err)
	}
	s.open()
	if err := s.Recover(context.Background(), nil); !errors.Is(err, ledger.ErrRecordsLost) {
		t.Errorf("Recover: %v", err)
	}
	if n := s.recordsOf("r1", "put"); n != 1 {
		t.Errorf("%d records of r1: %q", n, s.records())
	}
}

// TestLookAfterACrashThatCannotBeRecorded: the stop that follows keeps the verdict.
func TestLookAfterACrashThatCannotBeRecorded(t *testing.T) {
	for _, tool := range []string{"put", "save"} {
		s := newShop(t)
		s.act = func(context.Context, *shop, string, canon.Value) (Result, error) {
			s.save("r1", "coffee")
			s.disk.FailOn(func(crashfs.Op, string, int) error { return errors.New("killed") })
			return Result{}, errors.New("killed")
		}
		s.says(tool, saved, rest{})
		s.disk.FailOn(nil)
		s.act = nil
		s.open()
		s.recover()
		mend := s.failing(ledger.FileName)
		s.says("plain", `{"request_id":"r2","text":"tea"}`, rest{})
		mend()
		s.open()
		s.recover()
		if stop := s.stop(); stop == nil || s.recordsOf("r1", tool) != 1 || strings.Count(strings.Join(s.verdicts(), "\n"), tool+" observed STOP") != 1 {
			t.Errorf("%s: the stop is %+v, on record %q", tool, stop, s.verdicts())
		}
	}
}

// TestServersOwnWordThatCannotBeRecorded: what a server says that it did not do, or asks, is not called carried out.
func TestServersOwnWordThatCannotBeRecorded(t *testing.T) {
	for name, r := range map[string]Result{
		"question": {Body: []byte(`{"resultType":"input_required"}`), Form: Whole, Open: true},
		"failed":   {Body: []byte(`{"isError":true}`), Form: Whole, Failed: true},
	} {
		s := newShop(t)
		s.want("put", `{"request_id":"r0","text":"tea"}`, "ok held")
		s.act = func(context.Context, *shop, string, canon.Value) (Result, error) {
			s.failing(ledger.FileName)
			return r, nil
		}
		if got := s.says("put", saved, rest{}); !strings.Contains(got, "it may or may not have been done") {
			t.Errorf("%s: %s", name, got)
		}
		s.disk.FailOn(nil)
	}
}

// TestReleasesAtOnce: of many who release one stop one does, and one record says so.
func TestReleasesAtOnce(t *testing.T) {
	s, _ := owing(t, "put")
	stop := *s.stop()
	var all sync.WaitGroup
	var released atomic.Int32
	for range 8 {
		all.Go(func() {
			switch err := s.Release(context.Background(), stop, "looked"); {
			case err == nil:
				released.Add(1)
			case !errors.Is(err, interlock.ErrNoStop):
				t.Error(err)
			}
		})
	}
	all.Wait()
	records := 0
	for _, line := range s.records() {
		if strings.HasPrefix(line, "missing put allow permitted") {
			records++
		}
	}
	if released.Load() != 1 || records != 1 {
		t.Errorf("%d released it, %d records: %q", released.Load(), records, s.records())
	}
}

// TestKeptRecordFits: a summary of effects that is too long goes before the record does.
func TestKeptRecordFits(t *testing.T) {
	rec := &ledger.Record{Name: "put", Outcome: ledger.Committed, Effects: []byte(`{"writes":["/tmp/x"]}`)}
	if got := keptRecord(rec); got != string(rec.Body()) {
		t.Errorf("kept %s", got)
	}
	rec.Effects = []byte(`{"writes":["` + strings.Repeat("e", mostKept) + `"]}`)
	rec.RequestID, rec.Name, rec.Reason = strings.Repeat("\x00", 2000), strings.Repeat(`"`, 2000), strings.Repeat(`\`, 2000)
	got := keptRecord(rec)
	if spelt := canon.AppendString(nil, got); len(spelt) > interlock.MostRecord {
		t.Errorf("it has %d bytes", len(spelt))
	}
	if v, err := canon.Parse([]byte(got)); err != nil || text(v, "name") == "" || v.Get("effects").Exists() || rec.Effects == nil {
		t.Errorf("kept %.200s, %v", got, err)
	}
}

// TestWhatIsSentIsOnRecordWhateverFails fails each operation on the disk, alone and with all that follow: what was sent is on
// record once, at the latest after the next start, and what was not sent is not said to have been.
func TestWhatIsSentIsOnRecordWhateverFails(t *testing.T) {
	for _, tool := range []string{"put", "ownput"} {
		for _, honest := range []bool{true, false} {
			for _, allAfter := range []bool{false, true} {
				for fail, fired := 0, true; fired; fail++ {
					s := newShop(t)
					mended := s.failAt(fail, allAfter)
					if !honest {
						s.act = liars["does something else"]
					}
					got := s.says(tool, saved, rest{})
					what := mended()
					fired = what != ""
					s.act = nil
					s.open()
					s.recover()
					when := fmt.Sprintf("%s, honest %v, fault %d (%s), all after it %v: heard %s", tool, honest, fail, what, allAfter, got)
					sent, n := s.done["r1"] > 0, s.recordsOf("r1", tool)
					failed := slices.Contains(s.records(), "r1 "+tool+" allow failed")
					// What was not sent is known to be so, unless nothing could be written any more: then it counts as sent.
					if sent && (n != 1 || failed) || n > 1 || !sent && n == 1 && !failed && !allAfter {
						t.Errorf("%s: sent %v, on record %q", when, sent, s.records())
					}
					next := map[bool]string{true: "ownput", false: "plain"}[tool == "ownput"]
					after := s.says(next, `{"request_id":"r2","text":"tea"}`, rest{})
					if held := strings.HasPrefix(after, "denied by latch: stopped"); held != (sent && !honest) && !(held && !sent && n == 1 && !failed) {
						t.Errorf("%s: sent %v, and the next call: %s", when, sent, after)
					}
				}
			}
		}
	}
}

// TestCallThatWasNotBegunStopsNobody: what is left in the lane of a call that could not be begun is known not to have been sent,
// also where the power is lost before it was taken back.
func TestCallThatWasNotBegunStopsNobody(t *testing.T) {
	for _, tool := range []string{"save", "put"} {
		tried := 0
		for _, allAfter := range []bool{false, true} {
			for fail, fired := 0, true; fired; fail++ {
				s := newShop(t)
				s.want(tool, `{"request_id":"r0","text":"tea"}`, "ok held")
				fired = false
				n, sent := 0, false
				s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
					sent = true
					s.save(text(args, "request_id"), text(args, "text"))
					return s.answerOf(tool, args), nil
				}
				s.disk.FailOn(func(_ crashfs.Op, name string, _ int) error {
					if !strings.Contains(name, "stops") || sent || fired && !allAfter {
						return nil
					}
					if n++; n > fail {
						fired = true
						return errors.New("the disk")
					}
					return nil
				})
				got := s.says(tool, saved, rest{})
				s.disk.FailOn(nil)
				if !fired || sent {
					continue
				}
				for crash := range s.disk.Crashes(s.disk.Changes()) {
					disk, err := copyOf(crash)
					if err != nil {
						t.Fatal(err)
					}
					tried++
					if after := s.next(disk).says("plain", `{"request_id":"r2","text":"tea"}`, rest{}); !strings.HasPrefix(after, "ok") {
						t.Errorf("%s, fault %d, all after it %v: heard %s; then, %v: %s", tool, fail, allAfter, got, crash, after)
					}
				}
			}
		}
		if tried < 10 {
			t.Errorf("%s: %d states: nothing was tried", tool, tried)
		}
	}
}

// TestLeftOfARuleThatCannotBeRead is of another release: the call is on record, and is stopped for under its own name. Of its two
// rules one can be read.
func TestLeftOfARuleThatCannotBeRead(t *testing.T) {
	s := newShop(t)
	c := s.call("put", saved, rest{})
	w, _, _ := s.weigh(s.Policy(), &c)
	w.terms.Verify = append(w.terms.Verify, w.terms.Verify[0])
	w.rec.Attempt = "0123456789abcdef"
	lane, err := s.Stops.Enter(context.Background(), c.scope())
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Replace(string(w.left(&c, 0)), "observation.text == args.text", "observation.text.newer(args.text)", 1)
	if err := lane.Begin([]byte(left)); err != nil {
		t.Fatal(err)
	}
	s.save("r1", "tea")
	s.open()
	s.recover()
	s.wantRecords("r1 put allow inconclusive recovered")
	s.want("plain", `{"request_id":"r2","text":"tea"}`, "denied by latch: stopped: an earlier call was cut off before it was verified, and what it left cannot be read…")
	if stop := s.stop(); stop == nil || stop.Tool != "put" || stop.Attempt != "0123456789abcdef" || s.looks != 0 {
		t.Errorf("the stop is %+v, after %d looks", stop, s.looks)
	}
}

// TestLeftOfWhatNeedsNoLook: where the machine dies before a lane is clear again, a record that says that nothing was done, or
// that the server wants something first, is enough to go on by.
func TestLeftOfWhatNeedsNoLook(t *testing.T) {
	for name, act := range map[string]func() (Result, error){
		"failed": func() (Result, error) {
			return Result{Body: []byte(`{"isError":true}`), Form: Whole, Failed: true}, nil
		},
		"question": func() (Result, error) {
			return Result{Body: []byte(`{"resultType":"input_required"}`), Form: Whole, Open: true}, nil
		},
		"not done": func() (Result, error) { return Result{}, &NotDone{errors.New("no pipe")} },
	} {
		s := newShop(t)
		s.want("put", `{"request_id":"r0","text":"tea"}`, "ok held")
		s.act = func(context.Context, *shop, string, canon.Value) (Result, error) { return act() }
		s.says("put", saved, rest{})
		left := 0
		for crash := range s.disk.Crashes(s.disk.Changes()) {
			disk, err := copyOf(crash)
			if err != nil {
				t.Fatal(err)
			}
			n := s.next(disk)
			n.Stops.Survey(func(interlock.Scope, []byte) { left++ })
			got := n.says("plain", `{"request_id":"r2","text":"tea"}`, rest{})
			if got != "ok unchecked" || n.recordsOf("r1", "put") != 1 || n.looks != 0 {
				t.Errorf("%s: %v: %s, after %d looks, %q", name, crash, got, n.looks, n.records())
			}
		}
		if left == 0 {
			t.Errorf("%s: nothing was tried", name)
		}
	}
}

// TestRecoverOnAFullDisk records as long as it goes: the room that calls need is not needed for that.
func TestRecoverOnAFullDisk(t *testing.T) {
	s := newShop(t)
	s.save("r1", "tea")
	s.leave("put", "0123456789abcdef")
	s.disk.Leave(1000)
	s.recover()
	s.wantRecords("r1 put allow inconclusive recovered")
	s = newShop(t)
	s.leave("put", "0123456789abcdef")
	defer s.failing(ledger.FileName)()
	if err := s.Recover(context.Background(), nil); err == nil {
		t.Error("a record that could not be written is no error")
	}
}

// TestOnlyWhatHasNoClaimIsRecordedByItsSlot: an attempt with a key is none before its intent is there.
func TestOnlyWhatHasNoClaimIsRecordedByItsSlot(t *testing.T) {
	s := newShop(t)
	s.want("save", saved, "ok held")
	before := s.records()
	s.leave("save", "0123456789abcdef")
	s.recover()
	s.wantRecords(before...)
}

// TestCallerThatIsGoneBeforeItBegan has nothing done.
func TestCallerThatIsGoneBeforeItBegan(t *testing.T) {
	for _, tool := range []string{"put", "ownput"} {
		s := newShop(t)
		ctx, cancel := context.WithCancel(context.Background())
		c := s.call(tool, saved, rest{})
		observe := c.Observe
		c.Observe = func(ctx context.Context, tool string, args canon.Value) (Call, error) {
			cancel() // while it is seen whether one could look
			return observe(ctx, tool, args)
		}
		if _, err := s.Do(ctx, c); !errors.Is(err, context.Canceled) || s.total() != 0 {
			t.Errorf("%s: %v, %d effects", tool, err, s.total())
		}
		s.wantRecords("r1 " + tool + " allow not_executed")
	}
}

// TestOwnCallOutlivesItsCaller: what a tool of ours has begun it ends.
func TestOwnCallOutlivesItsCaller(t *testing.T) {
	s := newShop(t)
	ctx, cancel := context.WithCancel(context.Background())
	s.act = func(ctx context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		cancel()
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		s.save(text(args, "request_id"), text(args, "text"))
		return s.answerOf(tool, args), nil
	}
	result, err := s.Do(ctx, s.call("ownput", saved, rest{}))
	if got := words(result, err); got != "ok held" {
		t.Error(got)
	}
}

// TestGatesRecordOnce has three gates on one folder start, and call, at the same time: each call that was left is recorded once
// and looked at once.
func TestGatesRecordOnce(t *testing.T) {
	dir := t.TempDir()
	start := func() *shop {
		s := newShop(t)
		claims, err := mutation.Open(durable.OS, dir, func() (bool, error) { return false, nil })
		if err != nil {
			t.Fatal(err)
		}
		l, err := ledger.Open(durable.OS, dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Gate = New(s.Policy(), l, claims, slog.New(slog.DiscardHandler))
		s.Stops = interlock.OpenStops(durable.OS, filepath.Join(dir, "stops"))
		s.save("r1", "tea")
		t.Cleanup(func() { s.Stops.Close(); claims.Close(); l.Close() })
		return s
	}
	first, second, third := start(), start(), start()
	const scopes = 8
	for i := range scopes {
		c := first.call("put", saved, rest{principal: fmt.Sprint(i)})
		w, _, _ := first.weigh(first.Policy(), &c)
		w.rec.Attempt = mutation.NewAttempt()
		lane, err := first.Stops.Enter(context.Background(), c.scope())
		if err != nil {
			t.Fatal(err)
		}
		if err := lane.Begin(w.left(&c, 0)); err != nil {
			t.Fatal(err)
		}
		lane.Leave()
	}
	var all sync.WaitGroup
	for _, s := range []*shop{first, second, third, second} {
		all.Go(s.recover)
	}
	for i := range scopes {
		for n, s := range []*shop{second, third} {
			all.Go(func() {
				if got := s.says("plain", fmt.Sprintf(`{"request_id":"q%d","text":"tea"}`, n), rest{principal: fmt.Sprint(i)}); got != "ok unchecked" {
					t.Errorf("%d: %s", i, got)
				}
			})
		}
	}
	all.Wait()
	outcomes := map[string]map[string]int{"inconclusive": {}, "observed": {}}
	f, err := ledger.Snapshot(filepath.Join(dir, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = ledger.Read(f, func(line canon.Value) error {
		if text(line, "name") == "put" {
			outcomes[text(line, "outcome")][text(line, "attempt")]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for outcome, attempts := range outcomes {
		if len(attempts) != scopes {
			t.Errorf("%d attempts are %s, want %d", len(attempts), outcome, scopes)
		}
		for attempt, n := range attempts {
			if n != 1 {
				t.Errorf("%s is %s %d times", attempt, outcome, n)
			}
		}
	}
}

// TestEveryCrashOfARecovery kills the process that comes after a crash, and its machine, after each change that it makes: at the end
// the call is on record once, and a liar is stopped.
func TestEveryCrashOfARecovery(t *testing.T) {
	for _, honest := range []bool{true, false} {
		s := newShop(t)
		s.want("put", `{"request_id":"r0","text":"tea"}`, "ok held")
		s.leave("put", "0123456789abcdef")
		s.save("r1", map[bool]string{true: "tea", false: "coffee"}[honest])
		at := s.disk.Changes()
		s.recover()
		s.says("plain", `{"request_id":"r2","text":"tea"}`, rest{})
		states := 0
		for crash := range s.disk.Crashes(at) {
			states++
			disk, err := copyOf(crash)
			if err != nil {
				t.Fatal(err)
			}
			n := s.next(disk)
			if got := n.says("plain", `{"request_id":"r3","text":"tea"}`, rest{}); honest != strings.HasPrefix(got, "ok") {
				t.Errorf("%v: honest %v: %s", crash, honest, got)
			}
			if n.recordsOf("r1", "put") != 1 {
				t.Errorf("%v: on record %q", crash, n.records())
			}
		}
		if states < 20 {
			t.Errorf("%d states: nothing was tried", states)
		}
	}
}
