package pretool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// at is when these tests take place: 14:00 in a zone two hours ahead of UTC.
var at = time.Date(2026, 4, 14, 14, 0, 0, 0, time.FixedZone("EET", 2*60*60))

func TestParseTime(t *testing.T) {
	tests := []struct {
		text string
		want string // in UTC; "" is no time
	}{
		{"2026-04-14T14:00:00+02:00", "2026-04-14T12:00:00Z"},
		{"2026-04-14T14:00:00", "2026-04-14T12:00:00Z"},
		{"2026-04-14T14:00:00.250000", "2026-04-14T12:00:00.25Z"},
		{"2026-04-14T14:00:00,5", "2026-04-14T12:00:00.5Z"},
		{"2026-04-14T14:00", "2026-04-14T12:00:00Z"},
		{"2026-04-14T14", "2026-04-14T12:00:00Z"},
		{"2026-04-14 14:00:00", "2026-04-14T12:00:00Z"},
		{" 2026-04-14T14:00:00\n", "2026-04-14T12:00:00Z"},
		{"2026-04-14", "2026-04-13T22:00:00Z"},
		{"20260414T140000", "2026-04-14T12:00:00Z"},
		{"20260414T140000.123-0500", "2026-04-14T19:00:00.123Z"},
		{"2026-04-14T14:00:00Z", "2026-04-14T14:00:00Z"},
		{"2026-04-14t14:00:00z", "2026-04-14T14:00:00Z"},
		{"2026-04-14T14:00:00.123456789Z", "2026-04-14T14:00:00.123456789Z"},
		{"2026-04-14T14:00:00+0530", "2026-04-14T08:30:00Z"},
		{"2026-04-14T14:00:00-08", "2026-04-14T22:00:00Z"},
		{"2026-04-14T14:00-08:00", "2026-04-14T22:00:00Z"},
		{"", ""},
		{"yesterday", ""},
		{"2026-02-30T14:00:00", ""},
		{"2026-04-14T25:00:00", ""},
		{"2026-04-14T14:00:00+99:99", ""},
		{"2026-04-14T14:00:00 CEST", ""},
		{"1776168000", ""},
		{"2026-04-14T" + strings.Repeat("1", 1000), ""},
	}
	for _, test := range tests {
		got, ok := parseTime(test.text, at.Location())
		text := ""
		if ok {
			text = got.UTC().Format(time.RFC3339Nano)
		}
		if text != test.want {
			t.Errorf("parseTime(%.80q) = %q, want %q", test.text, text, test.want)
		}
	}
}

func TestFlagsExpire(t *testing.T) {
	ago := func(d time.Duration) string {
		return `{"created_at":"` + at.Add(-d).UTC().Format(time.RFC3339Nano) + `"}`
	}
	tests := []struct {
		name, flag, text string
		pending, gone    bool
	}{
		{"89 s", taskBreakdown, ago(89 * time.Second), true, false},
		{"just under 90 s", taskBreakdown, ago(90*time.Second - time.Nanosecond), true, false},
		{"90 s", taskBreakdown, ago(90 * time.Second), false, true},
		{"91 s", skillSelection, ago(91 * time.Second), false, true},
		{"a checkpoint of 91 s", checkpoint, ago(91 * time.Second), true, false},
		{"a checkpoint of 60 min", checkpoint, ago(time.Hour), true, false},
		{"a checkpoint of more", checkpoint, ago(time.Hour + time.Nanosecond), false, true},
		{"from the future", taskBreakdown, ago(-1000 * time.Hour), true, false},
		{"naive, of this minute", taskBreakdown, `{"created_at":"2026-04-14T13:59:30"}`, true, false},
		{"naive, read as UTC it would be old", taskBreakdown, `{"created_at":"2026-04-14T13:58:31"}`, true, false},
		{"naive and old", taskBreakdown, `{"created_at":"2026-04-14T13:58:30"}`, false, true},
		{"no time", taskBreakdown, `{}`, true, false},
		{"a bad time", checkpoint, `{"created_at":"soon"}`, true, false},
		{"a number", taskBreakdown, `{"created_at":1}`, true, false},
		{"a list", taskBreakdown, `[]`, false, false},
		{"a checkpoint that is a list", checkpoint, `[]`, true, false},
		{"a key twice", skillSelection, `{"a":1,"a":2}`, false, false},
		{"a checkpoint with a key twice", checkpoint, `{"created_at":"2000-01-01","created_at":"2026-04-14"}`, true, false},
		{"empty", taskBreakdown, ``, false, false},
		{"an empty checkpoint", checkpoint, ``, true, false},
	}
	for _, test := range tests {
		for place := range 2 {
			s := sessionsAt(t.TempDir(), at)
			name := s.flagPlaces("S", test.flag)[place]
			writeFile(t, name, test.text)
			if got := s.flag("S", test.flag).pending; got != test.pending {
				t.Errorf("%s, place %d: pending %t, want %t", test.name, place, got, test.pending)
			}
			if _, err := os.Lstat(name); (err != nil) != test.gone {
				t.Errorf("%s, place %d: deleted %t, want %t", test.name, place, err != nil, test.gone)
			}
		}
	}
}

func sessionsAt(dir string, now time.Time) *Sessions {
	return NewSessions(dir, func(string) string { return "" }, func() time.Time { return now })
}

