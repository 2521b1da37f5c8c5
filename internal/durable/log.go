package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// A Log is an append-only file of lines, shared by all callers of a process and by all
// processes that open it. Appending takes the lock on the file, checks that the file is still
// the one under its name, reads and checks the last line, writes the lines of everybody who
// waits, and syncs once. Of the file it is remembered from one batch to the next how long it was,
// since it only grows, and what the last line was that this process wrote itself: where those very
// bytes still stand at the end they need no second check.
//
// S is what a line needs to know of the lines before it, such as the hash of the last one.
// A Log is safe for concurrent use.
type Log[S any] struct {
	fsys     FS
	path     string
	format   Format[S]
	lockWait time.Duration

	mu      sync.Mutex // guards the fields below
	queue   []*request[S]
	later   []Line[S]
	leading bool
	end     int64 // the file is durable up to there

	// The leader alone uses the fields below.
	file   File
	buf    []byte
	last   wrote[S]
	broken error
}

// wrote is the last line that this process wrote itself.
type wrote[S any] struct {
	end   int64  // of the file after it; 0: there is none
	line  []byte // with its newline
	state S      // after it
	tail  []byte // room to read the line again
}

// Format says what the lines of a Log mean.
type Format[S any] struct {
	// Start is the state before the first line.
	Start S
	// Next checks a line, without its newline, and returns the state after it.
	// Where prev is nil the state before it is unknown and only the line itself is checked.
	Next func(prev *S, line []byte) (S, error)
	// Note returns a line that tells of a torn tail, or nil where none is wanted.
	Note func(Torn) Line[S]
}

// A Line appends itself, newline included, to dst and moves the state on.
type Line[S any] func(dst []byte, state *S) []byte

// Torn is a tail that a dying writer left behind: bytes after the last newline that are no
// whole line. They were moved to the file Aside.
type Torn struct {
	Aside string // base name, in the log's own folder
	Bytes int64
}

// request is one caller's wish: to look at the file, or to add a line to it.
type request[S any] struct {
	line    Line[S]
	written func() // nil, or what is called when the line is in the file
	view    func(r io.ReaderAt, end int64) error
	end     int64
	err     error
	turn    chan bool // true: lead the next batch; false: the wish was served
}

const (
	maxBatch    = 1024
	keepBuffer  = 1 << 20
	defaultWait = 30 * time.Second
)

