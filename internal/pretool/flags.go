package pretool

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/canon"
)

// The flags that a session can have.
const (
	taskBreakdown  = "task-breakdown-pending"
	skillSelection = "skill-selection-pending"
	checkpoint     = "checkpoint-pending"
)

// FlagNames are the flags, in the order in which they are reset.
var FlagNames = []string{taskBreakdown, skillSelection, checkpoint}

const (
	flagTTL    = 90 * time.Second // of all flags but the checkpoint
	maxFlagAge = time.Hour
)

// flag is what is known of a flag.
type flag struct {
	pending bool
	data    canon.Value // the object in its file; absent if it is not pending, or pending because it is unreadable
}

func (f flag) text(key string) string {
	text, _ := f.data.Get(key).Text()
	return text
}

// flag reads a flag of a session, in the new place or else in the legacy one. An expired file is deleted and does not
// hide the other one.
func (s *Sessions) flag(session, name string) flag {
	if session == "" {
		return flag{}
	}
	unreadable := false
	for _, place := range s.flagPlaces(session, name) {
		text, info, err := s.disk.read(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, parseErr := canon.Parse(text)
		if err != nil || parseErr != nil || data.Kind() != canon.Object {
			unreadable = true
			continue
		}
		if !s.expired(name, data) {
			return flag{pending: true, data: data}
		}
		s.disk.remove(place, info) // a file that stays is as expired the next time
	}
	// A checkpoint is there to stop the agent: one that nobody can read does.
	return flag{pending: unreadable && name == checkpoint}
}

func (s *Sessions) flagPlaces(session, name string) []string {
	return []string{
		filepath.Join(s.folder(session), "flags", name+".json"),
		filepath.Join(s.dir, "."+name+"-"+session+".json"),
	}
}

// expired reports whether a flag has outlived its time. One without a valid time never does.
func (s *Sessions) expired(name string, data canon.Value) bool {
	text, _ := data.Get("created_at").Text()
	now := s.now()
	created, ok := parseTime(text, now.Location())
	if !ok {
		return false
	}
	age := now.Sub(created)
	return age > maxFlagAge || name != checkpoint && age >= flagTTL
}

// dateLayouts and timeLayouts are those of ISO 8601, extended and basic. Where seconds are given, a fraction may follow.
var (
	dateLayouts = []string{"2006-01-02", "20060102"}
	timeLayouts = []string{"15:04:05", "15:04", "150405", "1504", "15"}
	zoneLayouts = []string{"", "Z07:00", "Z0700", "Z07"}
)

// parseTime reads a time of ISO 8601. Without a zone it is a local one.
func parseTime(text string, local *time.Location) (t time.Time, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > 64 {
		return time.Time{}, false
	}
	date, clock, _ := strings.Cut(strings.Replace(strings.ToUpper(text), " ", "T", 1), "T")
	for _, dateLayout := range dateLayouts {
		if len(date) != len(dateLayout) {
			continue
		}
		if clock == "" {
			t, err := time.ParseInLocation(dateLayout, date, local)
			return t, err == nil
		}
		for _, timeLayout := range timeLayouts {
			for _, zone := range zoneLayouts {
				t, err := time.ParseInLocation(dateLayout+"T"+timeLayout+zone, date+"T"+clock, local)
				if err == nil {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// reset deletes the files of flags, wherever they lie and whatever is in them. It returns the flags of which there were
// any.
func (s *Sessions) reset(session string, names []string) (cleared []string, err error) {
	for _, name := range names {
		found := false
		for _, place := range s.flagPlaces(session, name) {
			removed, removeErr := s.disk.remove(place, nil)
			found = found || removed
			err = errors.Join(err, removeErr)
		}
		if found {
			cleared = append(cleared, name)
		}
	}
	return cleared, err
}
