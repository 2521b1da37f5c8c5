package interlock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sallyport/internal/durable"
)

// Lane is the sole right to verified mutations of a scope, in all processes, until Leave. It is for one goroutine at a time.
type Lane struct {
	stops *Stops
	place
	scope    Scope
	file     durable.File // the slot; nil while there is none, or none that can be opened
	found    frame        // what the slot held when the lane was taken
	entered  Standing     // of that; never Busy
	standing Standing     // of what the slot holds now
	gone     bool         // Leave was called
	apart    int          // bytes in the file beside the slot
}

// lockPatience is how long Begin waits for those who look at the slot this instant.
const lockPatience = 2 * time.Second

// Enter takes the lane of a scope, and waits for whoever has it, in this process or another, until ctx is done. A slot that
// cannot be read is no error: then Found says Unknown.
func (s *Stops) Enter(ctx context.Context, scope Scope) (*Lane, error) {
	at, err := s.locate(scope)
	if err != nil {
		return nil, fmt.Errorf("entering the lane: %w", err)
	}
	return s.enter(ctx, at, scope)
}

func (s *Stops) enter(ctx context.Context, at place, scope Scope) (*Lane, error) {
	if err := s.fsys.OwnDir(s.dir); err != nil {
		return nil, fmt.Errorf("entering the lane: %w", err)
	}
	if err := s.queues.take(ctx, s.fsys, s.dir, at.sum); err != nil {
		return nil, fmt.Errorf("entering the lane: %w", err)
	}
	l := &Lane{stops: s, place: at, scope: scope}
	l.load()
	return l, nil
}

// load reads the slot. Whoever writes to slots has their lane, so nobody does meanwhile.
func (l *Lane) load() {
	l.entered = Unknown
	f, err := l.stops.fsys.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		l.entered = Clear
	}
	if err == nil {
		l.file = f
		l.found, err = readSlot(f, l.sum)
		if err == nil && l.found.kind == apart {
			l.found.left, err = readApart(l.stops.fsys, l.path+apartSuffix, l.found.apart)
		}
		if err == nil {
			l.entered = l.found.seen()
		}
	}
	if l.entered == Busy {
		l.entered = Left // whoever wrote it is gone
	}
	l.standing = l.entered
}

// Found says how the scope stood when the lane was taken: Clear; Stopped with its stop; Left with what Begin was given, by
// somebody who left without Clear or Stop; or Unknown, where the slot cannot be read and nothing may be done.
func (l *Lane) Found() (standing Standing, stop *Stop, left []byte) {
	switch l.entered {
	case Stopped:
		stop := l.found.stop
		return Stopped, &stop, nil
	case Left:
		return Left, nil, l.found.left
	}
	return l.entered, nil, nil
}

// Begin writes down, durably, that a mutation is about to be carried out which is still to be verified. left is what whoever
// comes after a crash needs to verify it: canonical JSON of at most 1 MiB, the arguments among it. It is an error unless the
// scope is clear; after an error nothing may be carried out.
func (l *Lane) Begin(left []byte) error {
	switch {
	case l.gone || l.standing != Clear:
		return errors.New("beginning in a lane that is not clear")
	case len(left) > MostLeft:
		return fmt.Errorf("beginning in a lane: more than %d bytes are to be kept", MostLeft)
	}
	if err := l.open(); err != nil {
		return fmt.Errorf("beginning in a lane: %w", err)
	}
	// The lock tells those who look that whoever wrote this lives. It is there first, and is let go of after Clear.
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if err := await(ctx, l.file.TryLock); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("beginning in a lane: %w", durable.ErrLocked)
	} else if err != nil {
		return fmt.Errorf("beginning in a lane: %w", err)
	}
	l.standing = Left
	if err := l.begin(left); err != nil {
		return errors.Join(fmt.Errorf("beginning in a lane: %w", err), l.Clear())
	}
	return nil
}

