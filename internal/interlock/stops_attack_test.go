package interlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/durable"
)

// TestSlotThatCannotBeRead holds its scope back, is shown, and can be released.
func TestSlotThatCannotBeRead(t *testing.T) {
	stop := string(stopFrame(spilt))
	left := string(slotOf(tea, toPour))
	foreign := string(stopFrame(Stop{Scope: Scope{"bob", "tea"}, Time: 1}))
	for name, test := range map[string]struct {
		text  string
		known bool // whose it is can be told
	}{
		"two bytes":           {"xx", false},
		"zeros":               {strings.Repeat("\x00", len(stop)), false},
		"newlines":            {"\n\n", false},
		"half a stop":         {stop[:len(stop)-1], true},
		"half a scope":        {stop[:strings.IndexByte(stop, '\n')+5], false},
		"a head alone":        {stop[:strings.IndexByte(stop, '\n')+1], false},
		"half what was left":  {left[:len(left)-1], true},
		"zeros at the end":    {stop[:len(stop)-2] + "\x00\x00", true},
		"a stop over another": {stop[:90] + left[90:], true},
		"another's stop":      {foreign, false},
		"a changed reason":    {strings.Replace(stop, "empty", "there", 1), true},
		"a changed kind":      {strings.Replace(stop, " stop ", " none ", 1), true},
		"a negative length":   {strings.Replace(left, fmt.Sprint(" ", len(toPour)+len(tea.json())+1, " "), " -1 ", 1), true},
		"an huge length":      {strings.Replace(left, fmt.Sprint(" ", len(toPour)+len(tea.json())+1, " "), " 999999999999 ", 1), true},
		"a later version":     {strings.Replace(stop, "slot 1", "slot 2", 1), true},
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
	dir := t.TempDir()
	s := openStops(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, tea.sum().name()), []byte(strings.Repeat("x", 1<<20)), 0o600))
	must(t, s.Latch(t.Context(), spilt))
	wantStanding(t, s, tea, Stopped)
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

// TestWhatWasLeftIsNotBelievedUnlessWhole holds a scope back whose larger half is gone, or is another.
func TestWhatWasLeftIsNotBelievedUnlessWhole(t *testing.T) {
	large := []byte(strings.Repeat("x", 10<<10))
	for name, spoil := range map[string]func(path string) error{
		"gone":    os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 9<<10) },
		"changed": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("y", 10<<10)), 0o600) },
		"a link": func(path string) error {
			if err := os.Rename(path, path+".away"); err != nil {
				return err
			}
			return os.Symlink(path+".away", path)
		},
	} {
		dir := t.TempDir()
		s := openStops(t, dir)
		l := enter(t, s, tea)
		must(t, l.Begin(large))
		l.Leave()
		must(t, spoil(filepath.Join(dir, tea.sum().name()+apartSuffix)))
		t.Run(name, func(t *testing.T) { wantUnreadable(t, s, true) })
	}
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
