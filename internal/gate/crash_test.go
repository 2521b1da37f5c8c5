package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sallyport/internal/durable/crashfs"
	"sallyport/internal/mutation"
)

// small and large are the answers of upstreams in the crash tests: one that is kept in a line, one in a file of its own.
var small, large = []byte(`{"content":[], "x":1.0,"x":1e400}`), append(bytes.Repeat([]byte(" "), 70_000), `{"content":[]}`...)

// moment is what was so when a call was at some point, in changes made to the disk.
type moment struct{ sent, answered int }

// TestEveryCrashOfAMutation kills the gate, or its machine, after each change to the disk of a mutation at an upstream,
// before and after the upstream's effect, and holds the next process to the promises: the upstream is asked once at most, an
// acknowledged answer comes back to the byte, what nobody can know is inconclusive and stays so, and only a rule that
// says idempotent lets it be sent again.
func TestEveryCrashOfAMutation(t *testing.T) {
	for _, tool := range []string{"pay", "set"} {
		for name, answer := range map[string][]byte{"small": small, "large": large} {
			t.Run(tool+" "+name, func(t *testing.T) { everyCrash(t, tool, answer) })
		}
	}
}

func everyCrash(t *testing.T, tool string, answer []byte) {
	f := newFar(t)
	var m moment
	f.answer = func(context.Context, Call) (Result, error) {
		m.sent = f.disk.Changes()
		return Result{Body: answer, Form: Whole}, nil
	}
	if _, err := f.do(tool, `{"request_id":"r1"}`, rest{}); err != nil {
		t.Fatal(err)
	}
	m.answered = f.disk.Changes()
	states := map[string]int{}
	for crash := range f.disk.Crashes(0) {
		for _, sent := range sentBy(crash, m) {
			states[afterCrash(t, crash, tool, answer, m, sent)]++
		}
	}
	t.Logf("%d changes, the upstream was asked after %d: %v", f.disk.Changes(), m.sent, states)
	for _, state := range []string{"never begun", "replayed", "in doubt"} {
		if states[state] == 0 {
			t.Errorf("no crash left the call %s: nothing was tried", state)
		}
	}
}

// TestEveryCrashOfAFailure is TestEveryCrashOfAMutation for a call that the server answers with a failure: what the ledger says
// of the attempt it says once, and a failure that was recorded is what retries get.
func TestEveryCrashOfAFailure(t *testing.T) {
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) {
		return Result{Body: []byte(`{"content":[],"isError":true}`), Form: Whole, Failed: true}, nil
	}
	if _, err := f.do("pay", `{"request_id":"r1"}`, rest{}); err != nil {
		t.Fatal(err)
	}
	states := map[string]int{}
	for crash := range f.disk.Crashes(0) {
		disk, err := copyOf(crash)
		if err != nil {
			t.Fatal(err)
		}
		next := &far{t: t, disk: disk, policy: forwardPolicy}
		next.open()
		if err := next.Recover(context.Background(), nil); err != nil {
			t.Errorf("%v: Recover: %v", crash, err)
		}
		said := ""
		for _, record := range next.records() {
			words := strings.Fields(record)
			switch {
			case words[1] != "pay": // of a torn end
			case said == "" || said == words[3]:
				said = words[3]
			default:
				t.Errorf("%v: the ledger says %s, and then %s", crash, said, words[3])
			}
		}
		states[said]++
		if _, err := next.do("pay", `{"request_id":"r1"}`, rest{}); said == "failed" && (err != nil || next.effects.Load() != 0) {
			t.Errorf("%v: the retry of a failure that is on record: %v, %d effects", crash, err, next.effects.Load())
		}
	}
	for _, said := range []string{"", "inconclusive", "failed"} {
		if states[said] == 0 {
			t.Errorf("no crash left the ledger saying %q: %v", said, states)
		}
	}
}

