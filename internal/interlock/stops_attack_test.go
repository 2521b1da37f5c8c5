package interlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

// TestSlotThatCannotBeRead holds its scope back, is shown, and can be released.
func TestSlotThatCannotBeRead(t *testing.T) {
	stop := string(stopFrame(spilt))
	left := string(slotOf(tea, toPour))
	clear := string(appendFrame(1, cleared, tea, nil))
	foreign := string(stopFrame(Stop{Scope: Scope{"bob", "tea"}, Time: 1}))
	for name, test := range map[string]struct {
		text  string
		known bool // whose it is can be told
	}{
		"two bytes":           {"xx", false},
		"newlines":            {"\n\n", false},
		"half a stop":         {stop[:len(stop)-1], true},
		"half a scope":        {stop[:strings.IndexByte(stop, '\n')+5], false},
		"a head alone":        {stop[:strings.IndexByte(stop, '\n')+1], false},
		"half what was left":  {left[:len(left)-1], true},
		"zeros at the end":    {stop[:len(stop)-2] + "\x00\x00", true},
		"a stop over another": {stop[:90] + left[90:], true},
		"another's stop":      {foreign, false},
		"a changed reason":    {strings.Replace(stop, "empty", "there", 1), true},
		"another kind":        {strings.Replace(stop, " stop ", " none ", 1), true},
		"pending, not clear":  {strings.Replace(left, " pending ", " clear ", 1), true},
		"another number":      {strings.Replace(stop, "slot 2 1", "slot 2 9", 1), true},
		"a number too many":   {string(appendFrame(mostSeq+1, cleared, tea, nil)), true},
		"a clear with a body": {string(appendFrame(1, cleared, tea, toPour)), true},
		"two of one number":   {both(stop, clear), true},
		"both torn":           {both(stop[:len(stop)-1], clear[:len(clear)-1]), true},
		"one torn, one not":   {both("x", ""), false},
		"no frame but behind": {both("", "x"), false},
		"a negative length":   {strings.Replace(left, fmt.Sprint(" ", len(toPour)+len(tea.json())+1, " "), " -1 ", 1), true},
		"an huge length":      {strings.Replace(left, fmt.Sprint(" ", len(toPour)+len(tea.json())+1, " "), " 999999999999 ", 1), true},
		"a later version":     {strings.Replace(stop, "slot 2", "slot 3", 1), true},
		"an earlier version":  {strings.Replace(stop, "slot 2 1", "slot 1", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStops(t, dir)
			must(t, os.WriteFile(filepath.Join(dir, tea.sum().name()), []byte(test.text), 0o600))
			wantUnreadable(t, s, test.known)
		})
	}
	t.Run("a symbolic link", func(t *testing.T) {
		dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
		must(t, os.WriteFile(victim, nil, 0o600)) // empty: it would look clear
		must(t, os.Symlink(victim, filepath.Join(dir, tea.sum().name())))
		wantUnreadable(t, openStops(t, dir), false)
		if text, err := os.ReadFile(victim); err != nil || len(text) > 0 {
			t.Errorf("the file behind the link has %q, %v", text, err)
		}
	})
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, tea.sum().name()), 0o700))
		wantUnreadable(t, openStops(t, dir), false)
	})
}

// both is a slot with something in both blocks.
func both(one, two string) string { return one + strings.Repeat("\x00", mostFrame-len(one)) + two }

