package interlock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable/crashfs"
)

// TestStopsAfterACrash goes through the states of the disk that a crash of the machine could leave while a scope is begun in,
// cleared, stopped and released, and through those that a second crash could leave of whatever is done next. What was reported
// as done holds, and no crash leaves what cannot be read: that would need an operator.
func TestStopsAfterACrash(t *testing.T) {
	long, longer := letters(9000), letters(mostFrame+5000)
	left := func(s *Stops) error { return inLane(s, begin(long)) }
	known := map[string]bool{} // what a second crash was looked at after
	for name, test := range map[string]struct {
		earlier func(*Stops) error // before the history that is looked at, by the same process where it lives on
		may     []Standing         // after it
		steps   []step
	}{
		"a new scope": {nil, clearOnly, []step{begin(toPour), stop}},
		"one mutation after the other": {nil, clearOnly, []step{begin(toPour), clears, begin(long), clears, begin(longer), clears,
			begin(toPour), clears}},
		"the next mutation": {func(s *Stops) error { return inLane(s, begin(long), clears) }, clearOrLeft,
			[]step{begin(toPour), clears, begin(long), stop, releases, begin(toPour), clears}},
		"after what was left":    {left, leftOnly, []step{stop, releases, stop}},
		"what was left, cleared": {left, leftOnly, []step{clears, begin(toPour), clears, stop}},
		"a stop without a begin": {nil, clearOnly, []step{stop, releases, begin(long), stop}},
		"a stop for another":     {nil, clearOnly, []step{begin(longer), stop, stop, releases, stop, stop, releases, begin(long), clears}},
		// What a process that was killed wrote is there, and not durable yet.
		"a name":                      {die(1, begin(toPour)), clearOnly, []step{begin(toPour), stop}},
		"half a clear slot":           {die(4, begin(toPour)), clearOnly, []step{begin(toPour), clears}},
		"a clear slot":                {die(5, begin(toPour)), clearOnly, []step{begin(toPour), stop}},
		"a mark and nothing else":     {die(7, begin(toPour)), clearOnly, []step{stop, releases}},
		"what was begun":              {die(8, begin(toPour)), clearOrLeft, []step{clears, begin(toPour), clears}},
		"what was begun, then a stop": {die(8, begin(toPour)), clearOrLeft, []step{stop, releases, begin(toPour)}},
		"the first half of a stop":    {die(11, begin(toPour), stop), leftOrStopped, []step{releases, begin(toPour), stop}},
		"the other half of a stop":    {die(13, begin(toPour), stop), []Standing{Stopped}, []step{releases, begin(toPour), clears}},
		"a stop of a clear scope":     {die(13, begin(toPour), clears, stop), []Standing{Clear, Left, Stopped}, []step{stop, releases}},
		"half a release":              {die(12, stop, releases), clearOrStopped, []step{begin(toPour), clears, stop}},
		"a release":                   {die(14, stop, releases), clearOnly, []step{begin(toPour), clears}},
		"a release, then a stop":      {die(12, stop, releases), clearOrStopped, []step{stop, releases}},
		// Here another process goes on, which had the slot before the one that was killed.
		"another's begin":              {outlive(5, begin(toPour)), clearOrLeft, []step{stop, releases}},
		"another's begin, to be clear": {outlive(5, begin(long)), clearOrLeft, []step{clears, begin(toPour), stop}},
		"another's stop":               {outlive(5, stop), clearOrStopped, []step{releases, begin(toPour), clears}},
		"the other half of another's":  {outlive(7, stop), []Standing{Stopped}, []step{releases, begin(toPour), stop}},
		"another's release":            {outlive(11, stop, releases), clearOrStopped, []step{begin(toPour), clears}},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			s := OpenStops(disk, "stops")
			if test.earlier != nil {
				must(t, test.earlier(s))
				disk.DropLocks()
			}
			h := history{stops: s, disk: disk, may: test.may}
			h.crashes(t, test.steps, func(crash crashfs.Crash, may []Standing) {
				if likeness := likenessOf(crash); known[likeness] {
					return
				} else {
					known[likeness] = true
				}
				steps := nextSteps[standingOf(crash)]
				crash.FS.Settle()
				history{stops: OpenStops(crash.FS, "stops"), disk: crash.FS, may: may, first: crash}.crashes(t, steps, nil)
			})
		})
	}
	if len(known) == 0 {
		t.Errorf("no second crash was looked at")
	}
}

