package mutation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sort"

	"sallyport/internal/durable"
)

// Found is what is known of one key.
type Found struct {
	Key
	Entry

	// InFlight says of an intent that somebody holds the claim on its key at this moment.
	InFlight bool
}

// Find returns what Each finds for every key with a request_id.
func Find(fsys durable.FS, dir, id string) ([]Found, error) {
	var found []Found
	err := Each(fsys, dir, func(f Found) error {
		if f.ID == id {
			found = append(found, f)
		}
		return nil
	})
	return found, err
}

// Each reads the claims in dir and calls each with every key, in the order in which they came to their present state. It
// takes no claim and changes nothing, so what it finds may be at work. Where there are no claims at all it finds nothing.
func Each(fsys durable.FS, dir string, each func(Found) error) error {
	f, err := fsys.OpenRead(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the claims: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("sizing the claims: %w", err)
	}
	x := newIndex()
	if err := x.read(io.NewSectionReader(f, 0, size)); err != nil {
		return fmt.Errorf("reading the claims: %w", err)
	}
	places := make([]place, 0, len(x.places))
	for _, at := range x.places {
		places = append(places, at)
	}
	sort.Slice(places, func(i, j int) bool { return places[i].offset < places[j].offset })
	for _, at := range places {
		found, err := readFound(f, at)
		if err != nil {
			return fmt.Errorf("reading the claims: %w", err)
		}
		if err := each(found); err != nil {
			return err
		}
	}
	return nil
}

func readFound(f durable.File, at place) (Found, error) {
	line := make([]byte, at.length)
	if _, err := f.ReadAt(line, at.offset); err != nil {
		return Found{}, err
	}
	e, err := parseLine(line)
	if err != nil {
		return Found{}, err
	}
	e.Recorded = at.settled
	found := Found{Key: e.key, Entry: e.Entry}
	if at.state == Intended {
		found.InFlight = held(f, e.key.sum())
	}
	return found, nil
}

// held reports whether somebody holds a claim. Where nobody can tell it counts as free.
func held(f durable.File, sum keySum) bool {
	taken, err := f.ByteLocked(sum.lockOffset())
	return taken && err == nil
}
