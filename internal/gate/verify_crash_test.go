package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
)

// TestEveryCrashOfAVerifiedCall kills the gate, or its machine, after each change to the disk of a verified call, before and
// after the server's effect, for honest servers and lying ones. The next process must not carry out the effect twice, must
// not let another change pass before what was left is looked at, and must not lose a stop that a caller saw.
func TestEveryCrashOfAVerifiedCall(t *testing.T) {
	for _, tool := range []string{"save", "put", "own", "ownput", "steady"} {
		for _, honest := range []bool{true, false} {
			for _, retry := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s honest=%v retry=%v", tool, honest, retry), func(t *testing.T) {
					everyVerifiedCrash(t, tool, honest, retry)
				})
			}
		}
	}
}

func everyVerifiedCrash(t *testing.T, tool string, honest, retry bool) {
	s := newShop(t)
	var m moment
	s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		m.sent = s.disk.Changes()
		written := text(args, "text")
		if !honest {
			written = "coffee"
		}
		s.save(text(args, "request_id"), written)
		return s.answerOf(tool, args), nil
	}
	want := map[bool]string{true: "ok held", false: "ok differed"}[honest]
	s.want(tool, saved, want)
	m.answered = s.disk.Changes()
	seen := map[string]int{}
	for crash := range s.disk.Crashes(0) {
		for _, sent := range sentBy(crash, m) {
			seen[s.afterVerifiedCrash(crash, tool, honest, retry, sent, crash.After >= m.answered)]++
		}
	}
	t.Logf("%d changes, sent after %d, answered after %d: %v", s.disk.Changes(), m.sent, m.answered, seen)
	wanted := []string{"looked first"}
	if !honest {
		wanted = []string{"stopped after a look", "stopped before"}
	}
	if !retry {
		wanted = append(wanted, "went on")
	}
	for _, state := range wanted {
		if seen[state] == 0 {
			t.Errorf("no crash had the next call %s: nothing was tried", state)
		}
	}
}

// afterVerifiedCrash is the next process. It returns what became of the next change there.
func (s *shop) afterVerifiedCrash(crash crashfs.Crash, tool string, honest, retry, sent, answered bool) string {
	t := s.t
	when := fmt.Sprintf("%v, sent %v", crash, sent)
	disk, err := copyOf(crash)
	if err != nil {
		t.Fatal(err)
	}
	n := &shop{far: &far{t: t, disk: disk, policy: s.policy}, texts: map[string]string{}, done: map[string]int{}}
	if sent {
		n.copyWorld(s)
	}
	if err := n.tryOpen(); err != nil {
		t.Errorf("%s: start: %v", when, err)
		return ""
	}
	if answered && (n.stop() == nil) != honest {
		t.Errorf("%s: the caller was told, and the stop is %+v", when, n.stop())
	}
	if err := n.Recover(context.Background(), []*Tool{n.tool("own")}); err != nil {
		t.Errorf("%s: Recover: %v", when, err)
	}
	// One of our own that was cut off is settled by looking at the world, where nothing else in its scope may have been.
	if sent && tool != "own" && !slices.ContainsFunc(n.records(), func(line string) bool { return strings.HasPrefix(line, "r1 "+tool+" allow ") }) {
		t.Errorf("%s: it was sent, and is not on record: %q", when, n.records())
	}
	before := n.stop()
	if retry {
		n.retried(when, tool, honest, sent)
	}
	next := "plain"
	if strings.HasPrefix(tool, "own") {
		next = "own"
	}
	got := n.says(next, `{"request_id":"r2","text":"tea"}`, rest{})
	state := n.nextState(when, got, before != nil)
	switch {
	case n.done["r1"] > 1 && tool != "steady" && !(retry && strings.HasSuffix(tool, "put")):
		t.Errorf("%s: %d effects", when, n.done["r1"])
	case sent && !honest && !retry && !strings.HasPrefix(state, "stopped"):
		t.Errorf("%s: the server lied, and the next call: %s", when, got)
	case sent && honest && !strings.HasPrefix(got, "ok"):
		t.Errorf("%s: the server was honest, and the next call: %s", when, got)
	}
	n.looksBeforeEffects(when, sent)
	return state
}

