package interlock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// Matter is what a person is asked to agree to: one call, once.
type Matter struct {
	Principal, Tenant string
	Upstream          string // "" for a tool of our own
	Method, Tool      string
	Digest            string // SHA-256 of the canonical arguments
	Key               string // what names the mutation, "" where nothing does
	Round             string // SHA-256 of what the retry of a request that needed input brings; "" in the first round
	Policy            string // SHA-256 of the policy that asks: another policy is another matter
}

// Verdict is what a person said.
type Verdict string

const (
	Waiting Verdict = "waiting"
	Agreed  Verdict = "approved"
	Refused Verdict = "denied"
)

// Approval is a matter that was put to a person.
type Approval struct {
	ID string // unique; 16 hex digits
	Matter
	Rule, Reason string      // of the policy that asks
	Args         canon.Value // for the person to see; of at most 64 KiB, else absent
	Created      int64       // nanoseconds since the epoch
	Expires      int64       //
	Verdict      Verdict
	By           string // "operator" (at the terminal) or "elicitation" (through the client); "" while it waits
	Note         string // what the person said to it
}

// Approvals are the approvals kept in one folder. They are safe for concurrent use, by several processes too.
//
// Each is in a file of its own, which is named by its matter and replaced as a whole. Who writes has the folder's lock, who
// reads needs none.
type Approvals struct {
	fsys durable.FS
	dir  string

	writing chan struct{} // has one in it while something is written
	refused time.Time     // when the lock was last waited for in vain; whoever writes has it

	mu    sync.Mutex           // guards names
	names map[string]string    // by id, where an approval is or was
	full  map[string]time.Time // when a principal last had no room: a flood of its must not keep the others from the lock
}

const (
	approvalsLock = "lock"
	answerWait    = 5 * time.Second // how long writers wait for another process

	mostWaiting = 1000 // approvals of one principal that wait
	mostAsked   = 4000 // approvals of one principal that have not expired

	// pollEach is how often Await looks.
	pollEach = 250 * time.Millisecond
)

var (
	// ErrNoApproval says that nothing waits under that id.
	ErrNoApproval = errors.New("no call waits for approval under this id")
	// ErrTooManyApprovals says that a principal asks more than people can answer.
	ErrTooManyApprovals = errors.New("too many calls of this principal were put to a person; answer some, or let them expire")
)

// OpenApprovals returns the approvals kept in a folder, which is made when the first is needed.
func OpenApprovals(fsys durable.FS, dir string) *Approvals {
	return &Approvals{fsys: fsys, dir: dir, writing: make(chan struct{}, 1), names: map[string]string{}, full: map[string]time.Time{}}
}

// fileName is where the approval of a matter is. It begins with what all of a principal's have in common.
func (m Matter) fileName() string {
	sum := sumOf(m.Principal, m.Tenant, m.Upstream, m.Method, m.Tool, m.Digest, m.Key, m.Round, m.Policy)
	return ofPrincipal(m.Principal) + sum.name()
}

func ofPrincipal(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8]) + "-"
}

// isApprovalName tells the files of approvals from the others in the folder.
func isApprovalName(name string) bool {
	before, after, ok := strings.Cut(name, "-")
	_, isSum := sumNamed(after)
	return ok && len(before) == 16 && isSum
}

// Find returns the approval of a matter that has not expired, nil if there is none. Whether an approved one was used already
// is for the claims to say (mutation.Claims.Spent).
func (a *Approvals) Find(m Matter, now time.Time) (*Approval, error) {
	found, err := a.read(m.fileName())
	if err != nil {
		return nil, fmt.Errorf("looking for an approval: %w", err)
	}
	if found == nil || found.expired(now) {
		return nil, nil
	}
	return found, nil
}

func (p *Approval) expired(now time.Time) bool { return now.UnixNano() >= p.Expires }

// Put puts a matter to a person, durably: p has all but ID and Verdict. Where one waits already it returns that; an older
// one of the matter is replaced. Arguments of more than 64 KiB are left out, and long reasons cut. The error is
// ErrTooManyApprovals where a thousand of the principal's wait.
func (a *Approvals) Put(p Approval, now time.Time) (*Approval, error) {
	p.ID, p.Verdict, p.By, p.Note = durable.RandomID(), Waiting, "", ""
	p.Rule, p.Reason = cut(p.Rule), cut(p.Reason)
	if p.Created == 0 {
		p.Created = now.UnixNano()
	}
	text, err := p.encode()
	if err == nil && p.expired(now) {
		err = errors.New("it has expired already")
	}
	if err != nil {
		return nil, fmt.Errorf("putting a call to a person: %w", err)
	}
	name := p.fileName()
	if a.isFull(p.Principal, now) {
		if old, err := a.read(name); err == nil && old != nil && old.Verdict == Waiting && !old.expired(now) {
			return old, nil
		}
		return nil, fmt.Errorf("putting a call to a person: %w", ErrTooManyApprovals)
	}
	var put *Approval
	err = a.locked(func() error {
		if old, err := a.read(name); err == nil && old != nil && old.Verdict == Waiting && !old.expired(now) {
			put = old
			return nil
		}
		if err := a.makeRoom(p.Principal, now); err != nil {
			if errors.Is(err, ErrTooManyApprovals) {
				a.setFull(p.Principal, now)
			}
			return err
		}
		if err := a.write(name, text); err != nil {
			return err
		}
		put, err = a.read(name) // as everybody else sees it
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("putting a call to a person: %w", err)
	}
	return put, nil
}

// fullFor is how long a principal that had no room is not looked at again.
const fullFor = time.Second

func (a *Approvals) isFull(principal string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, full := a.full[principal]
	if full && now.Sub(since).Abs() >= fullFor {
		delete(a.full, principal)
		return false
	}
	return full
}

func (a *Approvals) setFull(principal string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.full[principal] = now
}

// hasRoom tells that one of a principal's was answered or removed.
func (a *Approvals) hasRoom(principal string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.full, principal)
}

