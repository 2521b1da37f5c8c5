package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
)

// LatchRule is the id under which calls are refused while an operator must look first.
const LatchRule = "latch"

// errVoid says that what a person agreed to is void before it was used, since the policy changed or since it took too long, so
// that the call must be judged again.
var errVoid = errors.New("what a person agreed to is void")

// scope is what a call with an effect may be held back in.
func (c *Call) scope() interlock.Scope {
	return interlock.Scope{Principal: c.Caller.Principal, Server: c.upstream()}
}

// clearance is what a call got that may now have its effect. Whoever has one must leave it.
type clearance struct {
	lane  *interlock.Lane // of a call that is verified; else nil
	begun bool            // the lane says that there is something to be verified
}

// leave lets the next verified call of the scope on.
func (cl *clearance) leave() {
	if cl.lane != nil {
		cl.lane.Leave()
	}
}

// clear takes back that there is something to be verified. Where that cannot be done, whoever comes next finds out by the
// claims or the ledger.
func (g *Gate) clear(cl *clearance) {
	if cl.lane == nil || !cl.begun {
		return
	}
	cl.begun = false
	if err := cl.lane.Clear(); err != nil {
		g.log.Error("a verified call could not be taken off the stop latch's file; the next one will", "error", err)
	}
}

// admit lets a call on that may have an effect: nothing holds back its scope, a person agreed where the policy asks for
// that, and a call that is verified has the lane of its scope. The order is that of how long each may take: whoever waits
// for a person does not have the lane, and whoever has the lane waits for no claim.
func (g *Gate) admit(ctx context.Context, c *Call, w *course) (*clearance, error) {
	if err := g.allowedOn(ctx, c, w); err != nil {
		return nil, err
	}
	cl := &clearance{}
	if w.verified() {
		lane, err := g.enter(ctx, c, w)
		if err != nil {
			return nil, err
		}
		if denied := g.blind(ctx, c, w); denied != nil {
			lane.Leave()
			return nil, g.deny(w, denied)
		}
		cl.lane = lane
	} else if w.asks != nil { // it may have taken a while
		if err := g.unlatched(ctx, c, w); err != nil {
			return nil, err
		}
	}
	if w.asks != nil && (g.policy.Load().Digest() != w.pol.Digest() || w.expires > 0 && time.Now().UnixNano() >= w.expires) {
		cl.leave()
		w.approval, w.expires = "", 0
		return nil, errVoid
	}
	return cl, nil
}

// allowedOn finds out whether the scope is held back, before a person is bothered, and then asks the person. Of a call that
// is verified and about which nobody is asked, the lane will tell.
func (g *Gate) allowedOn(ctx context.Context, c *Call, w *course) error {
	if w.asks == nil && w.verified() {
		return nil
	}
	if err := g.unlatched(ctx, c, w); err != nil || w.asks == nil || w.approval != "" {
		return err
	}
	approval, err := g.agree(ctx, c, w)
	w.approval = approval
	return err
}

// unlatched refuses a call with an effect whose scope is stopped, or may be. What a crash left unverified is verified first.
func (g *Gate) unlatched(ctx context.Context, c *Call, w *course) error {
	if w.readOnly || g.Stops == nil {
		return nil
	}
	standing, stop, err := g.Stops.Check(c.scope())
	switch {
	case err == nil && (standing == interlock.Clear || standing == interlock.Busy):
		return nil
	case err == nil && standing == interlock.Left:
		lane, err := g.enter(ctx, c, w)
		if err != nil {
			return err
		}
		lane.Leave()
		return nil
	}
	return g.heldBack(c, w, standing, stop, err)
}