// retried sends the call once more, to a server that is honest by now.
func (n *shop) retried(when, tool string, honest, sent bool) {
	before := n.done["r1"]
	got := n.says(tool, saved, rest{})
	if n.done["r1"] > before { // it was carried out now
		if got != "ok held" {
			n.t.Errorf("%s: carried out by the retry: %s", when, got)
		}
		return
	}
	switch {
	case strings.HasPrefix(got, "ok") && got != map[bool]string{true: "ok held", false: "ok differed"}[honest]:
		n.t.Errorf("%s: the replay does not say what was seen: %s", when, got)
	case strings.HasPrefix(got, "error: the gate could not do its work"):
		n.t.Errorf("%s: the retry could have been looked into first: %s", when, got)
	case !strings.HasPrefix(got, "ok") && sent && honest && !strings.HasPrefix(got, "error: no answer came, but what is there"):
		n.t.Errorf("%s: the server was honest, and the retry: %s", when, got)
	}
}

// nextState is what became of the change after a crash.
func (n *shop) nextState(when, got string, stopped bool) string {
	looked := slices.Contains(n.order, "look r1")
	switch {
	case strings.HasPrefix(got, "denied by latch: stopped") && stopped:
		return "stopped before"
	case strings.HasPrefix(got, "denied by latch: stopped"):
		return "stopped after a look"
	case !strings.HasPrefix(got, "ok"):
		n.t.Errorf("%s: the next call: %s", when, got)
	case looked:
		return "looked first"
	}
	return "went on"
}

// looksBeforeEffects checks that no change was made before what was left of the first one was looked at, here or before the
// crash.
func (n *shop) looksBeforeEffects(when string, sent bool) {
	if !sent {
		return
	}
	for _, step := range n.order {
		if step == "look r1" {
			return
		}
		if step == "effect r2" {
			break
		}
	}
	if !slices.Contains(n.order, "effect r2") {
		return
	}
	for _, line := range n.verdicts() {
		if strings.HasSuffix(line, " CONTINUE") {
			return
		}
	}
	n.t.Errorf("%s: %q, and nothing on record: a change was made before the one before was looked at", when, n.order)
}

// TestKilledVerifiedCallThenPowerLoss kills the gate after each change, lets the next one go on, and then takes the power
// away: a server that lied is found out, and stays so.
func TestKilledVerifiedCallThenPowerLoss(t *testing.T) {
	errKilled := errors.New("killed")
	for _, tool := range []string{"save", "put"} {
		stops, kill := 0, 0
		for died := true; died; kill++ {
			s := newShop(t)
			start := s.disk.Changes()
			died = false
			s.disk.FailOn(func(_ crashfs.Op, _ string, changes int) error {
				if changes-start >= kill {
					died = true
					return errKilled
				}
				return nil
			})
			s.act = liars["does something else"]
			s.says(tool, saved, rest{})
			s.disk.FailOn(nil)
			s.act = nil
			s.open()
			sent := s.done["r1"] == 1
			got := s.says("plain", `{"request_id":"r2","text":"tea"}`, rest{})
			if sent != strings.HasPrefix(got, "denied by latch: stopped") && sent {
				t.Errorf("%s killed after change %d: %s", tool, kill, got)
			}
			if sent {
				stops++
			}
			at := s.disk.Changes()
			for crash := range s.disk.Crashes(at) {
				next := &shop{far: &far{t: t, disk: crash.FS, policy: s.policy}, texts: map[string]string{}, done: map[string]int{}}
				next.copyWorld(s)
				next.open()
				if got := next.says("plain", `{"request_id":"r3","text":"tea"}`, rest{}); sent && !strings.HasPrefix(got, "denied by latch") {
					t.Errorf("%s killed after change %d, then %v: %s", tool, kill, crash, got)
				}
			}
		}
		if stops == 0 || kill < 5 {
			t.Errorf("%s: %d kills, %d of them after the server lied", tool, kill, stops)
		}
	}
}

