package durable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxPause is the longest pause between two looks at a lock that another process holds. Hundreds of hooks that wait at
// once would otherwise spend the machine on looking.
const maxPause = 10 * time.Millisecond

// OpenLocked opens a file, made durably if it does not exist, and takes it for this open file alone. It waits so long at
// most for whoever holds it; then the error is ErrLocked. Closing the file lets go of the lock.
func OpenLocked(fsys FS, path string, wait time.Duration) (File, error) {
	file, err := openOrCreate(fsys, path)
	if err != nil {
		return nil, err
	}
	if err := awaitLock(file, wait); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// awaitLock waits for the lock on a file for a bounded time: a stopped peer must not stop us for ever.
func awaitLock(file File, most time.Duration) error {
	wait := 10 * time.Microsecond
	var waited time.Duration
	for {
		locked, err := file.TryLock()
		if locked || err != nil {
			return err
		}
		if waited >= most {
			return fmt.Errorf("%w (waited %v); see whether a process that uses it is stopped", ErrLocked, most)
		}
		pause := wait/2 + rand.N(wait) // not all at once
		time.Sleep(pause)
		waited += pause
		wait = min(2*wait, maxPause)
	}
}
