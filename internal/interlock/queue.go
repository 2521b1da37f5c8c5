package interlock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sallyport/internal/durable"
)

// lanesName is the file whose locks are the lanes: each scope has two bytes of it, and nothing is ever written there.
const lanesName = "lanes"

// mostPause is the longest pause between two looks at a lane that another process has.
const mostPause = 3 * time.Millisecond

// queues give each lane to one at a time: within this process in the order in which they came, then among processes. Between
// processes there is a door before the lane: who waits for the lane holds the door, so that a process with many callers
// does not keep the others out for ever. The kernel lets go of both when a process dies.
type queues struct {
	mu      sync.Mutex                  // guards the fields below
	waiting map[slotSum][]chan struct{} // there is an entry for each lane that this process has or waits for
	locks   durable.File                // nil until the first
}

// take takes a lane, or returns what ctx ended with.
func (q *queues) take(ctx context.Context, fsys durable.FS, dir string, sum slotSum) error {
	if err := q.queue(ctx, sum); err != nil {
		return err
	}
	if err := q.lock(ctx, fsys, dir, sum); err != nil {
		q.next(sum)
		return err
	}
	return nil
}

// leave lets go of a lane.
func (q *queues) leave(sum slotSum) {
	q.mu.Lock()
	locks := q.locks
	q.mu.Unlock()
	locks.UnlockByte(sum.lane()) // which can only fail where the lock is gone already
	q.next(sum)
}

// queue waits until it is this caller's turn among those of this process.
func (q *queues) queue(ctx context.Context, sum slotSum) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.waiting == nil {
		q.waiting = map[slotSum][]chan struct{}{}
	}
	others, taken := q.waiting[sum]
	if !taken {
		q.waiting[sum] = nil
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting[sum] = append(others, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting[sum], turn)
	if i >= 0 {
		q.waiting[sum] = slices.Delete(q.waiting[sum], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.next(sum) // the turn came at the same moment
	}
	return ctx.Err()
}

// next gives the turn to whoever came next.
func (q *queues) next(sum slotSum) {
	q.mu.Lock()
	defer q.mu.Unlock()
	others := q.waiting[sum]
	if len(others) == 0 {
		delete(q.waiting, sum)
		return
	}
	close(others[0])
	q.waiting[sum] = others[1:]
}

// lane and door are the bytes that stand for a lane, and for the place before it.
func (s slotSum) lane() int64 { return int64(binary.BigEndian.Uint64(s[:8])>>3) << 1 }
func (s slotSum) door() int64 { return s.lane() + 1 }

// lock keeps other processes out of a lane.
func (q *queues) lock(ctx context.Context, fsys durable.FS, dir string, sum slotSum) error {
	locks, err := q.open(fsys, dir)
	if err != nil {
		return err
	}
	if err := lockByte(ctx, locks, sum.door()); err != nil {
		return err
	}
	err = lockByte(ctx, locks, sum.lane())
	if unlockErr := locks.UnlockByte(sum.door()); unlockErr != nil && err == nil {
		err = errors.Join(unlockErr, locks.UnlockByte(sum.lane()))
	}
	if err != nil {
		return err
	}
	// Whoever has another file under that name does not see our lock.
	path := filepath.Join(dir, lanesName)
	if same, err := locks.Is(path); err != nil || !same {
		return errors.Join(fmt.Errorf("%s: %w", path, durable.ErrReplaced), err, locks.UnlockByte(sum.lane()))
	}
	return nil
}

// open opens the file of the locks, once.
func (q *queues) open(fsys durable.FS, dir string) (durable.File, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.locks != nil {
		return q.locks, nil
	}
	f, _, err := openOrMake(fsys, filepath.Join(dir, lanesName))
	if err == nil {
		q.locks = f
	}
	return f, err
}

func (q *queues) close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.locks == nil {
		return nil
	}
	return q.locks.Close()
}

// openOrMake opens a file, and says whether it made it. Its name need not be durable yet, whoever made it.
func openOrMake(fsys durable.FS, path string) (f durable.File, made bool, err error) {
	for {
		f, err := fsys.Open(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, false, err
		}
		f, err = fsys.Create(path)
		if !errors.Is(err, fs.ErrExist) { // else somebody was quicker
			return f, true, err
		}
	}
}

func lockByte(ctx context.Context, f durable.File, offset int64) error {
	return await(ctx, func() (bool, error) { return f.TryLockByte(offset) })
}

// await tries until it is done, with short pauses, or ctx is.
func await(ctx context.Context, try func() (done bool, err error)) error {
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, mostPause*2/3) {
		if done, err := try(); done || err != nil {
			return err
		}
		timer := time.NewTimer(wait/2 + rand.N(wait)) // not all at once
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
