package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// ErrUncertain says that a file may or may not have been published: whoever needs to know must look.
var ErrUncertain = errors.New("it is not known whether the file was published")

const tempPrefix = ".tmp-"

// Publish makes dir/name hold data, whole and durable, or not at all: a temporary file, fsync,
// a link that fails where the name is taken, fsync of dir. beforeLink, if not nil, runs when the
// data is durable and the name is not there yet; its error stops the publication.
//
// ErrExists means that the name was taken (its content may be anything), ErrUncertain that the
// name is there but may not be durable. After any other error nothing was published.
func Publish(fsys FS, dir, name string, data []byte, beforeLink func() error) error {
	temp, f, err := CreateLocked(fsys, dir, tempPrefix, "")
	if err != nil {
		return fmt.Errorf("creating a temporary file: %w", err)
	}
	defer f.Close() // the lock tells a sweeping peer that we live
	if err := fill(f, data, beforeLink); err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	path := filepath.Join(dir, name)
	linkErr := fsys.Link(temp, path)
	fsys.Remove(temp) // a name that stays is litter for Sweep, not a failure
	switch {
	case errors.Is(linkErr, fs.ErrExist):
		return fmt.Errorf("publishing %s: %w", name, ErrExists)
	case linkErr != nil && isAbsent(fsys, path):
		return fmt.Errorf("publishing %s: %w", name, linkErr)
	case linkErr != nil:
		return fmt.Errorf("publishing %s: %w: %w", name, ErrUncertain, linkErr)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("publishing %s: %w: %w", name, ErrUncertain, err)
	}
	return nil
}

// isAbsent reports whether it is certain that there is no file of that name.
func isAbsent(fsys FS, name string) bool {
	f, err := fsys.OpenRead(name)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, fs.ErrNotExist)
}

func fill(f File, data []byte, beforeLink func() error) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	if err := f.SyncAll(); err != nil {
		return fmt.Errorf("syncing a temporary file: %w", err)
	}
	if beforeLink != nil {
		return beforeLink()
	}
	return nil
}

// CreateLocked makes a file in dir that stays locked for as long as it is open, so that
// RemoveIfDead leaves it alone. Its name is prefix, an id that nobody else has, and suffix.
func CreateLocked(fsys FS, dir, prefix, suffix string) (name string, f File, err error) {
	for range 10 {
		name := filepath.Join(dir, prefix+RandomID()+suffix)
		f, err := fsys.Create(name)
		if err != nil {
			return "", nil, err
		}
		locked, err := f.TryLock()
		if err != nil {
			return "", nil, errors.Join(err, f.Close(), fsys.Remove(name))
		}
		// A sweeping peer may have come between the two and taken the file away.
		if mine, err := f.Is(name); locked && err == nil && mine {
			return name, f, nil
		}
		f.Close()
	}
	return "", nil, fmt.Errorf("%s: every new file was taken away at once", dir)
}

// Sweep removes the temporary files in dir whose process is dead. What it cannot remove it leaves,
// and goes on.
func Sweep(fsys FS, dir string) error {
	names, err := fsys.Names(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) {
			_, err := RemoveIfDead(fsys, filepath.Join(dir, name))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveIfDead removes a file that no living process holds locked, and reports whether it did.
// A file that is gone already counts as removed.
func RemoveIfDead(fsys FS, name string) (bool, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	locked, err := f.TryLock()
	if err != nil || !locked {
		return false, err
	}
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// RandomID is 16 hex digits that nobody else has.
func RandomID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}