// TestSlotThatIsClear is what nothing was ever held back in, or what a crash left of a begin that had not returned.
func TestSlotThatIsClear(t *testing.T) {
	clear, left := string(appendFrame(1, cleared, tea, nil)), string(appendFrame(2, pending, tea, toPour))
	for name, text := range map[string]string{
		"nothing":                      "",
		"a byte":                       "s",
		"zeros":                        strings.Repeat("\x00", 300),
		"zeros in both":                both("", strings.Repeat("\x00", pageSize)),
		"a clear frame":                clear,
		"a clear frame behind":         both("", clear),
		"a clear frame before what":    clear + "follows",
		"half of a begin":              both(clear, left[:len(left)-1]),
		"a begin without its head":     both(clear, "\x00"+left[1:]),
		"a begin of an earlier number": both(string(appendFrame(3, cleared, tea, nil)), left),
		"half of a first frame":        "\x00" + clear[1:40],
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, tea.sum().name()), []byte(text), 0o600))
		s := openStops(t, dir)
		if standing, _, err := s.Check(tea); standing != Clear || err != nil {
			t.Errorf("%s: %v, %v", name, standing, err)
			continue
		}
		for _, step := range []step{begin(toPour), clears, stop, releases} {
			if err := inLane(s, step); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if standing, _, err := openStops(t, dir).Check(tea); standing != step.becomes {
				t.Errorf("%s: after %s it stands %v, %v", name, step.name, standing, err)
			}
		}
	}
}

// TestLookBetweenTwoWrites looks at a scope while it is stopped: its first block is read before, or after, both were written to.
func TestLookBetweenTwoWrites(t *testing.T) {
	disk := crashfs.New()
	must(t, inLane(OpenStops(disk, "stops"), begin(toPour)))
	raced := 0
	s := OpenStops(&racing{FS: disk, between: func(f durable.File) {
		raced++
		_, err := f.WriteAt(appendFrame(3, stopped, tea, stopBody(spilt)), 0)
		must(t, err)
		_, err = f.WriteAt(appendFrame(4, stopped, tea, stopBody(spilt))[:200], mostFrame)
		must(t, err)
	}}, "stops")
	if standing, _, err := s.Check(tea); standing != Stopped && standing != Left || raced == 0 {
		t.Errorf("%v, %v, after %d races", standing, err, raced)
	}
}

// racing has something happen after each first read of a file.
type racing struct {
	durable.FS
	between func(durable.File)
}

func (r *racing) OpenRead(name string) (durable.File, error) {
	f, err := r.FS.OpenRead(name)
	return &racingFile{f, r, false}, err
}

type racingFile struct {
	durable.File
	fsys *racing
	read bool
}

func (f *racingFile) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(b, offset)
	if !f.read {
		f.read = true
		f.fsys.between(f.File)
	}
	return n, err
}

func wantUnreadable(t *testing.T, s *Stops, known bool) {
	t.Helper()
	wantStanding(t, s, tea, Unknown)
	l := enter(t, s, tea)
	if standing, _, left := l.Found(); standing != Unknown || left != nil || l.Begin(toPour) == nil || l.Clear() == nil {
		t.Errorf("found %v, or it could be begun in or cleared", standing)
	}
	l.Leave()
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Slot != tea.sum().name() || !strings.Contains(list[0].Reason, "cannot be read") {
		t.Fatalf("listed %+v, %v", list, err)
	}
	want := Scope{}
	if known {
		want = tea
	}
	if list[0].Scope != want {
		t.Errorf("it is of %+v, want %+v", list[0].Scope, want)
	}
	must(t, s.Release(t.Context(), list[0]))
	wantStanding(t, s, tea, Clear)
	if err := s.Release(t.Context(), list[0]); !errors.Is(err, ErrNoStop) {
		t.Errorf("released twice: %v", err)
	}
	l = enter(t, s, tea)
	must(t, l.Begin(toPour))
	must(t, l.Clear())
}