// enter takes the lane of a call's scope, and verifies what a crash left there.
func (g *Gate) enter(ctx context.Context, c *Call, w *course) (*interlock.Lane, error) {
	lane, err := g.Stops.Enter(ctx, c.scope())
	if err != nil {
		if ctx.Err() != nil {
			_, err := g.gone(ctx, w.rec)
			return nil, err
		}
		return nil, g.heldBack(c, w, interlock.Unknown, nil, err)
	}
	standing, stop, left := lane.Found()
	if standing == interlock.Left {
		standing = interlock.Clear
		if stop, err = g.seeTo(ctx, c, w.pol, lane, left); err != nil {
			standing = interlock.Unknown
		} else if stop != nil {
			standing = interlock.Stopped
		}
	}
	if standing != interlock.Clear {
		lane.Leave()
		return nil, g.heldBack(c, w, standing, stop, err)
	}
	return lane, nil
}

// heldBack refuses a call, on record, because of how its scope stands.
func (g *Gate) heldBack(c *Call, w *course, standing interlock.Standing, stop *interlock.Stop, cause error) error {
	if standing != interlock.Stopped {
		g.log.Error("a call was refused since it cannot be told whether changes are stopped", "server", c.upstream(), "error", cause)
	}
	return g.deny(w, heldBack(c, standing, stop))
}

// heldBack words how the scope of a call stands that must not happen.
func heldBack(c *Call, standing interlock.Standing, stop *interlock.Stop) *DeniedError {
	reason := "whether an earlier call left what it should cannot be told, so nothing may be changed here: the server's log says why"
	if standing == interlock.Stopped && stop != nil {
		reason = "stopped: " + stop.Reason + "; look at what is there, then an operator runs sallyport release"
	}
	return &DeniedError{Tool: c.Name, Rule: LatchRule, Reason: reason}
}

// begin makes durable that a call is about to be carried out: by write its intent, nil where it has no claim; and beside that,
// of one that is verified, what whoever comes after a crash needs to verify and to record it. If it fails, nothing may be
// sent, and what write did is for the caller to take back.
func (g *Gate) begin(c *Call, w *course, cl *clearance, write func() error) error {
	if cl.lane == nil {
		return write()
	}
	cl.begun = true
	if err := cl.lane.BeginBeside(w.left(c, g.ledger.End()), write); err != nil {
		g.clear(cl)
		return fmt.Errorf("writing down what is to be verified, or the call: %w", err)
	}
	return nil
}

// conclude looks at what a call left, where its rules want it to be verified, and makes its record durable, with what came
// of the look. w.rec has the outcome; result is the zero one where there was no answer. An error other than errEnding says
// that it could not be recorded.
func (g *Gate) conclude(ctx context.Context, c *Call, w *course, cl *clearance, result Result) (Checks, error) {
	if cl.lane == nil {
		return Unchecked, g.ledger.Append(w.rec)
	}
	var f finding
	switch {
	case w.rec.Outcome == ledger.Failed: // by the server's own word: an ordinary mistake, which stops nobody
		f.settled = true
	case result.Open && !result.Task: // the call goes on when the client answers
		f.settled = true
	case result.Task:
		f = taskFinding(w.terms.Verify)
	default:
		f = g.verify(ctx, c, w.pol, w.remains(c, result))
	}
	f.mark(w.rec)
	_, claimed := w.key(c)
	return g.settleFound(cl.lane, c.scope(), w.rec, f, claimed)
}