// sentBy says whether the upstream had been asked when the crash came: at one moment it may or may not have been.
func sentBy(crash crashfs.Crash, m moment) []bool {
	switch {
	case crash.After < m.sent:
		return []bool{false}
	case crash.After == m.sent:
		return []bool{false, true}
	}
	return []bool{true}
}

// afterCrash is the next process. It returns in what state the crash left the call.
func afterCrash(t *testing.T, crash crashfs.Crash, tool string, answer []byte, m moment, sent bool) string {
	t.Helper()
	when := fmt.Sprintf("%v, sent %v", crash, sent)
	disk, err := copyOf(crash)
	if err != nil {
		t.Fatal(err)
	}
	f := &far{t: t, disk: disk, policy: forwardPolicy}
	if err := f.tryOpen(); err != nil {
		t.Errorf("%s: start: %v", when, err)
		return ""
	}
	if sent {
		f.effects.Store(1)
	}
	f.answer = func(context.Context, Call) (Result, error) { return Result{Body: answer, Form: Whole}, nil }
	if err := f.Recover(context.Background(), nil); err != nil {
		t.Errorf("%s: Recover: %v", when, err)
	}
	before := f.effects.Load()
	first, firstErr := f.do(tool, `{"request_id":"r1"}`, rest{})
	second, secondErr := f.do(tool, `{"request_id":"r1"}`, rest{})
	asked := f.effects.Load() - before
	state := "in doubt"
	switch {
	case firstErr == nil && asked == 0:
		state = "replayed"
	case firstErr == nil && tool == "pay":
		state = "never begun"
	case firstErr == nil:
		if !intended(crash) {
			state = "never begun"
		}
	}
	switch {
	case f.effects.Load() > 1 && (tool == "pay" || state != "in doubt"):
		t.Errorf("%s: %d effects, and the call was %s", when, f.effects.Load(), state)
	case asked > 1:
		t.Errorf("%s: a retry was sent %d times", when, asked)
	case crash.After >= m.answered && state != "replayed":
		t.Errorf("%s: it was acknowledged, and is %s: %v", when, state, firstErr)
	case firstErr == nil && (!bytes.Equal(first.Body, answer) || first.Form != Whole):
		t.Errorf("%s: the answer came back changed", when)
	case (firstErr == nil) != (secondErr == nil) || !bytes.Equal(first.Body, second.Body):
		t.Errorf("%s: first %v, then %v: it did not stay what it was", when, firstErr, secondErr)
	case firstErr != nil && (tool == "set" || !errors.Is(firstErr, errInconclusive) && !errors.Is(firstErr, errAnswered)):
		t.Errorf("%s: %v", when, firstErr)
	}
	checkRecords(t, when, f, state, tool == "set" && state == "in doubt")
	return state
}

// copyOf makes the state of a crash once more, for tests that change it.
func copyOf(crash crashfs.Crash) (*crashfs.FS, error) {
	disk := crashfs.New()
	for _, dir := range []string{"d", "d/" + mutation.BlobDir, "d/stops", "d/approvals"} {
		names, err := crash.FS.Names(dir)
		if err != nil {
			continue
		}
		if err := disk.OwnDir(dir); err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := crash.FS.ReadFile(dir + "/" + name)
			if err != nil {
				return nil, err
			}
			to, err := disk.Create(dir + "/" + name)
			if err != nil {
				return nil, err
			}
			if _, err := to.WriteAt(text, 0); err != nil {
				return nil, err
			}
			if err := to.SyncAll(); err != nil {
				return nil, err
			}
		}
		if err := disk.SyncDir(dir); err != nil {
			return nil, err
		}
	}
	return disk, nil
}

// intended reports whether a crash left an intent.
func intended(crash crashfs.Crash) bool {
	found, err := mutation.Find(crash.FS, "d", "r1")
	if err != nil { // a torn line is none
		text, _ := crash.FS.ReadFile("d/" + mutation.FileName)
		return strings.Count(string(text), "\n") > 1
	}
	return len(found) == 1
}

