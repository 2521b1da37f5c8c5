package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// tail is the end of a log that is fit to be written behind.
type tail[S any] struct {
	end     int64
	state   S
	note    Line[S] // tells of torn bytes that were cut off
	touched bool    // the tail was mended, so a sync is due
}

const tailChunk = 4 << 10

// mendedTail checks the last line and mends what a dying writer left after it: a whole line
// that lacks only its newline is finished, anything else is set aside and cut off. A last line
// that ends properly and does not verify is no crash's work: nothing may be written behind it.
func (l *Log[S]) mendedTail() (tail[S], error) {
	size, err := l.file.Size()
	if err != nil {
		return tail[S]{}, fmt.Errorf("sizing %s: %w", l.path, err)
	}
	line, end, err := LastLine(l.file, size)
	if err != nil {
		return tail[S]{}, fmt.Errorf("reading the end of %s: %w", l.path, err)
	}
	t := tail[S]{end: end, state: l.format.Start}
	if line != nil {
		if t.state, err = l.format.Next(nil, line); err != nil {
			return tail[S]{}, fmt.Errorf("%s: %w: %w", l.path, ErrDamaged, err)
		}
	}
	if end == size {
		return t, nil
	}
	return l.mend(t, size)
}

func (l *Log[S]) mend(t tail[S], size int64) (tail[S], error) {
	torn := io.NewSectionReader(l.file, t.end, size-t.end)
	if torn.Size() <= keepBuffer {
		line := make([]byte, torn.Size())
		if _, err := io.ReadFull(torn, line); err != nil {
			return t, fmt.Errorf("reading the end of %s: %w", l.path, err)
		}
		if state, err := l.format.Next(&t.state, line); err == nil {
			if _, err := l.file.WriteAt([]byte{'\n'}, size); err != nil {
				return t, errors.Join(fmt.Errorf("finishing the last line of %s: %w", l.path, err), l.file.Truncate(size))
			}
			t.state, t.end, t.touched = state, size+1, true
			return t, nil
		}
	}
	aside, err := l.setAside(torn)
	if err != nil {
		return t, fmt.Errorf("setting the torn end of %s aside: %w", l.path, err)
	}
	if err := l.file.Truncate(t.end); err != nil {
		return t, fmt.Errorf("cutting the torn end of %s: %w", l.path, err)
	}
	t.touched = true
	if l.format.Note != nil {
		t.note = l.format.Note(Torn{Aside: aside, Bytes: torn.Size()})
	}
	return t, nil
}

// setAside copies torn bytes into a file of their own, durably, beside the log.
func (l *Log[S]) setAside(torn *io.SectionReader) (string, error) {
	name := filepath.Base(l.path) + ".torn-" + RandomID()
	dir := filepath.Dir(l.path)
	f, err := l.fsys.Create(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := torn.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(io.NewOffsetWriter(f, 0), torn); err != nil {
		return "", err
	}
	if err := f.SyncAll(); err != nil {
		return "", err
	}
	return name, l.fsys.SyncDir(dir)
}

// LastLine returns the last line of a log of that size that ends with a newline, without it, and the offset after
// that newline: nil and 0 where there is none. One read does where lines are of ordinary length.
func LastLine(r io.ReaderAt, size int64) (line []byte, end int64, err error) {
	start := max(0, size-tailChunk)
	chunk := make([]byte, size-start)
	if err := readAt(r, chunk, start); err != nil {
		return nil, 0, err
	}
	if newline := bytes.LastIndexByte(chunk, '\n'); newline >= 0 {
		before := bytes.LastIndexByte(chunk[:newline], '\n')
		if before >= 0 || start == 0 {
			return chunk[before+1 : newline], start + int64(newline) + 1, nil
		}
	}
	newline, err := lastNewline(r, size)
	if err != nil || newline < 0 {
		return nil, 0, err
	}
	before, err := lastNewline(r, newline)
	if err != nil {
		return nil, 0, err
	}
	line = make([]byte, newline-before-1)
	return line, newline + 1, readAt(r, line, before+1)
}

// lastNewline returns the offset of the last newline before end, or -1.
func lastNewline(r io.ReaderAt, end int64) (int64, error) {
	var chunk [tailChunk]byte
	for end > 0 {
		start := max(0, end-tailChunk)
		part := chunk[:end-start]
		if err := readAt(r, part, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i), nil
		}
		end = start
	}
	return -1, nil
}

// readAt fills b from offset; a file that ends exactly there is no error.
func readAt(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if errors.Is(err, io.EOF) && n == len(b) {
		return nil
	}
	return err
}
