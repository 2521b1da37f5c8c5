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
	slot     slot         // what the file holds now
	found    frame        // by which the scope stood when the lane was taken
	entered  Standing     // by that; never Busy
	standing Standing     // now
	settled  bool         // nothing that was found is still to be made durable
	gone     bool         // Leave was called
	beside   func() error // what the next write may do while it is synced, or nil
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
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.slot, l.entered = noFile, Clear
	case err == nil:
		l.file = f
		if l.slot, err = readSlot(f, l.sum); err == nil {
			l.found, err = l.slot.now()
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
func (l *Lane) Begin(left []byte) error { return l.BeginBeside(left, nil) }

// BeginBeside is Begin that does beside, where that is not nil, once left is written and while it becomes durable. An error of
// beside is one of BeginBeside; what it did is for the caller to take back.
func (l *Lane) BeginBeside(left []byte, beside func() error) error {
	switch {
	case l.gone || l.standing != Clear:
		return errors.New("beginning in a lane that is not clear")
	case len(left) > MostLeft:
		return fmt.Errorf("beginning in a lane: more than %d bytes are to be kept", MostLeft)
	}
	if err := l.ready(); err != nil {
		return fmt.Errorf("beginning in a lane: %w", err)
	}
	if err := l.base(); err != nil {
		return fmt.Errorf("beginning in a lane: %w", err)
	}
	// The lock tells those who look that whoever wrote this lives. It is there first, and is let go of with the lane.
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if err := await(ctx, l.file.TryLock); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("beginning in a lane: %w", durable.ErrLocked)
	} else if err != nil {
		return fmt.Errorf("beginning in a lane: %w", err)
	}
	l.standing, l.beside = Left, beside
	if err := l.hold(func() error { return l.put(second, pending, left) }); err != nil {
		return errors.Join(fmt.Errorf("beginning in a lane: %w", err), l.Clear())
	}
	return nil
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
	if err := l.unhold(); err != nil {
		return fmt.Errorf("clearing a lane: %w", err)
	}
	return nil
}

// unhold wipes what is pending: it holds arguments, and nobody needs them any more. Then the mark may go.
func (l *Lane) unhold() error {
	if err := l.base(); err != nil {
		return err
	}
	if err := l.wipe(l.slot[second].size); err != nil {
		return err
	}
	l.standing = Clear
	return l.file.SetMark(false)
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
	if err := l.ready(); err != nil {
		return fmt.Errorf("stopping a scope: %w", err)
	}
	// Those who look meanwhile see what was there before, or what is torn: neither lets a call pass that must not.
	if err := l.hold(func() error { return l.putBoth(stopped, stopBody(stop)) }); err != nil {
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

// ready opens the slot to write to, and makes it if need be.
func (l *Lane) ready() error {
	if l.file == nil {
		f, made, err := openOrMake(l.stops.fsys, l.path)
		if err != nil {
			return err
		}
		if made {
			l.stops.forget(l.path)
		}
		l.file = f
	}
	// While the second block holds nothing the first was durable before.
	if !l.settled && (l.slot[second].fill != empty || !l.stops.isSettled(l.path)) {
		if err := l.settle(); err != nil {
			return err
		}
		l.stops.settle(l.path)
	}
	l.settled = true
	return nil
}

// settle makes durable what was written by somebody who may have died before he did, and wipes what a crash left behind.
func (l *Lane) settle() error {
	size, err := l.file.Size()
	if err != nil {
		return err
	}
	if size > mostFrame && l.slot[first].fill == whole && l.slot[second].fill != whole {
		if err := l.wipe(int(min(size-mostFrame, mostLatter))); err != nil {
			return err
		}
	}
	if size > 0 {
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	return l.stops.fsys.SyncDir(l.stops.dir)
}

// base has the first block say, durably, that the scope is clear: the second one is written and wiped beside that. It does so
// already, but for a new slot, and after what a crash tore.
func (l *Lane) base() error {
	if at := &l.slot[first]; at.fill == whole && at.kind == cleared {
		return nil
	}
	return l.put(first, cleared, nil)
}

// hold writes what holds the scope back, with the mark by which those who look see that there is something.
func (l *Lane) hold(write func() error) error {
	if err := errors.Join(l.file.SetMark(true), write()); err != nil { // what has no mark is seen by some, and is an error
		return err
	}
	// Nobody sees what stands in a file that has lost its name.
	if same, err := l.file.Is(l.path); err != nil || !same {
		return errors.Join(fmt.Errorf("%s: %w", l.path, durable.ErrReplaced), err)
	}
	return nil
}

// putBoth puts a frame into both blocks, durably, the one that does not hold before the other: so at every moment there is one
// that can be read, and no damage to one of them uncovers what was there before.
func (l *Lane) putBoth(kind string, body []byte) error {
	blocks := []int{first, second}
	if l.slot.holding() == &l.slot[first] {
		blocks = []int{second, first}
	}
	for _, i := range blocks {
		if err := l.put(i, kind, body); err != nil {
			return err
		}
	}
	return nil
}

// put puts a frame into a block, durably. What was there before is gone to its end.
func (l *Lane) put(i int, kind string, body []byte) error {
	at, start := &l.slot[i], int64(i)*mostFrame
	seq := l.slot.next()
	text := appendFrame(seq, kind, l.scope, body)
	least := pageSize
	if i == first {
		least = leastFirst
	}
	text = append(text, make([]byte, max(pages(len(text)), at.size, least)-len(text))...)
	size := len(text)
	if l.slot.blank() { // there is nothing beside it if it is torn: so it is nothing itself until it is whole
		begin := text[0]
		text[0] = 0
		if err := l.write(text, start); err != nil {
			return err
		}
		text = []byte{begin}
	}
	*at = block{size: size} // torn, for all we know, until it is written
	if err := l.write(text, start); err != nil {
		return err
	}
	*at = block{fill: whole, frame: frame{seq: seq, kind: kind}, size: size}
	return nil
}

// write writes something, durably.
func (l *Lane) write(text []byte, start int64) error {
	beside := l.beside
	l.beside = nil
	if _, err := l.file.WriteAt(text, start); err != nil {
		return err
	}
	if beside == nil {
		return l.file.Sync()
	}
	wait := l.file.StartSync()
	return errors.Join(beside(), wait())
}

// wipe empties the second block. A crash of the machine may lose that.
func (l *Lane) wipe(size int) error {
	if size == 0 {
		return nil
	}
	at := &l.slot[second]
	*at = block{size: size}
	if _, err := l.file.WriteAt(make([]byte, size), mostFrame); err != nil {
		return err
	}
	*at = block{fill: empty}
	return nil
}
