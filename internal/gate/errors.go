package gate

import (
	"errors"
	"syscall"

	"sallyport/internal/durable"
	"sallyport/internal/mutation"
)

// DeniedError says that the policy, or the tool's own schema, refused a call before any effect.
type DeniedError struct {
	Tool   string
	Rule   string // the rule's id
	Reason string // for the caller; quotes no argument
	Hidden bool   // the caller must not learn that the tool exists, nor the rule and the reason
}

func (e *DeniedError) Error() string { return "tool denied: " + e.Tool }

// done is how much of a call had happened when the gate failed.
type done int

const (
	nothing    done = iota // no effect
	unknown                // an effect was begun
	unrecorded             // the effect is there and durable
	unread                 // a call that only reads was sent
	unkeyed                // a call that nothing can tell from another one was begun
	unsettled              // a mutation was sent to an upstream
	harmless               // the same, where the policy says that it can be sent again
	before                 // the effect is there from before
	carriedOut             // the call was answered
	owed                   // a call that nothing can tell from another one was answered, and its record is still to come
)

var doneWords = map[done]string{
	nothing:    "nothing was done",
	unknown:    "inconclusive: it may or may not have been done; the same request_id can be sent again and will not be done twice",
	unrecorded: "inconclusive: it was done but could not be recorded; send the same request_id again when this is mended, it will not be done twice",
	unread:     "inconclusive: no answer came; the call only reads, and can be sent again",
	unkeyed:    "inconclusive: it may or may not have been done, and if it is sent again it may be done twice",
	unsettled:  "inconclusive: it may or may not have been done; with this request_id it will not be sent again until an operator settles it",
	harmless:   "inconclusive: it may or may not have been done; the same request_id can be sent again, which the policy calls harmless",
	before:     "it was done before, and will not be done again",
	carriedOut: "the call itself was carried out",
	owed:       "the call itself was carried out: do not send it again; it is recorded when this is mended, before the next change here",
}

// UnavailableError says that the gate could not do its own work, how far a call came, and what
// to do. It holds no paths and no arguments.
type UnavailableError struct {
	done done
	err  error
}

func (e *UnavailableError) Error() string { return advice(e.err) + " (" + doneWords[e.done] + ")" }

func (e *UnavailableError) Unwrap() error { return e.err }

// NothingDone reports whether it is certain that the call had no effect.
func (e *UnavailableError) NothingDone() bool { return e.done == nothing }

// unavailable words a failure for the caller and tells operators the whole of it.
func (g *Gate) unavailable(how done, err error) error {
	g.log.Error("a call could not be carried out", "effect", doneWords[how], "error", err)
	return &UnavailableError{done: how, err: err}
}

// causes are the failures that somebody can do something about, the most telling first.
var causes = []struct {
	is     error
	advice string
}{
	{errUnattended, "the conversation ended before a person agreed to the call: the approval stays, and the same call sent again finds it"},
	{errEnding, "the server is ending, and what the call left was not looked at: that comes before the next change"},
	{errDiffered, "it was not confirmed, and what is there is not what the rules expect: changes are stopped until an operator looks and runs sallyport release"},
	{errHeld, "no answer came, but what is there is what the rules expect"},
	{errUpstream, "the server behind the gate could not be reached or gave no answer: the log says why"},
	{mutation.ErrAnswerLost, "the answer that was stored is missing or damaged: restore the folder blobs beside claims.log"},
	{durable.ErrBroken, "a write to the disk failed: see to the disk (if it is full, free some space), then restart the server"},
	{syscall.ENOSPC, "the disk is full: free some space, then retry"},
	{syscall.EFBIG, "a file may not grow any more: raise the limit on file sizes (ulimit -f), then retry"},
	{syscall.EDQUOT, "the disk quota is used up: free some space, then retry"},
	{mutation.ErrLost, "the claims that belong to this ledger are missing: restore them with the ledger, or start a new ledger folder"},
	{mutation.ErrLedgerLost, "the ledger is missing, or shorter than its claims know it: restore it, or start a new ledger folder"},
	{durable.ErrReplaced, "the ledger or its claims were replaced, removed or cut while in use: put them back and restart the server"},
	{durable.ErrDamaged, "the ledger or its claims do not verify: run sallyport verify; if it says whole, claims.log is what was changed; restore it"},
	{durable.ErrLocked, "another process holds a lock on the state folder and does not let go: see whether it is stopped"},
	{durable.ErrUnsupported, "sallyport cannot yet lock files and sync folders on this platform, so it refuses every call there"},
	{errAnswered, "an earlier attempt with this request_id was carried out, and its answer was lost in a crash: an operator can settle it (sallyport claims)"},
	{errInconclusive, "an earlier attempt with this request_id was cut off: find out whether it happened before you try another"},
}

var (
	errDiffered = errors.New("what is there is not what the rules expect")
	errHeld     = errors.New("what is there is what the rules expect")
)

// seenAs says what came of looking at what a call left that was not answered.
var seenAs = [...]error{Unchecked: nil, Held: errHeld, Differed: errDiffered}

// errUnattended says that nobody waits any more for a person to agree.
var errUnattended = errors.New("the conversation ended while a person was asked")

// withheldError says that a result may not pass, in words for the caller.
type withheldError struct{ err error }

func (e *withheldError) Error() string { return "the result was withheld: " + e.err.Error() }

func (e *withheldError) Unwrap() error { return e.err }

func advice(err error) string {
	var withheld *withheldError
	if errors.As(err, &withheld) {
		return withheld.Error()
	}
	var lost *mutation.AnswerLostError
	if errors.As(err, &lost) {
		return adviceFor(err) + " (SHA-256 " + lost.SHA256 + ")"
	}
	return adviceFor(err)
}

func adviceFor(err error) string {
	for _, c := range causes {
		if errors.Is(err, c.is) {
			return c.advice
		}
	}
	return "the gate could not do its work: the server's log says why"
}
