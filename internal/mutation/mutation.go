// Package mutation runs each mutation once. Whoever wants to run one takes the claim on its key
// ([Claims.Begin]), which excludes everybody else, in this process and in others, for as long as
// the process lives; writes down what it is about to do ([Claim.Intend]) before it does it; and
// writes down what came of it ([Claim.Complete]) before it tells anybody. What the next one to
// take the claim finds, after a retry or after a crash, is then always one of: nothing was
// begun, something was begun and only a look at the world can tell more, or the answer.
//
// Claims own effects; the ledger owns evidence. A claim remembers the record that belongs to its
// outcome until that record is known to be in the ledger. Recovery itself, which needs the
// tools, is the gate's.
package mutation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"sallyport/internal/durable"
)

// Key names a mutation: who wants which tool to do what only once.
type Key struct {
	Principal string
	Tool      string
	ID        string // the request_id
	Upstream  string // the server that has the tool, "" for one of our own
	Round     string // SHA-256 of what a retry that was asked for more brings with it; "" in the first round
}

// keySum is what a key is filed under.
type keySum [sha256.Size]byte

func (k Key) sum() keySum {
	h := sha256.New()
	parts := []string{k.Principal, k.Tool, k.ID}
	if k.Upstream != "" || k.Round != "" { // else it is what older claims are filed under
		parts = append(parts, k.Upstream, k.Round)
	}
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		io.WriteString(h, part)
	}
	return keySum(h.Sum(nil))
}

var (
	// ErrInFlight says that another process has been at the same key for longer than we wait.
	ErrInFlight = errors.New("another process is carrying out the same request")
	// ErrLost says that there is a ledger but not the claims that belong to it.
	ErrLost = errors.New("the claims that belong to this ledger are missing")
	// ErrLedgerLost says that the ledger is missing, or shorter than the claims know it.
	ErrLedgerLost = errors.New("the ledger that belongs to these claims is missing or was cut")
)

// FileName is the name of the claims in their folder.
const FileName = "claims.log"

// peerWait is how long Begin waits for another process before it says ErrInFlight.
const peerWait = 2 * time.Second

// Claims are all claims of one folder, which several processes may share.
// They are safe for concurrent use.
type Claims struct {
	log       *durable.Log[struct{}]
	blobs     blobs
	locks     durable.File
	ledgerEnd int64

	mu   sync.Mutex // guards held
	held map[keySum]chan struct{}

	index *index

	refusal error // not nil: nothing can be claimed
}

// Refusing returns claims of which none can be taken, for the reason given: without claims there
// is no telling what was done before.
func Refusing(why error) *Claims { return &Claims{refusal: why} }

