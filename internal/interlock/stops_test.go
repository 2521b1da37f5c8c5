package interlock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
)

var (
	tea    = Scope{"alice", "tea"}
	spilt  = Stop{Scope: tea, Tool: "pour", Rule: "verify-pour", Reason: "the cup is empty", Attempt: "0123456789abcdef", Time: 1_800_000_000_000_000_000}
	toPour = []byte(`{"cup":1}`)
)

func openStops(t *testing.T, dir string) *Stops {
	t.Helper()
	s := OpenStops(durable.OS, dir)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func enter(t *testing.T, s *Stops, scope Scope) *Lane {
	t.Helper()
	l, err := s.Enter(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Leave)
	return l
}

func wantStanding(t *testing.T, s *Stops, scope Scope, want Standing) *Stop {
	t.Helper()
	got, stop, err := s.Check(scope)
	if got != want || (err != nil) != (want == Unknown) || (stop != nil) != (want == Stopped) {
		t.Errorf("%+v stands %v, %v, %v, want %v", scope, got, stop, err, want)
	}
	return stop
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLaneOfOneMutation follows a scope through a mutation that is verified and one that is not, as another process sees it.
func TestLaneOfOneMutation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stops")
	ours, theirs := openStops(t, dir), openStops(t, dir)
	other := Scope{"alice", ""}
	wantStanding(t, theirs, tea, Clear)
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a look made the folder: %v", err)
	}
	l := enter(t, ours, tea)
	if standing, stop, left := l.Found(); standing != Clear || stop != nil || left != nil {
		t.Errorf("found %v, %v, %q", standing, stop, left)
	}
	wantStanding(t, theirs, tea, Clear)
	must(t, l.Begin(toPour))
	for _, s := range []*Stops{ours, theirs} {
		wantStanding(t, s, tea, Busy)
		wantStanding(t, s, other, Clear)
	}
	must(t, l.Clear())
	wantStanding(t, theirs, tea, Clear)
	must(t, l.Begin(toPour))
	wantStanding(t, theirs, tea, Busy)
	must(t, l.Stop(spilt))
	l.Leave()
	l.Leave() // twice does no harm
	for _, s := range []*Stops{ours, theirs} {
		if diff := cmp.Diff(&spilt, wantStanding(t, s, tea, Stopped)); diff != "" {
			t.Error(diff)
		}
		wantStanding(t, s, other, Clear)
	}
	l = enter(t, theirs, tea)
	if standing, stop, _ := l.Found(); standing != Stopped || stop == nil || *stop != spilt {
		t.Errorf("found %v, %v", standing, stop)
	}
	if l.Begin(toPour) == nil || l.Clear() == nil {
		t.Error("a stopped scope was begun in, or cleared")
	}
}

// TestLeftLane hands what was begun to whoever comes next, who may clear it or stop for it.
func TestLeftLane(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := openStops(t, dir), openStops(t, dir)
	for _, end := range []Standing{Clear, Stopped} {
		l := enter(t, ours, tea)
		must(t, l.Begin(toPour))
		l.Leave()
		wantStanding(t, theirs, tea, Left)
		l = enter(t, theirs, tea)
		wantStanding(t, ours, tea, Left) // until it was looked at, whoever is about to
		standing, stop, left := l.Found()
		if standing != Left || stop != nil || string(left) != string(toPour) {
			t.Errorf("found %v, %v, %q", standing, stop, left)
		}
		if l.Begin(toPour) == nil {
			t.Error("what was left was written over")
		}
		if end == Stopped {
			must(t, l.Stop(spilt))
		} else {
			must(t, l.Clear())
		}
		l.Leave()
		wantStanding(t, ours, tea, end)
	}
}