// OpenLog opens the log at path, making it durably if it does not exist.
// It does not look at the lines: Append and View do, each time.
func OpenLog[S any](fsys FS, path string, format Format[S]) (*Log[S], error) {
	file, err := openOrCreate(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return &Log[S]{fsys: fsys, path: path, format: format, file: file, lockWait: defaultWait}, nil
}

func openOrCreate(fsys FS, path string) (File, error) {
	file, err := fsys.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	file, err = fsys.Create(path)
	if errors.Is(err, fs.ErrExist) {
		return fsys.Open(path) // a peer was quicker
	}
	if err != nil {
		return nil, err
	}
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Append adds a line and returns the file's size after it. When it returns nil the line is
// durable. After an error the line is not in the file, except that after a failed sync nobody
// can know: then the log refuses everything until it is opened anew.
func (l *Log[S]) Append(line Line[S]) (end int64, err error) {
	return l.AppendNoting(line, nil)
}

// AppendNoting is Append that calls written, where that is not nil, when the line is in the file and is about to be synced; not
// of a line that could not be written. Whoever gives it has other things to do meanwhile, so the sync keeps no thread. It is
// called by whoever leads, and must not block.
func (l *Log[S]) AppendNoting(line Line[S], written func()) (end int64, err error) {
	r := &request[S]{line: line, written: written, turn: make(chan bool, 1)}
	l.serve(r)
	return r.end, r.err
}

// AppendLater adds a line to whichever batch comes next, or to the one that Close makes.
// A crash may lose it: it is for hints.
func (l *Log[S]) AppendLater(line Line[S]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.later = append(l.later, line)
}

// View calls view with the file after its tail was checked and mended. Whole lines end at end,
// durable; more may be added meanwhile, and nothing is taken away. A nil view only makes the checks.
func (l *Log[S]) View(view func(r io.ReaderAt, end int64) error) error {
	r := &request[S]{view: view, turn: make(chan bool, 1)}
	l.serve(r)
	return r.err
}

// HasRoom is an error where it can be told that so many bytes cannot be added; see File.HasRoom.
func (l *Log[S]) HasRoom(bytes int64) error {
	if err := l.file.HasRoom(bytes); err != nil {
		return fmt.Errorf("looking for room for %s: %w", l.path, err)
	}
	return nil
}

// GrownPast reports whether the file is longer than end. It takes no lock, so what was added may
// not be whole yet; nobody takes away what View once showed.
func (l *Log[S]) GrownPast(end int64) (bool, error) {
	size, err := l.file.Size()
	if err != nil {
		return false, fmt.Errorf("sizing %s: %w", l.path, err)
	}
	return size > end, nil
}

// End is where the whole lines ended when this process last looked: up to there the file is
// durable. It may have grown since.
func (l *Log[S]) End() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Close writes what was left for later and closes the file. It must be the last call.
func (l *Log[S]) Close() error {
	l.mu.Lock()
	rest := l.later
	l.later = nil
	l.mu.Unlock()
	var err error
	if len(rest) > 0 {
		_, err = l.Append(func(dst []byte, state *S) []byte {
			for _, line := range rest {
				dst = line(dst, state)
			}
			return dst
		})
	}
	return errors.Join(err, l.file.Close())
}

// serve puts r into the queue and returns when it was served. One caller at a time leads: it
// commits all that is queued, wakes those whom it served, then gives the lead to the first that
// came meanwhile. So there is no goroutine to feed, no timer, and a lone caller waits for nobody.
func (l *Log[S]) serve(r *request[S]) {
	l.mu.Lock()
	l.queue = append(l.queue, r)
	if l.leading {
		l.mu.Unlock()
		if lead := <-r.turn; !lead {
			return
		}
		l.mu.Lock()
	} else {
		l.leading = true
		l.mu.Unlock()
		l.gather()
		l.mu.Lock()
	}
	batch, later := l.take()
	l.mu.Unlock()

	if err := l.commit(batch, later); errors.Is(err, ErrLocked) {
		batch = append(batch, l.giveUp(err)...)
	}

	alone := len(batch) == 1
	for i, served := range batch {
		batch[i] = nil // the queue's array would keep it, with its line, for as long as nobody comes
		if served != r {
			served.turn <- false
		}
	}
	if !alone {
		l.gather()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		l.queue[0].turn <- true
	} else {
		l.leading = false
	}
}

// gather lets those who are about to have a wish come with it, for as long as more do: who was just served, who began when
// the leader did. Else the callers would fall into two halves for good, each waiting for the other's sync. A lone caller
// yields once, to nobody.
func (l *Log[S]) gather() {
	const most = 8
	for before, yields := -1, 0; yields < most; yields++ {
		l.mu.Lock()
		waiting := len(l.queue)
		l.mu.Unlock()
		if waiting == before {
			return
		}
		before = waiting
		runtime.Gosched()
	}
}

func (l *Log[S]) take() (batch []*request[S], later []Line[S]) {
	n := min(len(l.queue), maxBatch)
	batch, l.queue = l.queue[:n:n], l.queue[n:]
	for _, r := range batch {
		if r.line != nil {
			later, l.later = l.later, nil
			break
		}
	}
	return batch, later
}

// giveUp takes out who came while the lock was waited for in vain: they have waited as well.
func (l *Log[S]) giveUp(err error) []*request[S] {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.queue
	l.queue = nil
	for _, r := range late {
		r.err = err
	}
	return late
}

func (l *Log[S]) commit(batch []*request[S], later []Line[S]) error {
	err := l.commitLocked(batch, later)
	if err != nil {
		for _, r := range batch {
			if r.err == nil {
				r.err = err
			}
		}
	}
	return err
}

func (l *Log[S]) commitLocked(batch []*request[S], later []Line[S]) error {
	if l.broken != nil {
		return l.broken
	}
	if onlyLook(batch) {
		end, err := l.asLeft()
		if err != nil {
			return err
		}
		if end > 0 {
			l.show(batch, end)
			return nil
		}
	}
	if err := awaitLock(l.file, l.lockWait); err != nil {
		return fmt.Errorf("locking %s: %w", l.path, err)
	}
	defer l.file.Unlock()
	if err := l.inPlace(); err != nil {
		return err
	}
	tail, err := l.mendedTail()
	if err != nil {
		return err
	}
	if err := l.write(tail, batch, later); err != nil {
		return err
	}
	l.show(batch, tail.end)
	return nil
}

// show shows the file to those of a batch who want to see it.
func (l *Log[S]) show(batch []*request[S], end int64) {
	for _, r := range batch {
		if r.view != nil {
			r.err = r.view(l.file, end)
		}
	}
}

// inPlace is an error if the file is not the one under its name any more.
func (l *Log[S]) inPlace() error {
	same, err := l.file.Is(l.path)
	switch {
	case err != nil:
		return fmt.Errorf("looking at %s: %w", l.path, err)
	case !same:
		return fmt.Errorf("%s: %w", l.path, ErrReplaced)
	}
	return nil
}

// onlyLook reports whether nobody in a batch wants to add a line.
func onlyLook[S any](batch []*request[S]) bool {
	for _, r := range batch {
		if r.line != nil {
			return false
		}
	}
	return true
}

// asLeft returns the file's size if it is as this process left it, durable: then no lock is needed to say that it is sound. Else
// it is 0.
func (l *Log[S]) asLeft() (end int64, err error) {
	if err := l.inPlace(); err != nil {
		return 0, err
	}
	size, err := l.file.Size()
	if err != nil {
		return 0, fmt.Errorf("sizing %s: %w", l.path, err)
	}
	if !l.last.ends(l.file, size) {
		return 0, nil
	}
	return size, nil
}

// ends reports whether a file of that size still ends with the line.
func (w *wrote[S]) ends(file File, size int64) bool {
	if w.end == 0 || w.end != size {
		return false
	}
	return readAt(file, w.tail, size-int64(len(w.line))) == nil && bytes.Equal(w.tail, w.line)
}

// remember notes the last line of what was just written, up to end.
func (w *wrote[S]) remember(written []byte, end int64, state S) {
	line := written[bytes.LastIndexByte(written[:len(written)-1], '\n')+1:]
	if len(line) > tailChunk {
		w.end = 0
		return
	}
	w.end, w.state = end, state
	w.line = append(w.line[:0], line...)
	w.tail = append(w.tail[:0], line...)
}

// write builds the lines of a batch behind the tail and makes them durable.
func (l *Log[S]) write(tail tail[S], batch []*request[S], later []Line[S]) error {
	buf, state := l.buf[:0], tail.state
	if tail.note != nil {
		buf = tail.note(buf, &state)
	}
	for _, line := range later {
		buf = line(buf, &state)
	}
	for _, r := range batch {
		if r.line != nil {
			buf = r.line(buf, &state)
			r.end = tail.end + int64(len(buf))
		}
	}
	if cap(buf) <= keepBuffer {
		l.buf = buf
	}
	known := l.End()
	if tail.end < known {
		return fmt.Errorf("%s was durable up to byte %d and ends at %d: %w", l.path, known, tail.end, ErrReplaced)
	}
	// What others wrote since we last synced may not be on the disk: they may have died in between.
	// Nothing is built upon it, or even believed, before it is.
	if len(buf) == 0 && tail.end == known && !tail.touched {
		return nil
	}
	l.last.end = 0
	if err := l.put(buf, tail.end, tail.torn, noted(batch)); err != nil {
		return err
	}
	if len(buf) > 0 {
		l.last.remember(buf, tail.end+int64(len(buf)), state)
	}
	l.mu.Lock()
	l.end = tail.end + int64(len(buf))
	l.mu.Unlock()
	return nil
}

// put writes buf at end, tells those who note that, and syncs. What could not be written is cut
// off again. A failed sync leaves unknown what is on the disk (the kernel may call the page
// clean and lose it), so nothing may be built upon it by this process.
func (l *Log[S]) put(buf []byte, end int64, torn bool, written []func()) error {
	_, err := l.file.WriteAt(buf, end)
	if err == nil && torn {
		err = l.file.Truncate(end + int64(len(buf)))
	}
	if err != nil {
		if cutErr := l.file.Truncate(end); cutErr != nil {
			l.broken = fmt.Errorf("%s: %w: half a line could not be taken back: %w", l.path, ErrBroken, cutErr)
		}
		return fmt.Errorf("writing %s: %w", l.path, err)
	}
	if err := l.sync(written); err != nil {
		l.broken = fmt.Errorf("%s: %w: a sync failed: %w", l.path, ErrBroken, err)
		l.file.Truncate(end) // so that no peer builds upon it either; it may fail, and then the tail is checked by whoever comes next
		return fmt.Errorf("syncing %s: %w: %w", l.path, ErrBroken, err)
	}
	return nil
}

// sync makes durable what is in the file, after it told those who are given that it will. If there are any, the process does
// something else meanwhile.
func (l *Log[S]) sync(written []func()) error {
	if len(written) == 0 {
		return l.file.Sync()
	}
	wait := l.file.StartSync()
	for _, note := range written {
		note()
	}
	return wait()
}

// noted are those of a batch that note that their line is in the file.
func noted[S any](batch []*request[S]) []func() {
	var written []func()
	for _, r := range batch {
		if r.written != nil {
			written = append(written, r.written)
		}
	}
	return written
}