// settleFound makes a record durable with what was found, and then what follows from it: the scope is stopped, or it is clear.
// A stop does not wait for the ledger: where the record cannot be written it holds all the same, and keeps the record. Where the
// call has a claim, that has the call's own record; the stop keeps the verdict.
func (g *Gate) settleFound(lane *interlock.Lane, scope interlock.Scope, rec *ledger.Record, f finding, claimed bool) (Checks, error) {
	err := g.ledger.AppendAll(append([]*ledger.Record{rec}, f.looks...)...)
	switch {
	case f.verdict == Stop:
		stop := interlock.Stop{Scope: scope, Tool: rec.Name, Rule: f.rule, Reason: f.reason, Attempt: rec.Attempt, Time: time.Now().UnixNano()}
		if err != nil {
			kept := *rec
			if claimed {
				kept.Outcome = ledger.Observed
			}
			stop.Record = keptRecord(&kept)
		}
		if stopErr := lane.Stop(stop); stopErr != nil { // what Begin wrote stays, or the stop is there for all we know
			g.log.Error("a stop could not be written; it will be before the next change", "server", scope.Server, "error", stopErr)
		}
		g.log.Warn("changes are stopped until an operator releases them: see sallyport release", "server", scope.Server,
			"tool", rec.Name, "rule", f.rule, "reason", f.reason, "attempt", rec.Attempt)
		return Differed, err
	case !f.settled: // the process ends: whoever comes next looks
		return Unchecked, errors.Join(errEnding, err)
	case err != nil: // what is not on record is looked at again
		return Unchecked, err
	}
	g.clear(&clearance{lane: lane, begun: true})
	if f.verdict == Continue {
		return Held, nil
	}
	return Unchecked, nil
}

// errEnding says that the process came to its end before it was seen what a call left.
var errEnding = errors.New("the process ends before what the call left could be looked at")

// checksOf says what came of looking at what an earlier attempt left, which a claim knows of. What a crash kept from being
// looked at is looked at first.
func (g *Gate) checksOf(ctx context.Context, c *Call, w *course, attempt string, offset int64) (Checks, error) {
	if !w.verified() {
		return Unchecked, nil
	}
	verdict, err := g.ledger.VerdictOn(attempt, offset)
	if err != nil || verdict != "" {
		return checksBy(verdict), err
	}
	standing, stop, err := g.Stops.Check(c.scope())
	switch {
	case err != nil || standing == interlock.Unknown:
		return Differed, err
	case standing == interlock.Stopped && stop.Attempt == attempt: // its record could not be written
		return Differed, nil
	case standing == interlock.Clear || standing == interlock.Stopped:
		return Unchecked, nil // it was carried out before there was such a rule
	}
	lane, err := g.Stops.Enter(ctx, c.scope())
	if err != nil {
		return Differed, err
	}
	defer lane.Leave()
	if standing, _, left := lane.Found(); standing == interlock.Left && leftAttempt(left) == attempt {
		if _, err := g.seeTo(ctx, c, w.pol, lane, left); err != nil {
			return Differed, err
		}
	}
	verdict, err = g.ledger.VerdictOn(attempt, offset)
	return checksBy(verdict), err
}

func checksBy(verdict string) Checks {
	switch verdict {
	case "":
		return Unchecked
	case Continue:
		return Held
	}
	return Differed
}

// unverifiable returns why what a call leaves could not be looked at, so that it must not happen; nil if it could, or need not be.
func (g *Gate) unverifiable(c *Call, w *course, digestErr error) *DeniedError {
	for _, v := range w.terms.Verify {
		reason := ""
		switch {
		case v.Content:
			reason = "the rule verifies the content of files (verify: content), which is for hooks: here it must say by which tool to look"
		case g.Stops == nil:
			reason = "the rule verifies what a call did, and there is nowhere to stop what comes after it"
		case c.Observe == nil:
			reason = "the rule verifies what a call did, and nothing can be observed on this way"
		case digestErr != nil:
			reason = "the rule verifies what a call did, and these arguments have no canonical form by which to tell"
		}
		if reason != "" {
			return &DeniedError{Tool: c.Name, Rule: v.Rule, Reason: reason}
		}
	}
	if !w.verified() {
		return nil
	}
	w.args = []byte("{}")
	if c.Args.Exists() {
		w.args, _ = c.Args.AppendCanonical(nil) // which the digest was made of
	}
	if len(w.args) > mostVerified {
		return &DeniedError{Tool: c.Name, Rule: w.terms.Verify[0].Rule,
			Reason: fmt.Sprintf("the rule verifies what a call did, and the arguments are larger than the %d bytes that can be kept for that", mostVerified)}
	}
	return nil
}
