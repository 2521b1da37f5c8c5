package durable

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// tail is the end of a log that is fit to be written behind.
type tail[S any] struct {
	end     int64
	state   S
	note    Line[S] // tells of torn bytes that were cut off
	touched bool    // the tail was mended, so a sync is due
	torn    bool    // bytes after end are set aside, and cut off once the note of them is written
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
	if l.last.ends(l.file, size) {
		return tail[S]{end: size, state: l.last.state}, nil
	}
	last, err := readEnd(l.file, size)
	if err != nil {
		return tail[S]{}, fmt.Errorf("reading the end of %s: %w", l.path, err)
	}
	t := tail[S]{end: last.end}
	if t.state, err = l.stateAfter(last); err != nil {
		return tail[S]{}, fmt.Errorf("%s: %w: %w", l.path, ErrDamaged, err)
	}
	if last.end == size {
		return t, nil
	}
	return l.mend(t, size)
}

// stateAfter checks the last line, and that it follows the one before if that is at hand.
func (l *Log[S]) stateAfter(last ending) (S, error) {
	switch {
	case last.line == nil:
		return l.format.Start, nil
	case last.first:
		return l.format.Next(&l.format.Start, last.line)
	case last.before == nil:
		return l.format.Next(nil, last.line)
	}
	before, err := l.format.Next(nil, last.before)
	if err != nil {
		return before, err
	}
	return l.format.Next(&before, last.line)
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
	t.touched, t.torn = true, true
	if l.format.Note != nil {
		t.note = l.format.Note(Torn{Aside: aside, Bytes: torn.Size()})
	}
	return t, nil
}

// setAside copies torn bytes into a file of their own, durably, beside the log.
func (l *Log[S]) setAside(torn *io.SectionReader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(torn, 0, torn.Size())); err != nil {
		return "", err
	}
	// Named by what is in it, so that a mender that dies leaves nothing that its successor would not write again.
	name := fmt.Sprintf("%s.torn-%x", filepath.Base(l.path), sum.Sum(nil)[:8])
	dir := filepath.Dir(l.path)
	f, err := openOrCreate(l.fsys, filepath.Join(dir, name))
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

// ending is the end of a log's whole lines.
type ending struct {
	end    int64  // the offset after the last newline; 0 where there is none
	line   []byte // the last line that ends with a newline, without it; nil where there is none
	first  bool   // it is the first line, too
	before []byte // the line before it, if that is not the first and lies near the end
}

// Glance is the end of a log as it lies there.
type Glance struct {
	Size int64
	End  int64  // where the whole lines end
	Line []byte // the last whole line, without its newline; nil where there is none
}

// Peek looks at the end of the log at path without a lock, and mends nothing; where there is no
// file, there is nothing to see.
func Peek(fsys FS, path string) (Glance, error) {
	f, err := fsys.OpenRead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Glance{}, nil
	}
	if err != nil {
		return Glance{}, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return Glance{}, err
	}
	last, err := readEnd(f, size)
	return Glance{Size: size, End: last.end, Line: last.line}, err
}

// readEnd reads the end of a log. One read does where lines are of ordinary length.
func readEnd(r io.ReaderAt, size int64) (ending, error) {
	start := max(0, size-tailChunk)
	chunk := make([]byte, size-start)
	if err := readAt(r, chunk, start); err != nil {
		return ending{}, err
	}
	newline := bytes.LastIndexByte(chunk, '\n')
	before := bytes.LastIndexByte(chunk[:max(0, newline)], '\n')
	if newline < 0 || before < 0 && start > 0 {
		return readLongEnd(r, size)
	}
	last := ending{end: start + int64(newline) + 1, line: chunk[before+1 : newline], first: before < 0}
	if i := bytes.LastIndexByte(chunk[:max(0, before)], '\n'); i >= 0 {
		last.before = chunk[i+1 : before]
	}
	return last, nil
}

// readLongEnd is readEnd for a last line or a torn tail of any length.
func readLongEnd(r io.ReaderAt, size int64) (ending, error) {
	newline, err := lastNewline(r, size)
	if err != nil || newline < 0 {
		return ending{}, err
	}
	before, err := lastNewline(r, newline)
	if err != nil {
		return ending{}, err
	}
	line := make([]byte, newline-before-1)
	return ending{end: newline + 1, line: line, first: before < 0}, readAt(r, line, before+1)
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