// TestSurvey tells the stops and what was left in one look, and nothing of the living, whose lanes it leaves alone.
func TestSurvey(t *testing.T) {
	dir := t.TempDir()
	disk := &written{FS: durable.OS}
	s, others := OpenStops(disk, dir), openStops(t, dir)
	scope := func(name string) Scope { return Scope{Principal: "local\n\x1b[2J", Server: name} }
	for _, name := range []string{"left", "left too", "taken"} {
		l := enter(t, others, scope(name))
		must(t, l.Begin([]byte(`"`+name+`"`)))
		l.Leave()
	}
	defer enter(t, others, scope("taken")).Leave() // by whoever is about to look
	enter(t, others, scope("idle"))
	busy := enter(t, others, scope("busy"))
	must(t, busy.Begin(toPour))
	stop := spilt
	stop.Scope, stop.Record = scope("stopped"), `{"name":"pour"}`
	must(t, others.Latch(t.Context(), stop))
	l := enter(t, others, scope("clear"))
	must(t, l.Begin(toPour))
	must(t, l.Clear())
	l.Leave()
	l = enter(t, others, scope("damaged"))
	must(t, l.Begin(toPour))
	l.Leave()
	damaged := scope("damaged").sum().name()
	must(t, os.WriteFile(filepath.Join(dir, damaged), []byte("nonsense"), 0o600))
	before := everyFile(t, dir)

	survey := func() (stops []Stop, left []string) {
		stops, err := s.Survey(func(of Scope, what []byte) {
			if string(what) != `"`+of.Server+`"` || of != scope(of.Server) {
				t.Errorf("%q was left in %+v", what, of)
			}
			left = append(left, of.Server)
		})
		must(t, err)
		slices.Sort(left)
		return stops, left
	}
	stops, left := survey()
	if got := disk.looks.Load(); got != 7 {
		t.Errorf("7 slots were opened %d times: what is looked at twice may have gone from one list to the other", got)
	}
	if want := []string{"left", "left too", "taken"}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
	if len(stops) != 2 || stops[0].Slot != damaged || stops[1] != stop {
		t.Errorf("the stops are %+v, want that of the damaged slot and %+v", stops, stop)
	}
	if list, err := s.List(); err != nil || !slices.Equal(list, stops) {
		t.Errorf("List has %+v, %v, want %+v", list, err, stops)
	}
	if diff := cmp.Diff(before, everyFile(t, dir)); diff != "" || disk.changes.Load() != 0 {
		t.Errorf("looking made %d changes (-before +after):\n%s", disk.changes.Load(), diff)
	}
	must(t, busy.Clear())
	if _, left := survey(); len(left) != 3 {
		t.Errorf("after the living one had ended %q are left, want 3", left)
	}
	busy.Leave()
	if _, left, err := surveyed(openStops(t, filepath.Join(dir, "none"))); len(left) != 0 || err != nil {
		t.Errorf("where nothing ever was %q is left, %v", left, err)
	}
}

// surveyed is what Survey finds, each scope by its server.
func surveyed(s *Stops) (stops []Stop, left []string, err error) {
	stops, err = s.Survey(func(of Scope, _ []byte) { left = append(left, of.Server) })
	return stops, left, err
}

// written counts what would change a disk, and the looks that would not.
type written struct {
	durable.FS
	changes, looks atomic.Int32
}

func (w *written) OpenRead(name string) (durable.File, error) {
	w.looks.Add(1)
	return w.FS.OpenRead(name)
}

func (w *written) OwnDir(dir string) error { w.changes.Add(1); return w.FS.OwnDir(dir) }

func (w *written) Open(name string) (durable.File, error) { w.changes.Add(1); return w.FS.Open(name) }

func (w *written) Create(name string) (durable.File, error) {
	w.changes.Add(1)
	return w.FS.Create(name)
}

func (w *written) Remove(name string) error { w.changes.Add(1); return w.FS.Remove(name) }

// everyFile is what there is in a folder, by name.
func everyFile(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
		info, err := entry.Info()
		must(t, err)
		found[entry.Name()] = info.Mode().String() + " " + info.ModTime().String() + " " + string(text)
	}
	return found
}

