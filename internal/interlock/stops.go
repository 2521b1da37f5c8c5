package interlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/internal/durable"
)

// The names of the folders in the ledger's folder.
const (
	StopsDir     = "stops"
	ApprovalsDir = "approvals"
)

// MostLeft is how many bytes Lane.Begin takes, MostRecord how many the record of a stop may have.
const (
	MostLeft   = 1 << 20
	MostRecord = 64 << 10
)

// Scope is what a stop holds back: the mutations of one principal at one server. Server is "" for our own tools, and
// "hook/HOST/SESSION" for the session of a hook's host. Both are UTF-8 of at most 4 KiB, whatever they say.
type Scope struct{ Principal, Server string }

// Stop is why a scope is stopped, until an operator releases it.
type Stop struct {
	Scope
	Tool    string // whose effect was not what it should be
	Rule    string // that asked for the verification
	Reason  string // in words, without arguments
	Attempt string // of the call; "" where it had none
	Time    int64  // nanoseconds since the epoch

	// Record is the call's record (ledger.Record.Body), at most MostRecord bytes, where the ledger could not take it and nothing
	// else has it; else "". It has to be there before the stop is released.
	Record string

	// Slot is the name of a latch that cannot be read, which holds the scope back all the same; "" of one that can. Of such a
	// one only Reason is given, and Scope where it can be told.
	Slot string
}

// Standing is how a scope stands.
type Standing int

const (
	Unknown Standing = iota // it cannot be told: nothing may be done
	Stopped                 // an operator must look first
	Left                    // a process died between an effect and its verification: look at that first
	Busy                    // a living process is at a verified mutation
	Clear                   // nothing is held back
)

// String returns the standing in a word.
func (s Standing) String() string {
	switch s {
	case Stopped:
		return "stopped"
	case Left:
		return "left"
	case Busy:
		return "busy"
	case Clear:
		return "clear"
	}
	return "unknown"
}

// Stops are the stop latches kept in one folder. They are safe for concurrent use, by several processes too.
type Stops struct {
	fsys   durable.FS
	dir    string
	queues queues

	mu      sync.RWMutex        // guards the fields below
	places  map[Scope]place     // of scopes that were asked for
	settled map[string]struct{} // files whose name, and what was in them when this process came to them, is durable

	dirSeen atomic.Bool // the folder was there, and ours
}

// place is where the slot of a scope is.
type place struct {
	sum  slotSum
	path string
	read durable.FileID // the slot's file, if this process has read that it is clear
}

// mostKnown bounds what is remembered of scopes. Forgetting costs a hash and a look into the slot, or a sync.
const mostKnown = 4096

// OpenStops returns the latches kept in a folder, which is made when the first is needed.
func OpenStops(fsys durable.FS, dir string) *Stops {
	return &Stops{fsys: fsys, dir: dir, places: map[Scope]place{}, settled: map[string]struct{}{}}
}

// Close closes what Enter keeps open. It must be the last call, after every lane was left.
func (s *Stops) Close() error { return s.queues.close() }

// locate returns where the slot of a scope is. The name of its file is a hash: nothing that a caller says is a path.
func (s *Stops) locate(scope Scope) (place, error) {
	s.mu.RLock()
	at, known := s.places[scope]
	s.mu.RUnlock()
	if known {
		return at, nil
	}
	if err := scope.check(); err != nil {
		return place{}, err
	}
	at = s.placeOf(scope.sum())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.places) >= mostKnown {
		clear(s.places)
	}
	s.places[scope] = at
	return at, nil
}

func (s *Stops) placeOf(sum slotSum) place {
	return place{sum: sum, path: filepath.Join(s.dir, sum.name())}
}

// remember says that the slot in a file was read, and is clear.
func (s *Stops) remember(scope Scope, file durable.FileID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, known := s.places[scope]; known {
		at.read = file
		s.places[scope] = at
	}
}

// isSettled reports whether a slot is known to be durable as this process found it at first, with its name.
func (s *Stops) isSettled(path string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, known := s.settled[path]
	return known
}