// checkRecords holds the ledger to its promise: whole, and one record at most that says committed, unless a rule let the call
// be sent twice.
func checkRecords(t *testing.T, when string, f *far, state string, twice bool) {
	t.Helper()
	committed, inconclusive := 0, 0
	for _, record := range f.records() {
		switch {
		case strings.Contains(record, " committed"):
			committed++
		case strings.Contains(record, " inconclusive"):
			inconclusive++
		}
	}
	switch {
	case committed > 1 && !twice, state != "in doubt" && committed != 1:
		t.Errorf("%s: %d records say committed, and the call was %s", when, committed, state)
	case state == "in doubt" && inconclusive == 0 && committed == 0: // the record of an outcome may outlive it
		t.Errorf("%s: no record says that it was inconclusive", when)
	}
}

// TestKilledThenPowerLoss kills the gate after each change, lets another one answer a retry, and then takes the power away:
// what the second took over from the first, and acknowledged, must have been made durable by it.
func TestKilledThenPowerLoss(t *testing.T) {
	errKilled := errors.New("killed")
	for kill, died := 0, true; died; kill++ {
		f := &far{t: t, disk: crashfs.New(), policy: forwardPolicy}
		f.disk.OwnDir("d")
		died = false
		f.disk.FailOn(func(_ crashfs.Op, _ string, changes int) error {
			if changes >= kill {
				died = true
				return errKilled
			}
			return nil
		})
		f.answer = func(context.Context, Call) (Result, error) { return Result{Body: large, Form: Whole}, nil }
		if f.tryOpen() == nil {
			f.do("pay", `{"request_id":"r1"}`, rest{})
		}
		f.disk.FailOn(nil)
		f.open()
		first, err := f.do("pay", `{"request_id":"r1"}`, rest{})
		if f.effects.Load() > 1 {
			t.Fatalf("killed after change %d: %d effects", kill, f.effects.Load())
		}
		at := f.disk.Changes()
		for crash := range f.disk.Crashes(at) {
			next := &far{t: t, disk: crash.FS, policy: forwardPolicy}
			next.open()
			second, again := next.do("pay", `{"request_id":"r1"}`, rest{})
			if next.effects.Load() != 0 || (err == nil) != (again == nil) || !bytes.Equal(first.Body, second.Body) {
				t.Errorf("killed after change %d, then %v: %d effects more; %v, then %v", kill, crash, next.effects.Load(), err, again)
			}
		}
	}
}

// TestNoIntentNoDispatch fails each write and sync of a mutation in turn: the upstream is asked only behind a durable
// intent, and never again.
func TestNoIntentNoDispatch(t *testing.T) {
	for fail, fired := 0, true; fired; fail++ {
		f := newFar(t)
		fired = false
		start, asked := f.disk.Changes(), -1
		f.disk.FailOn(func(op crashfs.Op, _ string, changes int) error {
			if changes-start == fail && !fired {
				fired = true
				return errors.New("the disk")
			}
			return nil
		})
		f.answer = func(context.Context, Call) (Result, error) {
			asked = f.disk.Changes() - start
			return Result{Body: small, Form: Whole}, nil
		}
		_, err := f.do("pay", `{"request_id":"r1"}`, rest{})
		f.disk.FailOn(nil)
		if fired == (err == nil) {
			t.Errorf("the fault at change %d fired: %v, and the call: %v", fail, fired, err)
		}
		if asked >= 0 {
			if text, err := f.disk.ReadFile("d/" + mutation.FileName); err != nil || !strings.Contains(string(text), " I ") {
				t.Errorf("change %d: the upstream was asked without an intent", fail)
			}
		}
		f.open()
		f.do("pay", `{"request_id":"r1"}`, rest{})
		if got := f.effects.Load(); got > 1 {
			t.Errorf("the fault at change %d: %d effects", fail, got)
		}
	}
}
