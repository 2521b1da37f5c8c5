package ledger

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sallyport/internal/durable"
)

// Verdict is what Verify found.
type Verdict struct {
	OK           bool
	Records      int64  // whole, linked records before the first bad line
	Head         string // the hash of the last of them; 64 zeros where there is none
	FirstBadLine int64  // 1-based; 0 where OK
	Kind         Kind   // "" where OK
}

// Verify reads a ledger once and checks that each line is canonical, follows the one before and
// is hashed rightly. It judges bytes: blank lines, other spellings and a missing last newline
// are bad. What a chain cannot show are whole records missing at the end, and a rewrite of
// everything: those take a copy of the head that was kept elsewhere.
// The error is about reading only.
func Verify(r io.Reader) (Verdict, error) {
	v := Verdict{OK: true}
	head := genesis
	err := eachLine(r, func(line []byte) error {
		next, err := link(&head, line)
		if err != nil {
			return err
		}
		head = next
		v.Records++
		return nil
	})
	v.Head = string(head[:])
	var bad *badLine
	switch {
	case errors.As(err, &bad):
		v.OK, v.Kind, v.FirstBadLine = false, bad.kind, v.Records+1
	case errors.Is(err, errTorn):
		v.OK, v.Kind, v.FirstBadLine = false, TornTail, v.Records+1
	case err != nil:
		return Verdict{}, err
	}
	return v, nil
}

// snapshotWait is how long Snapshot waits for a batch that is being written.
const snapshotWait = time.Second

// Snapshot opens a ledger's file for reading as far as it is written now. Where writers are
// alive it ends between two of their batches, so that half a write is not taken for a torn tail.
// The caller closes it.
func Snapshot(path string) (io.ReadCloser, error) {
	s, err := openSnapshot(path)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openSnapshot(path string) (*snapshot, error) {
	f, err := durable.OS.OpenRead(path)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); time.Since(start) < snapshotWait; time.Sleep(time.Millisecond) {
		// A file system without locks has no writer of ours either, so the error can wait.
		if locked, err := f.TryLockShared(); locked || err != nil {
			break
		}
	}
	size, err := f.Size()
	f.Unlock()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sizing %s: %w", path, err), f.Close())
	}
	return &snapshot{io.NewSectionReader(f, 0, size), f}, nil
}

type snapshot struct {
	*io.SectionReader
	io.Closer
}