// Sweep removes all that expired, whoever's it was, and what the dead left: approvals hold arguments.
func (a *Approvals) Sweep(now time.Time) error {
	names, err := a.fsys.Names(a.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	expired := func() bool {
		for _, name := range names {
			if p, err := a.readHead(name); isApprovalName(name) && err == nil && p != nil && p.expired(now) {
				return true
			}
		}
		return false
	}
	if !expired() {
		return nil
	}
	return a.locked(func() error {
		errs := []error{durable.Sweep(a.fsys, a.dir)}
		for _, name := range names {
			if !isApprovalName(name) {
				continue
			}
			if p, err := a.readHead(name); err == nil && p != nil && p.expired(now) {
				errs = append(errs, a.fsys.Remove(filepath.Join(a.dir, name)))
			}
		}
		return errors.Join(errs...)
	})
}

// makeRoom finds out whether one more of a principal's has room. Where so many files are there that it may not, it removes
// what expired, and what the dead left, and counts: to read them all each time would let a flood hold up everybody.
func (a *Approvals) makeRoom(principal string, now time.Time) error {
	names, err := a.fsys.Names(a.dir)
	if err != nil {
		return err
	}
	files := 0
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, ofPrincipal(principal)):
			files++
		case !isApprovalName(name) && name != approvalsLock:
			if err := durable.Sweep(a.fsys, a.dir); err != nil {
				return err
			}
		}
	}
	if files < mostWaiting {
		return nil
	}
	waiting, all := 0, 0
	for _, name := range names {
		if !strings.HasPrefix(name, ofPrincipal(principal)) || !isApprovalName(name) {
			continue
		}
		p, err := a.readHead(name)
		if err == nil && p != nil && p.expired(now) {
			if err := a.fsys.Remove(filepath.Join(a.dir, name)); err != nil {
				return err
			}
			continue
		}
		all++
		if err == nil && p != nil && p.Verdict == Waiting {
			waiting++
		}
	}
	if waiting >= mostWaiting || all >= mostAsked {
		return ErrTooManyApprovals
	}
	return nil
}

// Decide writes down what a person said, durably. It is an error (ErrNoApproval) if there is none of that id that waits.
func (a *Approvals) Decide(id string, v Verdict, by, note string, now time.Time) (*Approval, error) {
	if v != Agreed && v != Refused {
		return nil, fmt.Errorf("deciding on %s: %q is no answer", id, v)
	}
	var decided *Approval
	err := a.locked(func() error {
		name, p, err := a.byID(id)
		if err != nil {
			return err
		}
		if p == nil || p.Verdict != Waiting || p.expired(now) {
			return ErrNoApproval
		}
		p.Verdict, p.By, p.Note = v, cut(by), cut(note)
		a.hasRoom(p.Principal)
		text, err := p.encode()
		if err != nil {
			return err
		}
		if err := a.write(name, text); err != nil {
			return err
		}
		decided, err = a.read(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("deciding on %s: %w", id, err)
	}
	return decided, nil
}

// Await waits until the approval of that id is decided or expired (nil), or ctx is done. It looks four times a second. One that
// was removed, or replaced by a later one of its matter, counts as expired.
func (a *Approvals) Await(ctx context.Context, id string) (*Approval, error) {
	for {
		_, p, err := a.byID(id)
		if err != nil {
			return nil, fmt.Errorf("waiting for an approval: %w", err)
		}
		now := time.Now()
		if p == nil || p.expired(now) {
			return nil, nil
		}
		if p.Verdict != Waiting {
			return p, nil
		}
		timer := time.NewTimer(min(pollEach, time.Duration(p.Expires-now.UnixNano())))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// Remove removes an approval that was used. It is no error if it is not there any more. A crash may bring it back; that it was
// used is written in the claims.
func (a *Approvals) Remove(id string) error {
	if err := a.fsys.IsOwnDir(a.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := a.locked(func() error {
		name, p, err := a.byID(id)
		if err != nil || p == nil {
			return err
		}
		a.mu.Lock()
		delete(a.names, id)
		a.mu.Unlock()
		a.hasRoom(p.Principal)
		return a.fsys.Remove(filepath.Join(a.dir, name))
	})
	if err != nil {
		return fmt.Errorf("removing the approval %s: %w", id, err)
	}
	return nil
}

// List returns the approvals that have not expired, the oldest first. Where some cannot be read it returns the others, and an
// error that says which.
func (a *Approvals) List(now time.Time) ([]Approval, error) {
	names, err := a.list()
	if err != nil {
		return nil, fmt.Errorf("listing approvals: %w", err)
	}
	var approvals []Approval
	var unread []error
	for _, name := range names {
		p, err := a.read(name)
		if err != nil {
			unread = append(unread, fmt.Errorf("listing approvals: %w", err))
		} else if p != nil && !p.expired(now) {
			approvals = append(approvals, *p)
		}
	}
	slices.SortStableFunc(approvals, func(a, b Approval) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	return approvals, errors.Join(unread...)
}