// TestRelease clears the stop that was looked at, and no other.
func TestRelease(t *testing.T) {
	dir := t.TempDir()
	s := openStops(t, dir)
	other := spilt
	other.Scope.Server, other.Time = "coffee", spilt.Time-1
	if list, err := s.List(); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	must(t, s.Latch(t.Context(), spilt))
	must(t, s.Latch(t.Context(), other))
	later := spilt
	later.Reason, later.Time = "again", spilt.Time+1
	must(t, s.Latch(t.Context(), later)) // the first one is what an operator has to look at
	list, err := s.List()
	if diff := cmp.Diff([]Stop{other, spilt}, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, wrong := range []Stop{later, {Scope: tea}, {Scope: Scope{"bob", "tea"}, Time: spilt.Time, Attempt: spilt.Attempt}, {Slot: tea.sum().name()}, {Slot: "../stops"}} {
		if err := s.Release(t.Context(), wrong); !errors.Is(err, ErrNoStop) {
			t.Errorf("releasing %+v: %v, want ErrNoStop", wrong, err)
		}
	}
	wantStanding(t, s, tea, Stopped)
	must(t, s.Release(t.Context(), spilt))
	wantStanding(t, s, tea, Clear)
	wantStanding(t, s, other.Scope, Stopped)
	if err := s.Release(t.Context(), spilt); !errors.Is(err, ErrNoStop) {
		t.Errorf("released twice: %v", err)
	}
	l := enter(t, s, tea)
	must(t, l.Begin(toPour))
	must(t, l.Clear())
}

// TestBeginKeepsUpToAMebibyte hands over whatever may be begun with, and takes not a byte more.
func TestBeginKeepsUpToAMebibyte(t *testing.T) {
	s := openStops(t, t.TempDir())
	l := enter(t, s, tea)
	if l.Begin(make([]byte, MostLeft+1)) == nil {
		t.Error("too much was taken")
	}
	wantStanding(t, s, tea, Clear)
	for _, size := range []int{MostLeft, 0, pageSize - 200, pageSize, 1, 100 << 10, MostLeft, mostFrame} {
		want := strings.Repeat("x", size)
		must(t, l.Begin([]byte(want)))
		l.Leave()
		l = enter(t, s, tea)
		if standing, _, left := l.Found(); standing != Left || string(left) != want {
			t.Errorf("%d bytes were left, %v, want %d", len(left), standing, size)
		}
		must(t, l.Clear())
	}
}

// TestSlotKeepsItsSize: a file that grows or shrinks has its size synced, which takes far longer.
func TestSlotKeepsItsSize(t *testing.T) {
	dir := t.TempDir()
	s := openStops(t, dir)
	sizes := map[int64]int{}
	for i := range 20 {
		l := enter(t, s, tea)
		must(t, l.Begin([]byte(strings.Repeat("x", i*150))))
		if i%5 == 4 {
			must(t, l.Stop(spilt))
			l.Leave()
			must(t, s.Release(t.Context(), spilt))
		}
		for _, end := range []func() error{l.Clear, func() error { l.Leave(); return nil }} {
			if i%5 != 4 {
				must(t, end())
			}
			info, err := os.Lstat(filepath.Join(dir, tea.sum().name()))
			must(t, err)
			sizes[info.Size()]++
		}
	}
	if len(sizes) != 1 {
		t.Errorf("it had the sizes %v", sizes)
	}
}

// TestMarkOfASlot is there while something is held back, and no longer: then a look does without opening the file.
func TestMarkOfASlot(t *testing.T) {
	fsys := &counted{FS: durable.OS}
	dir := t.TempDir()
	s := OpenStops(fsys, dir)
	defer s.Close()
	look := func(want Standing, opened int64) {
		t.Helper()
		file, err := fsys.Look(filepath.Join(dir, tea.sum().name()))
		if marked := want != Clear; err != nil || file.Exists && file.Marked != marked {
			t.Errorf("it looks like %+v, %v, and stands %v", file, err, want)
		}
		before := fsys.opened.Load()
		wantStanding(t, s, tea, want)
		if got := fsys.opened.Load() - before; got != opened {
			t.Errorf("%v: it was opened %d times, want %d", want, got, opened)
		}
	}
	look(Clear, 0)
	l := enter(t, s, tea)
	must(t, l.Begin(toPour))
	look(Busy, 1)
	must(t, l.Clear())
	look(Clear, 1) // the first time that it is clear
	for range 3 {
		look(Clear, 0)
		must(t, l.Begin(toPour))
		look(Busy, 1)
		must(t, l.Clear())
	}
	look(Clear, 0)
	must(t, l.Stop(spilt))
	look(Stopped, 1)
	l.Leave()
	must(t, s.Release(t.Context(), spilt))
	look(Clear, 0)
}

// TestForgettingScopesIsReadingThemAgain looks at more scopes than are remembered.
func TestForgettingScopesIsReadingThemAgain(t *testing.T) {
	fsys := &counted{FS: durable.OS}
	s := OpenStops(fsys, t.TempDir())
	defer s.Close()
	must(t, inLane(s, begin(toPour), clears))
	wantStanding(t, s, tea, Clear)
	for i := range mostKnown {
		wantStanding(t, s, Scope{"alice", strconv.Itoa(i)}, Clear)
	}
	for _, want := range []int64{1, 0} {
		before := fsys.opened.Load()
		wantStanding(t, s, tea, Clear)
		if got := fsys.opened.Load() - before; got != want {
			t.Errorf("it was opened %d times, want %d", got, want)
		}
	}
}

// TestEnterIsFair gives the lane to those of a process in the order in which they came, and skips who does not wait any more.
func TestEnterIsFair(t *testing.T) {
	s := openStops(t, t.TempDir())
	first := enter(t, s, tea)
	order := make(chan int, 6)
	var all sync.WaitGroup
	come := func(ctx context.Context, i int) {
		before := s.queued()
		all.Go(func() {
			l, err := s.Enter(ctx, tea)
			if err != nil {
				order <- -i
				return
			}
			order <- i
			l.Leave()
		})
		for s.queued() == before {
			time.Sleep(time.Millisecond)
		}
	}
	come(t.Context(), 1)
	impatient, cancel := context.WithCancel(t.Context())
	come(impatient, 2)
	come(t.Context(), 3)
	cancel()
	if got := <-order; got != -2 {
		t.Errorf("%d was first, want the one who went away", got)
	}
	come(t.Context(), 4)
	first.Leave()
	all.Wait()
	for _, want := range []int{1, 3, 4} {
		if got := <-order; got != want {
			t.Errorf("%d had the lane, want %d", got, want)
		}
	}
	if n := s.queued(); n != -1 {
		t.Errorf("there is still a queue, of %d", n)
	}
}

// queued is how many wait in this process for the lane of tea; -1 where nobody has it.
func (s *Stops) queued() int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	waiting, taken := s.queues.waiting[tea.sum()]
	if !taken {
		return -1
	}
	return len(waiting)
}