// TestFlagPlaces has each pair of what can lie in the new and in the legacy place.
func TestFlagPlaces(t *testing.T) {
	const live, old, broken, none = `{"created_at":"2026-04-14T13:59:59"}`, `{"created_at":"2001-01-01T00:00:00"}`, `{`, "none"
	tests := []struct {
		newPlace, legacy  string
		checkpoint, other bool // pending
	}{
		{none, none, false, false},
		{none, live, true, true},
		{none, old, false, false},
		{none, broken, true, false},
		{live, none, true, true},
		{live, broken, true, true},
		{old, none, false, false},
		{old, live, true, true},
		{old, old, false, false},
		{old, broken, true, false},
		{broken, none, true, false},
		{broken, live, true, true},
		{broken, old, true, false},
		{broken, broken, true, false},
	}
	for _, test := range tests {
		for name, want := range map[string]bool{checkpoint: test.checkpoint, taskBreakdown: test.other} {
			s := sessionsAt(t.TempDir(), at)
			for i, text := range []string{test.newPlace, test.legacy} {
				if text != none {
					writeFile(t, s.flagPlaces("S", name)[i], text)
				}
			}
			if got := s.flag("S", name).pending; got != want {
				t.Errorf("%s: %s then %s: pending %t, want %t", name, test.newPlace, test.legacy, got, want)
			}
		}
	}
}

// TestFlagThatIsAFolder neither follows nor deletes it.
func TestFlagThatIsAFolder(t *testing.T) {
	s := sessionsAt(t.TempDir(), at)
	name := s.flagPlaces("S", checkpoint)[0]
	if err := os.MkdirAll(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if !s.flag("S", checkpoint).pending {
		t.Error("a checkpoint that is a folder does not count as pending")
	}
	if cleared, err := s.reset("S", FlagNames); err == nil || len(cleared) > 0 {
		t.Errorf("reset cleared %v, error %v; want none, and an error", cleared, err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Error("the folder was deleted")
	}
}

func TestFlagTooLarge(t *testing.T) {
	s := sessionsAt(t.TempDir(), at)
	name := s.flagPlaces("S", checkpoint)[0]
	writeFile(t, name, "{}")
	if err := os.Truncate(name, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if !s.flag("S", checkpoint).pending {
		t.Error("a checkpoint that is too large does not count as pending")
	}
}

// TestExpiryLeavesANewFlag has somebody set a flag anew between our reading of the old one and its deletion.
func TestExpiryLeavesANewFlag(t *testing.T) {
	s := sessionsAt(t.TempDir(), at)
	name := s.flagPlaces("S", taskBreakdown)[0]
	writeFile(t, name, `{"created_at":"2001-01-01T00:00:00"}`)
	replaced := false
	s.ReadSpy(func(string) {})
	s.disk = replacing{s.disk, func() {
		replaced = true
		if err := s.SetFlag("S", taskBreakdown, "", ""); err != nil {
			t.Error(err)
		}
	}}
	s.flag("S", taskBreakdown)
	if !replaced {
		t.Fatal("the flag was not set anew")
	}
	if _, err := os.Stat(name); err != nil {
		t.Error("the new flag was deleted")
	}
}

// replacing calls replace before each removal.
type replacing struct {
	disk
	replace func()
}

func (r replacing) remove(name string, was os.FileInfo) (bool, error) {
	r.replace()
	return r.disk.remove(name, was)
}

func TestRemoveOfAFileThatIsGone(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "file"), "")
	for _, name := range []string{"gone", "file/below"} {
		if removed, err := (files{}).remove(filepath.Join(dir, name), nil); removed || err != nil {
			t.Errorf("%s: removed %t, error %v", name, removed, err)
		}
	}
	if _, _, err := (files{}).read(filepath.Join(dir, "file/below")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("below a file: %v, want ErrNotExist", err)
	}
}

func FuzzFlag(f *testing.F) {
	for _, seed := range []string{`{}`, `{"created_at":"2026-04-14T13:59:30"}`, `{"created_at":"2001-01-01"}`, `[`, ``, `{"created_at":5}`} {
		f.Add(seed, seed)
	}
	s := sessionsAt(f.TempDir(), at)
	f.Fuzz(func(t *testing.T, newPlace, legacy string) {
		for i, text := range []string{newPlace, legacy} {
			writeFile(t, s.flagPlaces("S", checkpoint)[i], text)
		}
		first := s.flag("S", checkpoint)
		if again := s.flag("S", checkpoint); first.pending != again.pending {
			t.Errorf("pending %t, then %t", first.pending, again.pending)
		}
		// Whoever resets it is rid of it, whatever it was.
		if _, err := s.reset("S", FlagNames); err != nil || s.flag("S", checkpoint).pending {
			t.Errorf("after a reset it is pending, or an error: %v", err)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"2026-04-14T14:00:00+02:00", "20260414T14", "2026-04-14 14:00:00.5Z", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		local, ok := parseTime(text, at.Location())
		utc, okUTC := parseTime(text, time.UTC)
		if ok != okUTC {
			t.Fatalf("%q is a time in one zone only", text)
		}
		if d := utc.Sub(local); ok && d != 0 && d != 2*time.Hour {
			t.Errorf("%q: the zones are %v apart", text, d)
		}
	})
}
