package pretool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// ErrNoSession says that nothing names a current session.
var ErrNoSession = errors.New("no active session")

// NewSessionID returns an id for a session that begins now.
func (s *Sessions) NewSessionID() string {
	return "SESSION-" + s.now().Format("20060102-150405") + "-" + durable.RandomID()[:8]
}

// Start makes a session's folder and makes it the current one: all that have no CLAUDE_SESSION_ID of their own follow.
func (s *Sessions) Start(session string) error {
	if !IsSessionID(session) {
		return fmt.Errorf("%q is not the id of a session: it has ASCII letters, digits, and -_. only, 128 at most", session)
	}
	if err := os.MkdirAll(filepath.Join(s.folder(session), "flags"), 0o700); err != nil {
		return err
	}
	text := canon.AppendString([]byte(`{"current_session_id":`), session)
	return replaceFile(filepath.Join(s.dir, pointers[0].file), append(text, "}\n"...))
}

// SetFlag sets a flag of a session from now on. The skill and its type are for skill-selection-pending; they may be "".
func (s *Sessions) SetFlag(session, name, skill, skillType string) error {
	if err := checkNames(session, name); err != nil {
		return err
	}
	a := new(answer).text("created_at", s.now().Format(time.RFC3339Nano))
	if skill != "" {
		a.text("required_skill", skill)
	}
	if skillType != "" {
		a.text("required_type", skillType)
	}
	a.text("session_id", session)
	return replaceFile(s.flagPlaces(session, name)[0], append(a.bytes(), '\n'))
}

// ClearFlag deletes a flag of a session, and reports whether there was one.
func (s *Sessions) ClearFlag(session, name string) (bool, error) {
	if err := checkNames(session, name); err != nil {
		return false, err
	}
	cleared, err := s.reset(session, []string{name})
	return len(cleared) > 0, err
}

func checkNames(session, flag string) error {
	if !IsSessionID(session) {
		return ErrNoSession
	}
	if !slices.Contains(FlagNames, flag) {
		return fmt.Errorf("there is no flag %q", flag)
	}
	return nil
}

// AddSteps adds steps to the flow trace of a session: to its last entry, or to a new one. What else is in the trace stays
// as it is; a trace that cannot be read is not overwritten.
func (s *Sessions) AddSteps(session string, steps []string, newEntry bool) (err error) {
	if !IsSessionID(session) {
		return ErrNoSession
	}
	name := s.traceFile(session)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	unlock, err := lockWriters(filepath.Join(filepath.Dir(name), ".flow-trace.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	text, _, err := s.disk.read(name)
	var old canon.Value
	if err == nil {
		old, err = canon.Parse(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the flow trace: %w", err)
	}
	return replaceFile(name, append(appendTrace(nil, old, session, steps, newEntry), '\n'))
}

// appendTrace appends a trace with more steps than the old one.
func appendTrace(dst []byte, old canon.Value, session string, steps []string, newEntry bool) []byte {
	var entries []canon.Value
	last := -1
	if old.Kind() == canon.Object {
		entries, last = []canon.Value{old}, 0
	}
	for entry := range old.Elements() {
		if entry.Kind() == canon.Object {
			last = len(entries)
		}
		entries = append(entries, entry)
	}
	if last < 0 || newEntry {
		entries, last = append(entries, canon.Value{}), len(entries)
	}
	dst = append(dst, '[')
	for i, entry := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		if i == last {
			dst = append(dst, traceEntry(entry, session, steps).bytes()...)
		} else {
			dst = append(dst, entry.Bytes()...)
		}
	}
	return append(dst, ']')
}

// traceEntry is an entry with more steps in its pipeline.
func traceEntry(entry canon.Value, session string, steps []string) *answer {
	a := new(answer)
	if !entry.Exists() {
		a.text("session_id", session)
	}
	for key, value := range entry.Members() {
		if key != "pipeline" {
			quoted := canon.AppendString(nil, key)
			a.raw(string(quoted[1:len(quoted)-1]), value.Bytes())
		}
	}
	pipeline := []byte{'['}
	for element := range entry.Get("pipeline").Elements() {
		pipeline = append(append(pipeline, element.Bytes()...), ',')
	}
	for i, step := range steps {
		if i > 0 {
			pipeline = append(pipeline, ',')
		}
		pipeline = append(canon.AppendString(append(pipeline, `{"step":`...), step), '}')
	}
	return a.raw("pipeline", append(pipeline, ']'))
}

// lockWait is how long a writer of a trace waits for another one of the same session.
const lockWait = 5 * time.Second

// lockWriters keeps other writers of a file away. Readers do not look at the lock.
func lockWriters(name string) (unlock func() error, err error) {
	f, err := durable.OS.Create(name)
	if errors.Is(err, fs.ErrExist) {
		f, err = durable.OS.Open(name)
	}
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(time.Millisecond) {
		locked, err := f.TryLock()
		switch {
		case locked, errors.Is(err, durable.ErrUnsupported): // there, writers must take turns by themselves
			return f.Close, nil
		case err != nil:
			return nil, errors.Join(err, f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(fmt.Errorf("%s: %w", name, durable.ErrLocked), f.Close())
		}
	}
}

// replaceFile makes a file hold a text: at any moment it is the old one or the new one, whole.
func replaceFile(name string, text []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync() // or else a crash may leave the new name with nothing in it
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