var (
	clearOnly   = []Standing{Clear}
	leftOnly    = []Standing{Left}
	clearOrLeft = []Standing{Clear, Left}

	clearOrStopped = []Standing{Clear, Stopped}
	leftOrStopped  = []Standing{Left, Stopped}
)

func letters(n int) []byte { return []byte(`"` + strings.Repeat("x", n) + `"`) }

// outlive does something with a slot, and then another process dies.
func outlive(after int, steps ...step) func(*Stops) error {
	return func(s *Stops) error {
		if err := inLane(s, begin(toPour), clears); err != nil {
			return err
		}
		return die(after, steps...)(s)
	}
}

// die has another process do the steps, which dies after so many changes to the disk.
func die(after int, steps ...step) func(*Stops) error {
	return func(s *Stops) error {
		disk := s.fsys.(*crashfs.FS)
		s = OpenStops(disk, s.dir)
		l, err := s.Enter(noWait, tea)
		if err != nil {
			return err
		}
		from := disk.Changes()
		disk.FailOn(func(_ crashfs.Op, _ string, changes int) error {
			if changes >= from+after {
				return syscall.EIO
			}
			return nil
		})
		defer disk.FailOn(nil)
		for i, step := range steps {
			err := step.do(s, l)
			if last := i == len(steps)-1; last != errors.Is(err, syscall.EIO) || last && disk.Changes() != from+after {
				return fmt.Errorf("it died in %s, after %d changes: %w", step.name, disk.Changes()-from, err)
			}
		}
		return nil
	}
}

// history is what is done to a disk on which the scope may stand in one of several ways, whatever the disk has forgotten.
type history struct {
	stops *Stops
	disk  *crashfs.FS
	may   []Standing
	first crashfs.Crash // that was before
}

// crashes does the steps, and looks at what crashes before, between and after them would have left.
func (h history) crashes(t *testing.T, steps []step, each func(crashfs.Crash, []Standing)) {
	t.Helper()
	s := h.stops
	from := h.disk.Changes()
	may := map[int][]Standing{from: h.may} // after so many changes: what the scope may be seen as
	lane, err := s.Enter(noWait, tea)
	must(t, err)
	now := h.may
	if h.first.FS != nil { // what is found there is durable
		now = []Standing{lane.standing}
		may[from] = now
	}
	for _, step := range steps {
		before := h.disk.Changes()
		must(t, step.do(s, lane))
		if step.name == releases.name {
			lane, err = s.Enter(noWait, tea)
			must(t, err)
		}
		for n := before; n < h.disk.Changes(); n++ {
			may[n] = slices.Concat(may[n], now, step.after)
		}
		if now = step.after; before == h.disk.Changes() {
			t.Fatalf("%s changed nothing", step.name)
		}
		may[h.disk.Changes()] = now
	}
	states, seen := 0, map[Standing]int{}
	look := func(crash crashfs.Crash) {
		states++
		standing, _, err := OpenStops(crash.FS, "stops").Check(tea)
		if seen[standing]++; !slices.Contains(may[crash.After], standing) {
			t.Errorf("%v: %v: %v, %v; it may stand %v", h.first, crash, standing, err, may[crash.After])
		}
		h.wantLeft(t, crash, standing)
		if each != nil {
			each(crash, may[crash.After])
		}
	}
	times := 10
	if each == nil || raceEnabled {
		times = 2
	}
	for crash := range h.disk.Crashes(from) {
		look(crash)
	}
	for crash := range h.disk.Random(from, times, rand.New(rand.NewPCG(1, uint64(len(steps))))) {
		look(crash)
	}
	if states < 10 || each != nil && len(seen) < 2 {
		t.Errorf("only %d states were looked at: %v", states, seen)
	}
}