// begin writes both files at once: the slot is not believed before what it says of the other one is true.
func (l *Lane) begin(left []byte) error {
	text, beside := pendingFrame(l.scope, left)
	if !beside {
		return l.write(text)
	}
	done := make(chan error, 1)
	l.apart = len(left)
	go func() { done <- l.writeApart(left) }()
	return errors.Join(l.write(text), <-done)
}

// writeApart writes the file beside the slot, durably. It never gets shorter.
func (l *Lane) writeApart(left []byte) error {
	path := l.path + apartSuffix
	f, made, err := openOrMake(l.stops.fsys, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if made {
		l.stops.forget(path)
	}
	if _, err := f.WriteAt(left, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return l.stops.keepName(path)
}

// wipe writes over what lies beside the slot: it holds arguments, and nobody needs them any more. To cut it off would cost
// more than all the rest.
func (l *Lane) wipe() error {
	size := max(l.apart, len(l.found.left))
	if size <= mostInline {
		return nil
	}
	l.apart = 0
	f, err := l.stops.fsys.Open(l.path + apartSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(make([]byte, size), 0)
	return err
}

// Clear takes back what Begin wrote: the mutation was verified, or not carried out. A crash of the machine may lose that.
// It clears what a lane was Left with too, and is an error where the scope is Stopped or Unknown: that is for an operator.
func (l *Lane) Clear() error {
	switch {
	case l.gone || l.standing == Stopped || l.standing == Unknown:
		return errors.New("clearing a lane that is not at a mutation")
	case l.standing == Clear:
		return nil
	}
	if err := l.file.Truncate(clearSize); err != nil {
		return fmt.Errorf("clearing a lane: %w", err)
	}
	l.standing = Clear
	if err := l.wipe(); err != nil {
		return fmt.Errorf("clearing a lane: %w", err)
	}
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("clearing a lane: %w", err)
	}
	return nil
}

// Stop stops the scope, durably, in place of what Begin wrote; the scope that stop says is set to the lane's. What cannot be
// read is written over, and an earlier stop as well. After an error the scope may be stopped, or as Begin left it.
func (l *Lane) Stop(stop Stop) error {
	if l.gone {
		return errors.New("stopping a scope after its lane was left")
	}
	stop.Scope, stop.Slot = l.scope, ""
	if stop.Time == 0 {
		stop.Time = time.Now().UnixNano()
	}
	l.standing = Unknown // until it is written: what fails here is not to be cleared instead
	if err := l.open(); err != nil {
		return fmt.Errorf("stopping a scope: %w", err)
	}
	// Those who look meanwhile see what was there before, or what is torn: neither lets a call pass that must not.
	if err := l.write(stopFrame(stop)); err != nil {
		return fmt.Errorf("stopping a scope: %w", err)
	}
	l.standing = Stopped
	return nil
}

// Leave lets go of the lane. What was begun and neither cleared nor stopped is Left.
func (l *Lane) Leave() {
	if l.gone {
		return
	}
	l.gone = true
	if l.file != nil {
		l.file.Close() // with its lock; all that counts was synced
	}
	l.stops.queues.leave(l.sum)
}

// open opens the slot to write to, and makes it if need be.
func (l *Lane) open() error {
	if l.file != nil {
		return nil
	}
	f, made, err := openOrMake(l.stops.fsys, l.path)
	if err != nil {
		return err
	}
	if made {
		l.stops.forget(l.path)
	}
	l.file = f
	return nil
}

// write puts a frame into the slot, durably.
func (l *Lane) write(text []byte) error {
	old, err := l.file.Size()
	if err != nil {
		return err
	}
	if _, err := l.file.WriteAt(text, 0); err != nil {
		return err
	}
	if old > int64(len(text)) {
		if err := l.file.Truncate(int64(len(text))); err != nil {
			return err
		}
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	if err := l.stops.keepName(l.path); err != nil {
		return err
	}
	// Nobody sees what stands in a file that has lost its name.
	if same, err := l.file.Is(l.path); err != nil || !same {
		return errors.Join(fmt.Errorf("%s: %w", l.path, durable.ErrReplaced), err)
	}
	return nil
}