// Open opens the claims in dir and makes them if need be. Where they are missing or empty it asks
// whether there is a ledger that was written with them, and if so returns ErrLost: to begin anew
// would run again what was run before.
func Open(fsys durable.FS, dir string, expected func() (bool, error)) (*Claims, error) {
	path := filepath.Join(dir, FileName)
	found, err := durable.Peek(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("opening the claims: %w", err)
	}
	if found.Size == 0 {
		lost, err := expected()
		if err != nil {
			return nil, fmt.Errorf("looking for mutations in the ledger: %w", err)
		}
		if lost {
			return nil, fmt.Errorf("%s: %w", path, ErrLost)
		}
	}
	log, err := durable.OpenLog(fsys, path, durable.Format[struct{}]{
		Next: func(_ *struct{}, line []byte) (struct{}, error) { return struct{}{}, checkLine(line) },
	})
	if err != nil {
		return nil, fmt.Errorf("opening the claims: %w", err)
	}
	locks, err := fsys.Open(path) // the locks on keys are locks on bytes of the same file
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the claims: %w", err), log.Close())
	}
	c := &Claims{log: log, blobs: blobs{fsys, filepath.Join(dir, BlobDir)}, locks: locks, ledgerEnd: ledgerEnd(found.Line), held: map[keySum]chan struct{}{}, index: newIndex()}
	if found.Size == 0 {
		_, err = log.Append(func(dst []byte, _ *struct{}) []byte {
			return appendLine(dst, header, keySum{}, offsetJSON(0))
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the claims: %w", err), c.Close())
	}
	return c, nil
}

// ledgerEnd is how long the ledger was when the line was written; 0 where that cannot be read: of
// such a line each call will complain.
func ledgerEnd(line []byte) int64 {
	if line == nil {
		return 0
	}
	e, err := parseLine(line)
	if err != nil {
		return 0
	}
	return e.Offset
}

// LedgerEnd is how long the ledger was when the claims, as Open found them, were last written to: a
// shorter one is not whole, or not theirs.
func (c *Claims) LedgerEnd() int64 { return c.ledgerEnd }

// Doubt makes outcomes whose record ended behind a byte of the ledger count as not recorded: the
// ledger lost its end. It must come before any other call.
func (c *Claims) Doubt(ledgerEnd int64) {
	if c.refusal == nil {
		c.index.doubt = max(1, ledgerEnd)
	}
}

// Begin takes the claim on key, and reads its state. A claim held in this process is waited for
// until ctx is done; one held by another process for a short time, then ErrInFlight is returned.
// The caller must Release the claim.
func (c *Claims) Begin(ctx context.Context, key Key) (*Claim, error) {
	return c.begin(ctx, key, peerWait)
}

// TryBegin is Begin without any patience for another process.
func (c *Claims) TryBegin(ctx context.Context, key Key) (*Claim, error) {
	return c.begin(ctx, key, 0)
}

func (c *Claims) begin(ctx context.Context, key Key, patience time.Duration) (*Claim, error) {
	if c.refusal != nil {
		return nil, c.refusal
	}
	sum := key.sum()
	if err := c.hold(ctx, sum); err != nil {
		return nil, err
	}
	claim := &Claim{claims: c, key: key, sum: sum}
	if err := claim.lockOut(ctx, patience); err != nil {
		c.drop(sum)
		return nil, err
	}
	if err := claim.read(); err != nil {
		claim.Release()
		return nil, err
	}
	return claim, nil
}

// hold keeps the other callers of this process away from a key.
func (c *Claims) hold(ctx context.Context, sum keySum) error {
	for {
		c.mu.Lock()
		done, taken := c.held[sum]
		if !taken {
			c.held[sum] = make(chan struct{})
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Claims) drop(sum keySum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.held[sum])
	delete(c.held, sum)
}

// Unsettled returns the keys whose claim has an intent without an outcome, or an outcome that
// is not known to be in the ledger. Some may be at work in another process this moment.
func (c *Claims) Unsettled() ([]Key, error) {
	if c.refusal != nil {
		return nil, c.refusal
	}
	if err := c.index.catchUp(c.log); err != nil {
		return nil, err
	}
	var keys []Key
	for _, at := range c.index.unsettled() {
		e, err := c.entryAt(at)
		if err != nil {
			return nil, err
		}
		keys = append(keys, e.key)
	}
	return keys, nil
}

// Spent reports whether an intent that was not taken back used up an approval. Where that cannot be told it counts as spent.
func (c *Claims) Spent(approval string) (bool, error) {
	if c.refusal != nil {
		return true, c.refusal
	}
	if err := c.index.catchUp(c.log); err != nil {
		return true, fmt.Errorf("looking for an approval in the claims: %w", err)
	}
	return c.index.isSpent(approval), nil
}

// Look returns what is known of key without taking the claim on it: it may be at work.
func (c *Claims) Look(key Key) (Entry, error) {
	if c.refusal != nil {
		return Entry{}, c.refusal
	}
	if err := c.index.catchUp(c.log); err != nil {
		return Entry{}, err
	}
	at, ok := c.index.find(key.sum())
	if !ok {
		return Entry{}, nil
	}
	e, err := c.entryAt(at)
	return e.Entry, err
}

// entryAt reads and checks the line that the index points to.
func (c *Claims) entryAt(at place) (entry, error) {
	line := make([]byte, at.length)
	err := c.log.View(func(r io.ReaderAt, _ int64) error {
		_, err := r.ReadAt(line, at.offset)
		return err
	})
	if err != nil {
		return entry{}, fmt.Errorf("reading a claim: %w", err)
	}
	e, err := parseLine(line)
	if err != nil {
		return entry{}, fmt.Errorf("the claim at byte %d: %w: %w", at.offset, durable.ErrDamaged, err)
	}
	e.Recorded = at.settled
	return e, nil
}

// Close closes the claims. It must be the last call.
func (c *Claims) Close() error {
	if c.refusal != nil {
		return nil
	}
	return errors.Join(c.log.Close(), c.locks.Close())
}