// wantLeft finds what some call was begun with, and no mixture.
func (h history) wantLeft(t *testing.T, crash crashfs.Crash, standing Standing) {
	t.Helper()
	l, err := OpenStops(crash.FS, "stops").Enter(noWait, tea)
	must(t, err)
	defer l.Leave()
	found, _, left := l.Found()
	if found != standing {
		t.Errorf("%v: %v: it stands %v, and the lane finds %v", h.first, crash, standing, found)
	}
	if standing == Left && string(left) != string(toPour) && (len(left) < 9000 || string(left) != string(letters(len(left)-2))) {
		t.Errorf("%v: %v: it was left with %.40q", h.first, crash, left)
	}
}

// likenessOf is what counts of a slot for what is done next.
func likenessOf(crash crashfs.Crash) string {
	f, err := crash.FS.Open("stops/" + tea.sum().name())
	if err != nil {
		return err.Error()
	}
	s, err := readSlot(f, tea.sum())
	size, sizeErr := f.Size()
	return fmt.Sprint(s[first].fill, s[first].kind, s[second].fill, s[second].kind, s.holding() == &s[first], size == 0, size > mostFrame, err, sizeErr)
}

func standingOf(crash crashfs.Crash) Standing {
	standing, _, _ := OpenStops(crash.FS, "stops").Check(tea)
	return standing
}

// nextSteps is what may be done after a crash.
var nextSteps = map[Standing][]step{
	Clear:   {begin(toPour), clears, stop, releases},
	Left:    {clears, begin(toPour), stop, releases},
	Stopped: {releases, begin(toPour), clears},
}

type step struct {
	name    string
	becomes Standing
	after   []Standing // how it may stand after a crash that comes later
	do      func(*Stops, *Lane) error
}

var (
	clears   = step{"clear", Clear, clearOrLeft, func(_ *Stops, l *Lane) error { return l.Clear() }}
	stop     = step{"stop", Stopped, []Standing{Stopped}, func(_ *Stops, l *Lane) error { return l.Stop(spilt) }}
	releases = step{"release", Clear, clearOnly, func(s *Stops, l *Lane) error {
		l.Leave()
		return s.Release(noWait, spilt)
	}}
)

func begin(left []byte) step {
	return step{"begin", Left, leftOnly, func(_ *Stops, l *Lane) error { return l.Begin(left) }}
}

func inLane(s *Stops, steps ...step) error {
	for len(steps) > 0 {
		l, err := s.Enter(noWait, tea)
		if err != nil {
			return err
		}
		defer l.Leave()
		for done := false; len(steps) > 0 && !done; steps = steps[1:] {
			if err := steps[0].do(s, l); err != nil {
				return fmt.Errorf("%s: %w", steps[0].name, err)
			}
			done = steps[0].name == releases.name // which left the lane
		}
	}
	return nil
}

// TestReleaseIsDurable finds no stop again after a crash that comes when Release returned, and nothing that cannot be read.
func TestReleaseIsDurable(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		disk := crashfs.New()
		s := OpenStops(disk, "stops")
		must(t, s.Latch(noWait, spilt))
		shown := spilt
		if damaged {
			f, err := disk.Open("stops/" + tea.sum().name())
			must(t, err)
			for _, start := range []int64{0, mostFrame} {
				_, err := f.WriteAt([]byte("x"), start+100)
				must(t, err)
			}
			must(t, f.Sync())
			list, err := s.List()
			must(t, err)
			shown = list[0]
		}
		must(t, s.Release(noWait, shown))
		states := 0
		for crash := range disk.Crashes(disk.Changes()) {
			states++
			if standing, _, err := OpenStops(crash.FS, "stops").Check(tea); standing != Clear {
				t.Errorf("damaged %t: %v: %v, %v", damaged, crash, standing, err)
			}
		}
		if states == 0 || damaged && shown.Slot == "" {
			t.Errorf("%d states were looked at; %+v was released", states, shown)
		}
	}
}

