package interlock

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable/crashfs"
)

// TestStopsAfterACrash goes through every state of the disk that a crash of the machine could leave while a scope is begun
// in, cleared, stopped and released. What was reported as done holds: after Begin the scope is never clear until Clear was
// called, after Stop never until Release was.
func TestStopsAfterACrash(t *testing.T) {
	long := []byte(`"` + strings.Repeat("x", 9000) + `"`)
	for name, test := range map[string]struct {
		earlier func(s *Stops) error // before the history that is looked at
		steps   []step
	}{
		"a new scope": {nil, []step{begin(toPour), stop}},
		"the next mutation": {func(s *Stops) error { return inLane(s, begin(long), clears) },
			[]step{begin(toPour), clears, begin(long), stop, releases, begin(toPour), clears}},
		"after what was left":    {func(s *Stops) error { return inLane(s, begin(long)) }, []step{stop, releases, stop}},
		"a stop without a begin": {nil, []step{stop, releases, begin(long), stop}},
		"a name that is not durable": {func(s *Stops) error {
			l, err := s.Enter(noWait, tea)
			if err != nil {
				return err
			}
			defer l.Leave()
			return l.open() // and it dies before it did more
		}, []step{begin(toPour), stop}},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			if test.earlier != nil {
				must(t, test.earlier(OpenStops(disk, "stops")))
				disk.DropLocks()
			}
			crashAt(t, disk, test.steps)
		})
	}
}

// crashAt does the steps, and looks at what every crash before, between and after them would have left.
func crashAt(t *testing.T, disk *crashfs.FS, steps []step) {
	t.Helper()
	s := OpenStops(disk, "stops")
	holds := map[int][]Standing{} // after so many changes: what the scope may be seen as
	from := disk.Changes()
	lane, err := s.Enter(noWait, tea)
	must(t, err)
	now, _, _ := lane.Found()
	for i, step := range steps {
		before := disk.Changes()
		must(t, step.do(s, lane))
		if step.name == releases.name {
			lane, err = s.Enter(noWait, tea)
			must(t, err)
		}
		for n := before; n < disk.Changes(); n++ {
			holds[n] = append(holds[n], now, step.becomes)
		}
		holds[disk.Changes()] = []Standing{step.becomes}
		now = step.becomes
		if i == 0 && before == from && disk.Changes() == before {
			t.Fatal("the first step changed nothing")
		}
	}
	states := 0
	for crash := range disk.Crashes(from) {
		may, ok := holds[crash.After]
		if !ok {
			continue
		}
		states++
		standing, _, err := OpenStops(crash.FS, "stops").Check(tea)
		if !allowed(standing, may) {
			t.Errorf("%v: %v, %v; it may stand %v", crash, standing, err, may)
		}
	}
	if states < 10 {
		t.Errorf("only %d states were looked at", states)
	}
}

// allowed reports whether a crash may leave a scope so. It may always leave what lets nothing pass; only what may be clear
// may be found clear.
func allowed(standing Standing, may []Standing) bool {
	if standing != Clear {
		return standing != Busy // nobody lives
	}
	for _, m := range may {
		if m == Clear {
			return true
		}
	}
	return false
}

type step struct {
	name    string
	becomes Standing
	do      func(*Stops, *Lane) error
}

var (
	clears   = step{"clear", Clear, func(_ *Stops, l *Lane) error { return l.Clear() }}
	stop     = step{"stop", Stopped, func(_ *Stops, l *Lane) error { return l.Stop(spilt) }}
	releases = step{"release", Clear, func(s *Stops, l *Lane) error {
		l.Leave()
		return s.Release(noWait, spilt)
	}}
)

func begin(left []byte) step {
	return step{"begin", Left, func(_ *Stops, l *Lane) error { return l.Begin(left) }}
}