// TestFaultsOfAVerifiedCall fails each operation on the disk in turn: nothing is sent without what the next one needs to
// verify it, and a lie never passes as verified.
func TestFaultsOfAVerifiedCall(t *testing.T) {
	for _, tool := range []string{"save", "put", "own"} {
		for _, honest := range []bool{true, false} {
			for fail, fired := 0, true; fired; fail++ {
				s := newShop(t)
				mended := s.failAt(fail, false)
				if !honest {
					s.act = liars["does something else"]
				}
				got := s.says(tool, saved, rest{})
				fired = mended() != ""
				if !honest && got == "ok held" {
					t.Errorf("%s, fault at change %d: a lie passed", tool, fail)
				}
				sent := s.done["r1"] > 0
				s.act = nil
				s.open()
				next := strings.NewReplacer("save", "plain", "put", "plain").Replace(tool)
				after := s.says(next, `{"request_id":"r2","text":"tea"}`, rest{})
				switch {
				case sent && !honest && strings.HasPrefix(after, "ok"):
					t.Errorf("%s, fault at change %d: the server lied, then %s", tool, fail, after)
				case sent && honest && !strings.HasPrefix(after, "ok"):
					t.Errorf("%s, fault at change %d: the server was honest, then %s", tool, fail, after)
				case s.done["r1"] > 1:
					t.Errorf("%s, fault at change %d: %d effects", tool, fail, s.done["r1"])
				}
			}
		}
	}
}

// TestNothingIsSentWithoutRoomForItsRecord: where nothing is written to the ledger's disk before a call, and its record after it,
// there must be room for that before.
func TestNothingIsSentWithoutRoomForItsRecord(t *testing.T) {
	for _, tool := range []string{"put", "ownput"} {
		s := newShop(t)
		s.disk.Leave(60_000)
		s.want(tool, saved, "error: the disk is full: free some space, then retry (nothing was done)")
		if s.total() != 0 || s.stop() != nil {
			t.Errorf("%s: %d effects, stop %+v", tool, s.total(), s.stop())
		}
		s.disk.Leave(1 << 20)
		s.want(tool, saved, "ok held")
	}
}

// TestNothingIsSentWithoutWhatIsLeft fails each operation on the latch's files before the call: nothing is sent, and the key
// is free.
func TestNothingIsSentWithoutWhatIsLeft(t *testing.T) {
	for _, tool := range []string{"save", "put", "own"} {
		refused := 0
		for fail, fired := 0, true; fired; fail++ {
			s := newShop(t)
			fired = false
			n, sent := 0, false
			s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
				sent = true
				s.save(text(args, "request_id"), text(args, "text"))
				return s.answerOf(tool, args), nil
			}
			s.disk.FailOn(func(_ crashfs.Op, name string, _ int) error {
				if !strings.Contains(name, "stops") || sent {
					return nil
				}
				if n++; n-1 == fail {
					fired = true
					return errors.New("the disk")
				}
				return nil
			})
			got := s.says(tool, saved, rest{})
			s.disk.FailOn(nil)
			if fired && (sent || strings.HasPrefix(got, "ok")) {
				t.Errorf("%s, fault %d on the latch: %s, and it was sent", tool, fail, got)
			}
			if fired {
				refused++
				s.open()
				s.want(tool, `{"request_id":"r1","text":"other"}`, "ok held")
			}
		}
		if refused < 3 {
			t.Errorf("%s: %d faults, nothing was tried", tool, refused)
		}
	}
}
