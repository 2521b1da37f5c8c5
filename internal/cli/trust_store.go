package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

const (
	trustFile = "trust.json"
	trustLock = "trust.lock"

	// trustWait is how long one command waits for another that is at the same file.
	trustWait = 5 * time.Second
)

// trustStore is the file that says which project policies the user trusts: {"version":1,"trusted":{PATH:SHA256}}. Hooks
// read it. It is replaced whole, by one command at a time.
type trustStore struct{ dir string }

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// read returns what is trusted. A file that is not ours is an error here; hooks trust nothing then.
func (s *trustStore) read() (map[string]string, error) {
	path := filepath.Join(s.dir, trustFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	damaged := withHint(fmt.Errorf("%s is not what sallyport writes there", path), "hooks trust nothing while it is like this; remove it, and trust what you need anew")
	root, err := canon.Parse(text)
	if version, _ := root.Get("version").Int(); err != nil || version != 1 || root.Get("trusted").Kind() != canon.Object {
		return nil, damaged
	}
	trusted := map[string]string{}
	for name, value := range root.Get("trusted").Members() {
		digest, ok := value.Text()
		if !ok {
			return nil, damaged
		}
		trusted[name] = digest
	}
	return trusted, nil
}

// change reads, edits and replaces the file, alone.
func (s *trustStore) change(edit func(trusted map[string]string)) (err error) {
	if err := durable.OS.OwnDir(s.dir); err != nil {
		return fmt.Errorf("the state folder: %w", err)
	}
	lock, err := durable.OpenLocked(durable.OS, filepath.Join(s.dir, trustLock), trustWait) // dies with the process
	if err != nil {
		return fmt.Errorf("locking what is trusted: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	trusted, err := s.read()
	if err != nil {
		return err
	}
	edit(trusted)
	text := []byte(`{"version":1,"trusted":{`)
	for i, path := range sortedKeys(trusted) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(canon.AppendString(text, path), ':')
		text = canon.AppendString(text, trusted[path])
	}
	return s.replace(append(text, "}}\n"...))
}

// replace makes the file hold text, whole and durable.
func (s *trustStore) replace(text []byte) error {
	temp, f, err := durable.CreateLocked(durable.OS, s.dir, ".tmp-", "")
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	if err = errors.Join(err, f.SyncAll(), f.Close()); err == nil {
		err = durable.OS.Rename(temp, filepath.Join(s.dir, trustFile))
	}
	if err != nil {
		return errors.Join(err, durable.OS.Remove(temp))
	}
	return durable.OS.SyncDir(s.dir)
}