// TestEnterEndsWithItsContext waits for nobody who has the lane for longer than ctx.
func TestEnterEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := openStops(t, dir), openStops(t, dir)
	l := enter(t, ours, tea)
	for name, s := range map[string]*Stops{"of this process": ours, "of another": theirs} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		began := time.Now()
		if _, err := s.Enter(ctx, tea); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		cancel()
		if _, err := s.Enter(ctx, Scope{"alice", "free"}); err == nil {
			t.Errorf("%s: a lane was taken for nobody", name)
		}
	}
	l.Leave()
	enter(t, theirs, tea).Leave()
	enter(t, ours, tea).Leave()
}

// TestLaneIsOnes has many, of one process and of several, at one scope: never two at once, and everyone comes to it.
func TestLaneIsOnes(t *testing.T) {
	dir := t.TempDir()
	var inside, entered atomic.Int32
	var all sync.WaitGroup
	for range 3 {
		s := openStops(t, dir) // as processes have
		for range 4 {
			all.Go(func() {
				for range 10 {
					l, err := s.Enter(t.Context(), tea)
					if err != nil {
						t.Error(err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two have the lane")
					}
					entered.Add(1)
					if err := l.Begin(toPour); err != nil {
						t.Error(err)
					}
					if standing, _, err := s.Check(tea); standing != Busy {
						t.Errorf("while somebody is at it the scope stands %v, %v", standing, err)
					}
					if err := l.Clear(); err != nil {
						t.Error(err)
					}
					inside.Add(-1)
					l.Leave()
				}
			})
		}
	}
	all.Wait()
	if n := entered.Load(); n != 120 {
		t.Errorf("%d entered, want 120", n)
	}
}

// TestCheckWhileOthersWrite looks at a scope without a pause while it is begun in, cleared, stopped and released: a look
// sees one of these, never something that cannot be read, and never Left.
func TestCheckWhileOthersWrite(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := openStops(t, dir), openStops(t, dir)
	done := make(chan struct{})
	var all sync.WaitGroup
	seen := [Clear + 1]atomic.Int64{}
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				standing, _, err := theirs.Check(tea)
				if err != nil || standing == Left {
					t.Errorf("%v, %v", standing, err)
					return
				}
				seen[standing].Add(1)
			}
		})
	}
	large := []byte(strings.Repeat("x", 100<<10))
	for i := range 100 {
		l := enter(t, ours, tea)
		must(t, l.Begin(large[:len(large)/(i%7+1)]))
		time.Sleep(100 * time.Microsecond)
		if i%3 == 0 {
			stop := spilt
			stop.Time = int64(i + 1)
			must(t, l.Stop(stop))
			l.Leave()
			must(t, ours.Release(t.Context(), stop))
			continue
		}
		must(t, l.Clear())
		l.Leave()
	}
	close(done)
	all.Wait()
	for _, standing := range []Standing{Busy, Clear} {
		if seen[standing].Load() == 0 {
			t.Errorf("nobody saw it %v", standing)
		}
	}
}
