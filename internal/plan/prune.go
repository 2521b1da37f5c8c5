package plan

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"
)

const (
	keepOver  = 30 * 24 * time.Hour // how long the journal of a run is kept that is over
	mostTried = 16 << 20            // bytes of such journals after which a run that begins looks at no further one; a larger one stays
)

// prune removes the journals of runs that ended long ago: they hold arguments and results, and nothing asks for them any more;
// that a run was, and what it decided, is in the ledger. runs are those that findRuns found; the caller has the folder's lock,
// so that nobody looks for runs meanwhile. What cannot be removed, or is not certainly over, stays, and is no failure of the
// run that begins. It need not be durable: what a crash brings back goes another time.
func (r *Runner) prune(runs []found, now time.Time) {
	var old []string
	for _, f := range runs {
		if f.over && !f.ended.IsZero() && now.Sub(f.ended) > keepOver {
			old = append(old, f.run)
		}
	}
	if len(old) == 0 {
		return
	}
	torn, err := r.torn()
	if err != nil {
		return
	}
	// Those that have to stay must not use up each time what the others wait for.
	rand.Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
	for tried := int64(0); len(old) > 0 && tried < mostTried; old = old[1:] {
		size, _ := r.remove(old[0], torn[old[0]])
		tried += size
	}
}

// torn are the names of the files with ends of journals that were set aside (durable.Log), by the run.
func (r *Runner) torn() (map[string][]string, error) {
	names, err := r.FS.Names(r.Dir)
	torn := map[string][]string{}
	for _, name := range names {
		if run, _, is := strings.Cut(name, journalSuffix+".torn-"); is {
			torn[run] = append(torn[run], name)
		}
	}
	return torn, err
}

// remove removes the journal of a run that is over, and the ends of it that were set aside. It returns how large the journal was, as
// far as it was looked at. The error says why it stays.
func (r *Runner) remove(run string, torn []string) (size int64, err error) {
	path := filepath.Join(r.Dir, run+journalSuffix)
	f, err := r.FS.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	locked, err := f.TryLockByte(runLock)
	if err == nil && !locked {
		err = &RunningError{Run: run}
	}
	if err != nil {
		return 0, err
	}
	if size, err = f.Size(); err != nil {
		return size, err
	}
	if size > mostTried {
		return 0, errLine
	}
	if err := certainlyOver(io.NewSectionReader(f, 0, size), run); err != nil {
		return size, err
	}
	if err := r.removeTorn(torn); err != nil {
		return size, err
	}
	return size, r.FS.Remove(path)
}

// removeTorn removes the ends of a journal that were set aside. They go first, since nobody would look for them without it.
func (r *Runner) removeTorn(torn []string) error {
	for _, name := range torn {
		if err := r.FS.Remove(filepath.Join(r.Dir, name)); err != nil {
			return err
		}
	}
	if len(torn) == 0 {
		return nil
	}
	return r.FS.SyncDir(r.Dir)
}

// certainlyOver is an error unless a text is the journal of that run, whole from its first line to the one that says that
// nothing is to come.
func certainlyOver(text io.Reader, run string) error {
	lines := bufio.NewReaderSize(text, 64<<10)
	prev, over := "", false
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0 && over:
			return nil
		case errors.Is(err, io.EOF), over:
			return errLine
		case err != nil:
			return err
		}
		line = line[:len(line)-1]
		if prev, err = unseal(&prev, line); err != nil {
			return err
		}
		if n == 0 {
			h, err := readHeader(line)
			if err != nil || h.run != run {
				return errLine
			}
			continue
		}
		f, err := readFact(&Plan{}, line)
		over = err == nil && f.what == ended
	}
}
