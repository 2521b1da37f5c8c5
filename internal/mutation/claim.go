package mutation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/durable"
)

// Claim is the sole right to a key until Release. What was known of the key when the claim was
// taken is in Entry. A Claim is for one goroutine at a time.
type Claim struct {
	Entry
	claims *Claims
	key    Key
	sum    keySum
}

// Key returns the key that is claimed.
func (c *Claim) Key() Key { return c.key }

// lockOut keeps other processes away from the key. The kernel lets go of it if this one dies.
func (c *Claim) lockOut(ctx context.Context, patience time.Duration) error {
	wait := 100 * time.Microsecond
	for start := time.Now(); ; wait = min(2*wait, 20*time.Millisecond) {
		locked, err := c.claims.locks.TryLockByte(c.sum.lockOffset())
		switch {
		case err != nil:
			return fmt.Errorf("locking a claim: %w", err)
		case locked:
			return nil
		case time.Since(start) >= patience:
			return ErrInFlight
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lockOffset spreads keys over the 2^62 bytes that any platform can lock.
func (s keySum) lockOffset() int64 { return int64(binary.BigEndian.Uint64(s[:8]) >> 2) }

func (c *Claim) read() error {
	e, err := c.claims.Look(c.key)
	c.Entry = e
	return err
}

// Intent is what is written down before a mutation is carried out.
type Intent struct {
	Attempt     string // from NewAttempt
	Fingerprint string // SHA-256 of the canonical arguments
	Offset      int64  // the ledger's end now
	Time        int64  // now, in nanoseconds since the epoch
	Record      []byte // the body of the record that belongs to it if nothing more becomes known
	Approval    string // the approval that is used up by it; "" if it needed none
}

// NewAttempt returns an id that no other attempt has.
func NewAttempt() string { return durable.RandomID() }

// Intend makes durable that the mutation is about to be carried out, and only then returns nil.
// Nothing may be dispatched before.
func (c *Claim) Intend(i Intent) error {
	before := c.Entry
	c.Entry = Entry{
		State: Intended, Attempt: i.Attempt, Fingerprint: i.Fingerprint, Approval: i.Approval, Offset: i.Offset, Time: i.Time, Record: i.Record,
	}
	if err := c.write(Intended, nil); err != nil {
		c.Entry = before
		return fmt.Errorf("writing the intent: %w", err)
	}
	return nil
}

// Outcome is what is written down when it is known what became of a mutation.
type Outcome struct {
	Word   string // in the ledger's words
	Form   string // what kind of answer Result is, in the words of whoever reads it
	Result []byte // the answer, of any size
	Record []byte // the body of the record that has to follow in the ledger
}

// Complete makes the outcome of an intent durable. An ErrAnswerLost says that the outcome is, but not its answer.
func (c *Claim) Complete(o Outcome) error { return c.CompleteNoting(o, nil) }

// CompleteNoting is Complete that calls written, where that is not nil, when the outcome is in the file and about to become
// durable; not where it could not be written. It must not block. What is done between that and the return is never left
// without the outcome by a process that dies; by a machine that dies it may be.
func (c *Claim) CompleteNoting(o Outcome, written func()) error {
	before := c.Entry
	c.Entry.State, c.Entry.Outcome, c.Entry.Form, c.Entry.Record = Done, o.Word, o.Form, o.Record
	c.Entry.Result, c.Entry.Blob = o.Result, ""
	var lost error
	if needsBlob(o.Result) {
		c.Entry.Result = []byte{}
		c.Entry.Blob, lost = c.claims.blobs.put(o.Result)
	}
	if err := c.write(Done, written); err != nil {
		c.Entry = before
		return errors.Join(fmt.Errorf("writing the outcome: %w", err), lost)
	}
	return lost
}

// Answer is the answer of a Done claim, from wherever it is kept. An ErrAnswerLost says that it is not there any more, or
// not what it was.
func (c *Claim) Answer() ([]byte, error) {
	if c.Blob == "" {
		return c.Result, nil
	}
	return c.claims.blobs.get(c.Blob)
}

// Free takes an intent back of which it is certain that nothing came: the key is as if never used, and so is the approval that
// it used up.
func (c *Claim) Free() error {
	if err := c.write(free, nil); err != nil {
		return fmt.Errorf("taking the intent back: %w", err)
	}
	c.Entry = Entry{}
	return nil
}

// MarkRecorded notes that the outcome's record is in the ledger, which now ends at ledgerEnd. It
// is a hint that spares the next one a look into the ledger; a crash may lose it.
func (c *Claim) MarkRecorded(ledgerEnd int64) {
	sum := c.sum
	c.claims.log.AppendLater(func(dst []byte, _ *struct{}) []byte {
		return appendLine(dst, recorded, sum, offsetJSON(ledgerEnd))
	})
	c.claims.index.settle(sum)
	c.Recorded = true
}

func (c *Claim) write(state State, written func()) error {
	e := entry{Entry: c.Entry, key: c.key}
	json := e.json()
	if state == free {
		json = offsetJSON(e.Offset)
	}
	var length int
	end, err := c.claims.log.AppendNoting(func(dst []byte, _ *struct{}) []byte {
		start := len(dst)
		dst = appendLine(dst, state, c.sum, json)
		length = len(dst) - start
		return dst
	}, written)
	if err == nil {
		c.claims.index.put(c.sum, place{offset: end - int64(length), length: int32(length), state: state})
	}
	return err
}

// Release lets go of the key.
func (c *Claim) Release() {
	// An unlock can only fail where the lock is gone already.
	c.claims.locks.UnlockByte(c.sum.lockOffset())
	c.claims.drop(c.sum)
}
