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
}

// Find reads the claims in dir for every key with a request_id, in the order in which they came
// to their present state. It takes no claim and changes nothing, so what it finds may be at work.
// Where there are no claims at all it finds nothing.
func Find(fsys durable.FS, dir, id string) ([]Found, error) {
	f, err := fsys.OpenRead(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the claims: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("sizing the claims: %w", err)
	}
	x := newIndex()
	if err := x.read(io.NewSectionReader(f, 0, size)); err != nil {
		return nil, fmt.Errorf("reading the claims: %w", err)
	}
	places := make([]place, 0, len(x.places))
	for _, at := range x.places {
		places = append(places, at)
	}
	sort.Slice(places, func(i, j int) bool { return places[i].offset < places[j].offset })
	var found []Found
	for _, at := range places {
		line := make([]byte, at.length)
		if _, err := f.ReadAt(line, at.offset); err != nil {
			return nil, fmt.Errorf("reading the claims: %w", err)
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("reading the claims: %w", err)
		}
		e.Recorded = at.settled
		if e.key.ID == id {
			found = append(found, Found{e.key, e.Entry})
		}
	}
	return found, nil
}