func inLane(s *Stops, steps ...step) error {
	l, err := s.Enter(noWait, tea)
	if err != nil {
		return err
	}
	defer l.Leave()
	for _, step := range steps {
		if err := step.do(s, l); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// TestReleaseIsDurable finds no stop again after a crash that comes when Release returned.
func TestReleaseIsDurable(t *testing.T) {
	disk := crashfs.New()
	s := OpenStops(disk, "stops")
	must(t, s.Latch(noWait, spilt))
	must(t, s.Release(noWait, spilt))
	states := 0
	for crash := range disk.Crashes(disk.Changes()) {
		states++
		if standing, _, err := OpenStops(crash.FS, "stops").Check(tea); standing != Clear {
			t.Errorf("%v: %v, %v", crash, standing, err)
		}
	}
	if states == 0 {
		t.Error("no state was looked at")
	}
}

// TestStopsOnAFailingDisk reports nothing as done that was not: Begin leaves the scope clear, or held back; Stop never clear.
func TestStopsOnAFailingDisk(t *testing.T) {
	for _, test := range []struct {
		op  crashfs.Op
		nth int
	}{{crashfs.Create, 1}, {crashfs.SyncDir, 1}, {crashfs.Write, 1}, {crashfs.Sync, 1}} {
		for _, step := range []step{begin(toPour), stop} {
			disk := crashfs.New()
			s := OpenStops(disk, "stops")
			l, err := s.Enter(noWait, tea)
			must(t, err)
			fired := 0
			disk.FailOn(func(op crashfs.Op, _ string, _ int) error {
				if op == test.op {
					if fired++; fired == test.nth {
						return syscall.EIO
					}
				}
				return nil
			})
			if err := step.do(s, l); !errors.Is(err, syscall.EIO) || fired == 0 {
				t.Errorf("%s while %s fails: %v, after %d faults", step.name, test.op, err, fired)
			}
			// What failed may be tried again; where it was a stop, the lane cannot be cleared instead.
			if step.name == stop.name && l.Clear() == nil {
				t.Errorf("after a stop that failed (%s) the lane was cleared", test.op)
			}
			must(t, step.do(s, l))
			l.Leave()
			if standing, _, err := s.Check(tea); standing != step.becomes {
				t.Errorf("%s, tried again after %s failed: %v, %v", step.name, test.op, standing, err)
			}
		}
	}
}

// TestClearingOnAFailingDisk leaves what was there.
func TestClearingOnAFailingDisk(t *testing.T) {
	for _, test := range []struct {
		before []step
		fails  step
		want   Standing
	}{{[]step{begin(toPour)}, clears, Left}, {[]step{stop}, releases, Stopped}} {
		disk := crashfs.New()
		s := OpenStops(disk, "stops")
		must(t, inLane(s, test.before...))
		l, err := s.Enter(noWait, tea)
		must(t, err)
		fired := 0
		disk.FailOn(func(op crashfs.Op, _ string, _ int) error {
			if op == crashfs.Truncate {
				fired++
				return syscall.EIO
			}
			return nil
		})
		if err := test.fails.do(s, l); !errors.Is(err, syscall.EIO) || fired == 0 {
			t.Errorf("%s: %v, after %d faults", test.fails.name, err, fired)
		}
		l.Leave()
		if standing, _, err := s.Check(tea); standing != test.want {
			t.Errorf("after %s failed: %v, %v, want %v", test.fails.name, standing, err, test.want)
		}
	}
}

// TestLooksAndClearsSyncNothing changes nothing on the disk to look, and cuts the slot, no more, to clear it.
func TestLooksAndClearsSyncNothing(t *testing.T) {
	disk := crashfs.New()
	s := OpenStops(disk, "stops")
	l, err := s.Enter(noWait, tea)
	must(t, err)
	ops := map[crashfs.Op]int{}
	disk.FailOn(func(op crashfs.Op, _ string, _ int) error { ops[op]++; return nil })
	look := func(want Standing) {
		t.Helper()
		if standing, _, err := s.Check(tea); standing != want {
			t.Errorf("%v, %v, want %v", standing, err, want)
		}
	}
	count := func(what string, want map[crashfs.Op]int) {
		t.Helper()
		if diff := cmp.Diff(want, ops); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		clear(ops)
	}
	look(Clear)
	count("a look at nothing", map[crashfs.Op]int{})
	must(t, l.Begin(toPour))
	count("the first begin", map[crashfs.Op]int{crashfs.Create: 1, crashfs.Write: 1, crashfs.Sync: 1, crashfs.SyncDir: 1})
	look(Busy)
	must(t, l.Clear())
	look(Clear)
	count("a clear", map[crashfs.Op]int{crashfs.Truncate: 1})
	must(t, l.Begin(toPour))
	count("the next begin", map[crashfs.Op]int{crashfs.Write: 1, crashfs.Sync: 1})
	must(t, l.Stop(spilt))
	count("a stop", map[crashfs.Op]int{crashfs.Write: 1, crashfs.Sync: 1})
	look(Stopped)
	count("a look at a stop", map[crashfs.Op]int{})
}