// TestStopsOnAFailingDisk reports nothing as done that was not: Begin leaves the scope clear, or held back; Stop never clear.
func TestStopsOnAFailingDisk(t *testing.T) {
	faults := map[crashfs.Op]int{}
	for _, op := range []crashfs.Op{crashfs.Create, crashfs.SyncDir, crashfs.Write, crashfs.Sync, crashfs.Mark} {
		for _, step := range []step{begin(toPour), stop} {
			for nth, fired := 1, true; fired; nth++ {
				disk := crashfs.New()
				s := OpenStops(disk, "stops")
				l, err := s.Enter(noWait, tea)
				must(t, err)
				fired = failNth(disk, op, nth, func() {
					err = step.do(s, l)
				})
				if fired != errors.Is(err, syscall.EIO) {
					t.Errorf("%s while %s %d fails (%v): %v", step.name, op, nth, fired, err)
				}
				if !fired {
					break
				}
				faults[op]++
				// What failed may be tried again; where it was a stop, the lane cannot be cleared instead.
				if step.name == stop.name && l.Clear() == nil {
					t.Errorf("after a stop that failed (%s %d) the lane was cleared", op, nth)
				}
				must(t, step.do(s, l))
				l.Leave()
				if standing, _, err := s.Check(tea); standing != step.becomes {
					t.Errorf("%s, tried again after %s %d failed: %v, %v", step.name, op, nth, standing, err)
				}
				for crash := range disk.Crashes(disk.Changes()) {
					if standing, _, err := OpenStops(crash.FS, "stops").Check(tea); standing != step.becomes {
						t.Errorf("%s, tried again after %s %d failed, then %v: %v, %v", step.name, op, nth, crash, standing, err)
					}
				}
			}
		}
	}
	if len(faults) != 5 {
		t.Errorf("only these failed: %v", faults)
	}
}

// failNth does something while the nth operation of a kind fails, and reports whether it came to that.
func failNth(disk *crashfs.FS, op crashfs.Op, nth int, do func()) bool {
	fired := 0
	disk.FailOn(func(o crashfs.Op, _ string, _ int) error {
		if o == op {
			if fired++; fired == nth {
				return syscall.EIO
			}
		}
		return nil
	})
	do()
	disk.FailOn(nil)
	return fired >= nth
}

// TestClearingOnAFailingDisk leaves what was there, or what it was to become.
func TestClearingOnAFailingDisk(t *testing.T) {
	for _, test := range []struct {
		before []step
		fails  step
		op     crashfs.Op
		nth    int
		want   Standing
	}{
		{[]step{begin(toPour)}, clears, crashfs.Write, 1, Left},
		{[]step{begin(toPour)}, clears, crashfs.Mark, 1, Clear},
		{[]step{stop}, releases, crashfs.Write, 1, Stopped},
		{[]step{stop}, releases, crashfs.Sync, 2, Clear},
		{[]step{stop}, releases, crashfs.Mark, 1, Clear},
	} {
		disk := crashfs.New()
		s := OpenStops(disk, "stops")
		must(t, inLane(s, test.before...))
		l, err := s.Enter(noWait, tea)
		must(t, err)
		if !failNth(disk, test.op, test.nth, func() { err = test.fails.do(s, l) }) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s, %s %d: %v", test.fails.name, test.op, test.nth, err)
		}
		l.Leave()
		if standing, _, err := s.Check(tea); standing != test.want {
			t.Errorf("after %s failed (%s %d): %v, %v, want %v", test.fails.name, test.op, test.nth, standing, err, test.want)
		}
	}
}

// TestLooksAndClearsSyncNothing changes nothing on the disk to look, and writes to the slot, no more, to clear it.
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
	count("the first begin", map[crashfs.Op]int{crashfs.Create: 1, crashfs.Mark: 1, crashfs.Write: 3, crashfs.Sync: 3, crashfs.SyncDir: 1})
	for range 2 {
		look(Busy)
		must(t, l.Clear())
		look(Clear)
		count("a clear", map[crashfs.Op]int{crashfs.Write: 1, crashfs.Mark: 1})
		must(t, l.Begin(toPour))
		count("the next begin", map[crashfs.Op]int{crashfs.Mark: 1, crashfs.Write: 1, crashfs.Sync: 1})
	}
	must(t, l.Stop(spilt))
	count("a stop", map[crashfs.Op]int{crashfs.Mark: 1, crashfs.Write: 2, crashfs.Sync: 2})
	look(Stopped)
	count("a look at a stop", map[crashfs.Op]int{})
	l.Leave()
	must(t, s.Release(noWait, spilt))
	count("a release", map[crashfs.Op]int{crashfs.Write: 2, crashfs.Sync: 3, crashfs.SyncDir: 1, crashfs.Mark: 1})
}