// TestStopOverWhatCannotBeRead says what happened, where before nobody could tell.
func TestStopOverWhatCannotBeRead(t *testing.T) {
	clear := string(appendFrame(1, cleared, tea, nil))
	for name, text := range map[string]string{
		"something else":             strings.Repeat("x", 1<<20),
		"two of one number":          both(clear, clear),
		"a number too many":          string(appendFrame(mostSeq+1, cleared, tea, nil)),
		"a number too many, and one": both(string(appendFrame(mostSeq+1, cleared, tea, nil)), clear),
		"one too many behind":        both(clear, string(appendFrame(1<<64-1, pending, tea, nil))),
	} {
		dir := t.TempDir()
		s := openStops(t, dir)
		must(t, os.WriteFile(filepath.Join(dir, tea.sum().name()), []byte(text), 0o600))
		if standing, _, _ := s.Check(tea); standing != Unknown {
			t.Errorf("%s: before it stood %v", name, standing)
		}
		must(t, s.Latch(t.Context(), spilt))
		wantStanding(t, s, tea, Stopped)
		must(t, s.Release(t.Context(), spilt))
		wantStanding(t, s, tea, Clear)
	}
}

// TestNamesOfScopesAreNoPaths keeps every scope's slot in the folder, and apart from all others.
func TestNamesOfScopesAreNoPaths(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "stops")
	s := openStops(t, dir)
	scopes := []Scope{
		{"", ""}, {"a", ""}, {"", "a"}, {"ab", "c"}, {"a", "bc"}, {"../../etc", "passwd"}, {"/", "/"}, {"a\x00b", "\n"}, {"é", "é"},
		{"local", "hook/claude/../../x"}, {`"`, `\`}, {strings.Repeat("a", mostScope), strings.Repeat("\x01", mostScope)}, {"\u2028", "\uffff"},
	}
	for i, scope := range scopes {
		wantStanding(t, s, scope, Clear)
		must(t, s.Latch(t.Context(), Stop{Scope: scope, Time: int64(i + 1), Reason: strings.Repeat("\x01é", 5000)}))
	}
	list, err := s.List()
	if err != nil || len(list) != len(scopes) {
		t.Fatal(len(list), err)
	}
	for i, scope := range scopes {
		if list[i].Scope != scope || list[i].Slot != "" {
			t.Errorf("stop %d is of %+v, want %+v", i, list[i].Scope, scope)
		}
		must(t, s.Release(t.Context(), list[i]))
		wantStanding(t, s, scope, Clear)
	}
	for _, bad := range []Scope{{strings.Repeat("a", mostScope+1), ""}, {"", strings.Repeat("a", mostScope+1)}, {"\xff", ""}, {"", "a\xc3"}} {
		wantStanding(t, s, bad, Unknown)
		if err := s.Latch(t.Context(), Stop{Scope: bad}); err == nil {
			t.Errorf("%.20q was taken", bad)
		}
		if err := s.Release(t.Context(), Stop{Scope: bad}); err == nil {
			t.Errorf("%.20q was released", bad)
		}
	}
	if names, err := durable.OS.Names(parent); err != nil || len(names) != 1 {
		t.Errorf("beside the folder there is %q, %v", names, err)
	}
}

// TestDamagedStop damages one block of a stop after the other, and both: no damage to one uncovers what was there before it.
func TestDamagedStop(t *testing.T) {
	for before, steps := range map[string][]step{
		"never begun":     {stop},
		"begun":           {begin(toPour), stop},
		"cleared":         {begin(toPour), clears, begin(toPour), clears, stop},
		"stopped":         {begin(toPour), stop, stop},
		"released, clear": {stop, releases, stop},
		"released, begun": {stop, releases, begin(toPour), stop},
	} {
		for name, spoil := range map[string]func(b []byte) []byte{
			"zeros":    func(b []byte) []byte { return make([]byte, len(b)) },
			"a letter": func(b []byte) []byte { b[100] ^= 1; return b },
			"the head": func(b []byte) []byte { b[18] ^= 1; return b },
			"half":     func(b []byte) []byte { return append(b[:150:150], make([]byte, len(b)-150)...) },
		} {
			dir := t.TempDir()
			s := openStops(t, dir)
			must(t, inLane(s, steps...))
			path := filepath.Join(dir, tea.sum().name())
			whole, err := os.ReadFile(path)
			must(t, err)
			for _, spoilt := range [][]int{{first}, {second}, {first, second}} {
				text := slices.Clone(whole)
				for _, i := range spoilt {
					start, end := i*mostFrame, min(i*mostFrame+pageSize, len(text))
					copy(text[start:end], spoil(slices.Clone(text[start:end])))
				}
				must(t, os.WriteFile(path, text, 0o600))
				standing, _, _ := openStops(t, dir).Check(tea)
				if want := Stopped; len(spoilt) == 1 && standing != want {
					t.Errorf("%s; %s in %v: %v, want %v", before, name, spoilt, standing, want)
				}
				if want := Unknown; len(spoilt) == 2 && name != "zeros" && standing != want {
					t.Errorf("%s; %s in %v: %v, want %v", before, name, spoilt, standing, want)
				}
			}
			must(t, os.WriteFile(path, whole[:mostFrame+17], 0o600)) // cut
			wantStanding(t, openStops(t, dir), tea, Stopped)
		}
	}
}

// TestStopWithoutItsMark is what a power loss may leave: a slot that holds its scope back, and whose mark is gone. Who looks
// for the first time sees it, and goes on to see it.
func TestStopWithoutItsMark(t *testing.T) {
	for want, steps := range map[Standing][]step{
		Left:    {begin(toPour), clears, begin(toPour)},
		Stopped: {begin(toPour), clears, begin(toPour), stop},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, tea.sum().name())
		must(t, inLane(openStops(t, dir), steps...))
		must(t, os.Chmod(path, 0o600))
		s := openStops(t, dir)
		for range 3 {
			wantStanding(t, s, tea, want)
		}
		list, err := s.List()
		if err != nil || (len(list) == 1) != (want == Stopped) {
			t.Errorf("%v: listed %+v, %v", want, list, err)
		}
		l := enter(t, s, tea)
		if standing, _, _ := l.Found(); standing != want {
			t.Errorf("found %v, want %v", standing, want)
		}
		l.Leave()
	}
}

// TestSlotThatWasReplaced reads another file in the place of one that was clear, though it has no mark: it may be from a backup.
func TestSlotThatWasReplaced(t *testing.T) {
	dir := t.TempDir()
	s := openStops(t, dir)
	must(t, inLane(s, begin(toPour), clears))
	wantStanding(t, s, tea, Clear)
	wantStanding(t, s, tea, Clear)
	path := filepath.Join(dir, tea.sum().name())
	must(t, os.WriteFile(path+".new", stopFrame(spilt), 0o600))
	must(t, os.Rename(path+".new", path))
	wantStanding(t, s, tea, Stopped)
}

// TestReplacedFolder lets nobody into a lane whose locks others do not see, nor believe what others cannot read.
func TestReplacedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stops")
	s := openStops(t, dir)
	l := enter(t, s, tea)
	must(t, os.Remove(filepath.Join(dir, lanesName)))
	if _, err := s.Enter(t.Context(), Scope{"bob", "tea"}); !errors.Is(err, durable.ErrReplaced) {
		t.Errorf("a lane without its locks: %v", err)
	}
	must(t, l.Begin(toPour))
	must(t, l.Clear())
	must(t, os.Remove(filepath.Join(dir, tea.sum().name())))
	if err := l.Begin(toPour); !errors.Is(err, durable.ErrReplaced) {
		t.Errorf("a slot without its name: %v", err)
	}
	if err := l.Stop(spilt); !errors.Is(err, durable.ErrReplaced) {
		t.Errorf("a stop that nobody sees: %v", err)
	}
}

// TestStopsInAFolderOfSomebodyElse neither believes nor writes what others could change.
func TestStopsInAFolderOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	linked := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(t.TempDir(), linked))
	for _, dir := range []string{dir, linked} {
		s := openStops(t, dir)
		wantStanding(t, s, tea, Unknown)
		if _, err := s.Enter(t.Context(), tea); err == nil {
			t.Error("a lane was taken there")
		}
		if _, err := s.List(); err == nil {
			t.Error("it was listed")
		}
	}
}