// settle says that it is.
func (s *Stops) settle(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.settled) >= mostKnown {
		clear(s.settled)
	}
	s.settled[path] = struct{}{}
}

// forget says that a file was made anew.
func (s *Stops) forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.settled, path)
}

// Check says how a scope stands; the stop is given where there is one, and an error says why it is Unknown. Of a scope that is
// clear it costs one look at a file's status, and no sync; the first time, where there is a file, it reads it too.
func (s *Stops) Check(scope Scope) (Standing, *Stop, error) {
	at, err := s.locate(scope)
	if err != nil {
		return Unknown, nil, fmt.Errorf("looking for a stop: %w", err)
	}
	file, err := s.status(at)
	switch {
	case err != nil:
		return Unknown, nil, fmt.Errorf("looking for a stop: %w", err)
	case !file.Exists, !file.Marked && file.ID == at.read:
		return Clear, nil, nil
	}
	standing, found, err := s.look(at)
	switch {
	case err != nil:
		return Unknown, nil, fmt.Errorf("looking for a stop: %s: %w", at.path, err)
	case standing == Stopped:
		return Stopped, &found.stop, nil
	case standing == Clear && file.ID != at.read:
		s.remember(scope, file.ID)
	}
	return standing, nil, nil
}

// status looks at a slot under its name, at each call: an open file would not show that the slot was replaced. The folder is
// looked at once: there is none before the first slot.
//
// A slot that holds something back is marked: whoever writes that marks it first. A crash of the machine may have taken off
// the mark, though no process has lived through that. So the mark is believed by who has read, in this very file, that the
// scope was clear.
func (s *Stops) status(at place) (durable.Status, error) {
	if !s.dirSeen.Load() {
		if err := s.fsys.IsOwnDir(s.dir); errors.Is(err, fs.ErrNotExist) {
			return durable.Status{}, nil
		} else if err != nil {
			return durable.Status{}, err
		}
		s.dirSeen.Store(true)
	}
	return s.fsys.Look(at.path)
}

// tornPatience is how long a look at a slot waits for whoever is writing to it.
const tornPatience = 200 * time.Millisecond

// look reads a slot without its lane. What is pending while nobody has the slot's lock was left by the dead; what cannot be
// read while somebody has it is being written. An error comes with whatever could be read.
func (s *Stops) look(at place) (Standing, frame, error) {
	f, err := s.fsys.OpenRead(at.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Clear, frame{}, nil
	}
	if err != nil {
		return Unknown, frame{}, err
	}
	defer f.Close() // which lets go of the lock
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		found, err := readNow(f, at.sum)
		standing := found.seen()
		if err == nil && standing != Busy {
			return standing, found, nil
		}
		free, lockErr := f.TryLockShared() // beside others who look
		if lockErr != nil {
			return Unknown, found, lockErr
		}
		if free {
			return s.unheld(f, at)
		}
		if err == nil {
			return Busy, found, nil
		}
		if time.Since(began) > tornPatience {
			return Unknown, found, err
		}
	}
}

// seen is how a scope stands by a frame alone, if whoever wrote it lives.
func (f frame) seen() Standing {
	switch f.kind {
	case stopped:
		return Stopped
	case pending:
		return Busy
	case cleared:
		return Clear
	}
	return Unknown
}

// unheld reads the slot again while nobody can be at a mutation.
func (s *Stops) unheld(f durable.File, at place) (Standing, frame, error) {
	found, err := readNow(f, at.sum)
	if err != nil {
		return Unknown, found, err
	}
	if standing := found.seen(); standing != Busy {
		return standing, found, nil
	}
	return Left, found, nil
}

// readNow reads by what a scope stands now.
func readNow(f durable.File, sum slotSum) (frame, error) {
	now, err := readSlot(f, sum)
	if err != nil {
		return frame{}, err
	}
	return now.now()
}

