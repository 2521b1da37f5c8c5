package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/ledger"
)

// Tool is a tool and what the gate must know to run it. Its fields do not change once a gate
// has seen it.
type Tool struct {
	Name       string
	Upstream   string // the server that it belongs to, "" for one of our own. Of an upstream's tool the policy says what it is held to (Policy.Terms), not ReadOnly and Key
	Definition []byte // its row in tools/list: a JSON object, sent as it stands
	ReadOnly   bool   // has no effect
	Key        string // the argument that names a mutation, which is then run once; "" = none
	Idempotent bool   // of a tool of our own without a key: carried out twice it does no harm
	Label      string // stands for the request_id in records of a tool without a key; "" = "missing"

	// Effects says which arguments name what a call does to the world outside of the gate's own state, for policies that
	// judge effects. Nil: the arguments' names say it. A policy's own declaration counts instead.
	Effects *effects.Declaration

	// Check holds the arguments against the tool's own input schema, and says what is wrong
	// without quoting them.
	Check func(args canon.Value) error

	// Invoke has the effect. It must Use the permit before it does anything. Where the tool has a
	// key, an error is NotDone, ErrDone or ErrConflict, or else nobody knows whether the effect is there.
	Invoke func(ctx context.Context, p *Permit) (Result, error)

	// Status words what the gate knows of a mutation without having invoked it now: that it was
	// Committed before a crash, is a Replay (stored is the answer that was given first), is
	// InFlight elsewhere, or a Conflict. Needed where the tool has a key.
	Status func(id string, outcome ledger.Outcome, stored Result) Result

	// Recall is Status where what is known of a mutation may not be all: another tool may have taken its effect back since.
	// It looks. Nil: Status words everything.
	Recall func(caller Caller, id string, outcome ledger.Outcome, stored Result) (Result, error)

	// Look observes whether the effect of a key is there, durably, and returns the digest of the
	// arguments that had it. Nil where the effect cannot be looked up: then a crash between intent
	// and outcome leaves the mutation inconclusive for good.
	Look func(ctx context.Context, caller Caller, id string) (digest string, found bool, err error)
}

// word words what the gate knows of a caller's mutation.
func (t *Tool) word(caller Caller, id string, outcome ledger.Outcome, stored Result) (Result, error) {
	if t.Recall == nil {
		return t.Status(id, outcome, stored), nil
	}
	return t.Recall(caller, id, outcome, stored)
}

var (
	// ErrDone says that the effect of a mutation, durable and with these arguments, was there before.
	ErrDone = errors.New("the effect is there already")
	// ErrConflict says that a mutation's key already stands for other arguments.
	ErrConflict = errors.New("the key stands for another mutation")
)

// NotDone wraps the error of a mutation that certainly had no effect.
type NotDone struct{ Err error }

func (e *NotDone) Error() string { return e.Err.Error() }

func (e *NotDone) Unwrap() error { return e.Err }

// Permit lets a tool carry out one call, once. Only a gate makes one that is good; the zero
// Permit and nil are not.
type Permit struct {
	tool   string
	digest string
	grant  Grant
	used   atomic.Bool

	once      sync.Once // for meanwhile, which a bridge may call beside us
	meanwhile func()    // nil if there is nothing to do
}

// Grant is what a permit allows.
type Grant struct {
	Caller Caller
	Args   canon.Value // as judged
	ID     string      // the value of the tool's key argument
}

// ErrNoPermit says that a tool was run other than by the gate, or twice for one call.
var ErrNoPermit = errors.New("no permit for this call")

func newPermit(tool string, grant Grant, digest string) *Permit {
	return &Permit{tool: tool, digest: digest, grant: grant}
}

// Use redeems the permit for the tool of that name. The arguments are digested once more: they
// must still be what was judged and recorded.
func (p *Permit) Use(tool string) (Grant, error) {
	if p == nil || p.tool == "" || p.tool != tool || p.used.Swap(true) {
		return Grant{}, ErrNoPermit
	}
	if digest, _ := digestArgs(p.grant.Args); digest == "" || digest != p.digest {
		return Grant{}, ErrNoPermit
	}
	return p.grant, nil
}

// Meanwhile does what the gate has to do before it gives the answer away, and what may go on while an upstream works: whoever
// carries out the call calls it when the request is on its way. The gate does it itself where nobody did.
func (p *Permit) Meanwhile() {
	if p.meanwhile != nil {
		p.once.Do(p.meanwhile)
	}
}

var emptyDigest = digestBytes([]byte("{}"))

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
