package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

const (
	journalSuffix = ".jsonl"
	lockName      = ".lock" // held while runs are looked for and begun
	lockWait      = 10 * time.Second
	runLock       = 1 << 61 // the byte of a journal that is locked by whoever carries out the run
	maxJournal    = 1 << 30 // bytes
)

// journal is the record of a run, which nobody else carries out as long as it is open.
type journal struct {
	header
	log  *durable.Log[string]
	lock durable.File
	plan *Plan
}

var journalFormat = durable.Format[string]{Next: unseal}

// createJournal begins the journal of a new run: it is there with its first line or not at all.
func createJournal(fsys durable.FS, dir string, p *Plan, h header, now time.Time) (*journal, error) {
	line, _ := seal(nil, h.members(now), "")
	if err := durable.Publish(fsys, dir, h.run+journalSuffix, line, nil); err != nil {
		return nil, err
	}
	return openJournal(fsys, dir, p, h)
}

// openJournal opens the journal of a run for carrying it out. It is a *RunningError if somebody else does.
func openJournal(fsys durable.FS, dir string, p *Plan, h header) (*journal, error) {
	path := filepath.Join(dir, h.run+journalSuffix)
	lock, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	locked, err := lock.TryLockByte(runLock)
	if err == nil && !locked {
		err = &RunningError{Run: h.run}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	log, err := durable.OpenLog(fsys, path, journalFormat)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &journal{header: h, log: log, lock: lock, plan: p}, nil
}

func (j *journal) close() error { return errors.Join(j.log.Close(), j.lock.Close()) }

// note makes a fact durable.
func (j *journal) note(f *fact) error {
	members := f.members(j.plan, time.Now())
	_, err := j.log.Append(func(dst []byte, prev *string) []byte {
		dst, *prev = seal(dst, members, *prev)
		return dst
	})
	return err
}

// replay returns the state that the journal leads to.
func (j *journal) replay(p *shape) (*state, error) {
	var text []byte
	err := j.log.View(func(r io.ReaderAt, end int64) (err error) {
		text, err = journalText(r, end)
		return err
	})
	if err != nil {
		return nil, err
	}
	return replay(p, j.plan, text)
}

// journalText is the beginning of a journal, up to end.
func journalText(r io.ReaderAt, end int64) ([]byte, error) {
	if end > maxJournal {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", errLine, maxJournal)
	}
	text := make([]byte, end)
	_, err := io.ReadFull(io.NewSectionReader(r, 0, end), text)
	return text, err
}

// replay returns the state that the whole lines of a journal lead to.
func replay(p *shape, plan *Plan, text []byte) (*state, error) {
	s := newState(p)
	prev, n := "", 0
	for line := range bytes.Lines(text) {
		line, whole := bytes.CutSuffix(line, []byte{'\n'})
		if !whole {
			return nil, errLine
		}
		var err error
		if prev, err = unseal(&prev, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if n++; n == 1 {
			continue // the header, which was read before
		}
		f, err := readFact(plan, line)
		if err == nil {
			err = p.apply(s, f)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if n == 0 {
		return nil, errLine
	}
	return s, nil
}

func newState(p *shape) *state { return &state{steps: make([]track, len(p.steps))} }

// found is a run whose journal was found.
type found struct {
	header           // of a run that is over there is the run's id only
	over   bool      // nothing is to come
	last   fact      // of a run that is over: how it ended
	ended  time.Time // of a run that is over: when, the zero time where its journal does not say
}

// findRuns lists the runs in a folder, the oldest first.
func findRuns(fsys durable.FS, dir string) ([]found, error) {
	ids, err := runIDs(fsys, dir)
	if err != nil {
		return nil, err
	}
	var all []found
	for _, run := range ids {
		f, err := findRun(fsys, dir, run)
		if err != nil {
			return nil, fmt.Errorf("looking at run %s (if its journal cannot be mended, see what it did, then move it away): %w", run, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// runIDs lists the runs that have a journal in a folder, the oldest first; none where there is no such folder.
func runIDs(fsys durable.FS, dir string) ([]string, error) {
	names, err := fsys.Names(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, name := range names {
		if run, isJournal := strings.CutSuffix(name, journalSuffix); isJournal && isRunID(run) {
			ids = append(ids, run)
		}
	}
	return ids, err
}

// findRun looks at one journal: at its last line, and, of a run that is not over, at its first.
func findRun(fsys durable.FS, dir, run string) (found, error) {
	end, err := durable.Peek(fsys, filepath.Join(dir, run+journalSuffix))
	if err != nil {
		return found{}, err
	}
	if _, err := unseal(nil, end.Line); err != nil {
		return found{}, err
	}
	if f, err := readFact(&Plan{}, end.Line); err == nil && f.what == ended {
		v, err := canon.Parse(end.Line)
		return found{header: header{run: run}, over: true, last: f, ended: timeIn(v)}, err
	}
	h, err := findHeader(fsys, dir, run)
	return found{header: h}, err
}

// findHeader reads the first line of a run's journal.
func findHeader(fsys durable.FS, dir, run string) (header, error) {
	first, err := firstLine(fsys, filepath.Join(dir, run+journalSuffix))
	if err != nil {
		return header{}, err
	}
	h, err := readHeader(first)
	if err == nil && h.run != run {
		err = fmt.Errorf("%w: it is that of run %q", errLine, clip(h.run, maxID))
	}
	return h, err
}

func firstLine(fsys durable.FS, path string) ([]byte, error) {
	f, err := fsys.OpenRead(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 8 * maxPlan // a plan in its canonical form, and what else stands there
	for size := 8 << 10; ; size *= 4 {
		line := make([]byte, size)
		n, err := f.ReadAt(line, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if line, _, whole := bytes.Cut(line[:n], []byte{'\n'}); whole {
			return line, nil
		}
		if n < size || size > most {
			return nil, errLine
		}
	}
}

// newRunID is an id that nobody else has. Later ones sort behind earlier ones.
func newRunID(now time.Time) string {
	return strings.Replace(now.UTC().Format("20060102T150405.000"), ".", "", 1) + "-" + durable.RandomID()
}

// isRunID reports whether a text may be the id of a run, and so of a file.
func isRunID(id string) bool {
	for _, c := range []byte(id) {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c != '-' && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return id != "" && len(id) <= maxID && id[0] != '-'
}