// List returns the stops that hold, the oldest first, and with them, as stops with a Slot, the latches that cannot be read.
func (s *Stops) List() ([]Stop, error) { return s.Survey(func(Scope, []byte) {}) }

// Survey is List, and calls left for each scope that is Left, in no particular order, with what Begin was given there: at most
// 1 MiB, which has the arguments of a call in it. Each slot is looked at once for both, so that a scope which goes from the one to
// the other meanwhile is not missed. It takes no lane and writes nothing.
func (s *Stops) Survey(left func(scope Scope, left []byte)) ([]Stop, error) {
	if err := s.fsys.IsOwnDir(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing stops: %w", err)
	}
	names, err := s.fsys.Names(s.dir)
	if err != nil {
		return nil, fmt.Errorf("listing stops: %w", err)
	}
	var stops []Stop
	for _, name := range names {
		sum, ok := sumNamed(name)
		if !ok {
			continue
		}
		standing, found, err := s.look(s.placeOf(sum))
		switch {
		case err != nil:
			stops = append(stops, Stop{Scope: found.scope, Slot: name, Reason: fmt.Sprintf("the latch %s cannot be read: %v", name, err)})
		case standing == Stopped:
			stops = append(stops, found.stop)
		case standing == Left:
			left(found.scope, found.left)
		}
	}
	slices.SortStableFunc(stops, func(a, b Stop) int { return cmp.Compare(a.Time, b.Time) })
	return stops, nil
}

// Latch stops a scope for one who has no lane. A scope that is stopped already keeps its stop.
func (s *Stops) Latch(ctx context.Context, stop Stop) error {
	lane, err := s.Enter(ctx, stop.Scope)
	if err != nil {
		return err
	}
	defer lane.Leave()
	if standing, _, _ := lane.Found(); standing == Stopped {
		return nil
	}
	return lane.Stop(stop)
}

// Release clears a stop, durably, if it still is that very one (by Time and Attempt, or by a Slot that still cannot be read);
// else the error is ErrNoStop.
func (s *Stops) Release(ctx context.Context, stop Stop) error {
	return s.ReleaseAfter(ctx, stop, func(*Lane) error { return nil })
}

// ReleaseAfter is Release that does something first, in the stop's lane, when it is known that the stop holds: an error of that
// is one of ReleaseAfter, and the stop stays.
func (s *Stops) ReleaseAfter(ctx context.Context, stop Stop, do func(*Lane) error) error {
	at, err := s.locate(stop.Scope)
	if stop.Slot != "" {
		sum, ok := sumNamed(stop.Slot)
		if !ok {
			return fmt.Errorf("releasing %q: %w", stop.Slot, ErrNoStop)
		}
		at, err = s.placeOf(sum), nil
	}
	if err != nil {
		return fmt.Errorf("releasing a stop: %w", err)
	}
	lane, err := s.enter(ctx, at, stop.Scope)
	if err != nil {
		return err
	}
	defer lane.Leave()
	is := lane.standing == Stopped && lane.found.stop.Time == stop.Time && lane.found.stop.Attempt == stop.Attempt
	if stop.Slot != "" {
		is = lane.standing == Unknown
	}
	if !is {
		return ErrNoStop
	}
	if err := do(lane); err != nil {
		return err
	}
	if err := lane.release(); err != nil {
		return fmt.Errorf("releasing a stop: %w", err)
	}
	return nil
}

// release clears the slot, durably. What cannot be read is removed: whose it is may not be known, nor what is in it.
func (l *Lane) release() error {
	if l.standing == Unknown {
		if err := l.stops.fsys.Remove(l.path); err != nil {
			return err
		}
		return l.stops.fsys.SyncDir(l.stops.dir)
	}
	if err := l.ready(); err != nil {
		return err
	}
	if err := l.putBoth(cleared, nil); err != nil {
		return err
	}
	return l.file.SetMark(false)
}

// ErrNoStop says that a scope is not stopped, or by another stop than was looked at.
var ErrNoStop = errors.New("the scope is not stopped, or not any more")
