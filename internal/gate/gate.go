// Package gate is the one door: nothing has an effect that did not pass through [Gate.Do].
//
// Do decides by the policy before anything is touched, records every decision, runs a mutation
// once for its key, and fails closed: what cannot be recorded is not done, and what cannot be
// known is said to be inconclusive. [Gate.Visible] says which tools can be seen. A tool's Invoke
// runs only with a [Permit], which only Do can make.
package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// Caller is who asks. Principal is "local" on stdio; a client's own name is never one.
type Caller struct{ Principal string }

// Call is one tools/call, as it was asked for.
type Call struct {
	Caller  Caller
	Name    string
	Tool    *Tool       // nil: there is no tool of that name
	Args    canon.Value // any kind, or absent
	TraceID string      // optional, W3C
}

// Result is the body of a tools/call result: a JSON object without resultType and _meta.
type Result struct{ Body []byte }

// Gate decides, runs and records. It is safe for concurrent use. World and Limits are set before it is used.
type Gate struct {
	// World is what the paths in calls are judged in; the zero World knows no folder.
	World effects.World

	// Limits counts the calls of rules with a limit. Without it, and where it cannot count, such rules allow nothing.
	Limits Limits

	policy atomic.Pointer[policy.Policy]
	ledger *ledger.Ledger
	claims *mutation.Claims
	log    *slog.Logger
}

// Limits counts calls, for all processes of a user together. Take takes a token of each limit, or of none, and returns the
// first one that is used up, with how long until it allows a call.
type Limits interface {
	Take(now time.Time, limits []interlock.Limit) (*interlock.Refusal, error)
}

// New returns a gate over its policy, ledger and claims; none may be nil.
func New(p *policy.Policy, l *ledger.Ledger, c *mutation.Claims, log *slog.Logger) *Gate {
	g := &Gate{ledger: l, claims: c, log: log}
	g.policy.Store(p)
	return g
}

// Policy is what decides calls that begin now.
func (g *Gate) Policy() *policy.Policy { return g.policy.Load() }

// SetPolicy makes p decide all calls that begin from now on.
func (g *Gate) SetPolicy(p *policy.Policy) { g.policy.Store(p) }

// Visible reports whether the policy could allow some call of t. What is not visible is not
// listed, and answered as if it did not exist.
func (g *Gate) Visible(t *Tool) bool { return g.policy.Load().Visible(t.Name) }

// Do carries out one call, or refuses it. It is the only function that runs an effect.
//
// A *DeniedError means that the call was refused and recorded before anything was touched, an
// *UnavailableError that the gate could not do its own work and how far it came; ctx's error
// that the caller went away before anything was begun. Once a mutation is begun it is finished
// and recorded without its caller.
func (g *Gate) Do(ctx context.Context, c Call) (Result, error) {
	pol := g.policy.Load() // one snapshot for the whole call
	if c.Args.Kind() == canon.Null {
		c.Args = canon.Value{} // what the official Go SDK sends where there are no arguments
	}
	digest, digestErr := digestArgs(c.Args)
	rec := &ledger.Record{
		RequestID:    c.requestID(),
		Method:       "tools/call",
		Name:         c.Name,
		Decision:     policy.Allow.String(),
		ArgsDigest:   digest,
		PolicyDigest: pol.Digest(),
		Principal:    c.Caller.Principal,
		TraceID:      c.TraceID,
	}
	request := g.request(pol, c)
	observed, denied := decide(pol, c, request, digestErr)
	if denied == nil {
		denied = g.limit(c.Name, pol.Limits(request))
	}
	noteJudged(rec, observed, &request)
	if denied != nil {
		rec.Decision, rec.Outcome, rec.Rule = policy.Deny.String(), ledger.NotExecuted, denied.Rule
		if err := g.ledger.Append(rec); err != nil {
			return Result{}, g.unavailable(nothing, err)
		}
		return Result{}, denied
	}
	switch {
	case c.Tool.Key != "":
		return g.once(ctx, c, rec)
	case c.Tool.ReadOnly:
		return g.observe(ctx, c, rec)
	}
	return g.forward(ctx, c, rec)
}

// request is a call as a policy judges it. What it would do is looked for only where the policy's language speaks of that.
func (g *Gate) request(pol *policy.Policy, c Call) policy.Request {
	r := policy.Request{Principal: c.Caller.Principal, Method: "tools/call", Tool: c.Name, Args: c.Args}
	if pol.Version() < 2 || c.Tool == nil {
		return r
	}
	declared := pol.Declares(c.Name)
	if declared == nil {
		declared = c.Tool.Effects
	}
	world := g.World
	r.World = &world
	r.Effects = effects.Of(c.Name, c.Args, declared, r.World)
	return r
}

// decide returns why a call may not be carried out, or nil, and what rules in mode observe would have made of it. It
// touches nothing.
func decide(pol *policy.Policy, c Call, r policy.Request, digestErr error) (policy.Observed, *DeniedError) {
	if c.Tool == nil {
		return policy.Observed{}, &DeniedError{Tool: c.Name, Rule: "unknown", Reason: "there is no such tool", Hidden: true}
	}
	decision, why := pol.Evaluate(r)
	if decision != policy.Allow {
		return why.Observed, &DeniedError{Tool: c.Name, Rule: why.Rule, Reason: why.Reason, Hidden: why.Hidden}
	}
	return why.Observed, c.malformed(digestErr)
}

// malformed returns why the tool cannot take the arguments of a call, or nil.
func (c Call) malformed(digestErr error) *DeniedError {
	if digestErr != nil {
		return &DeniedError{Tool: c.Name, Rule: "arguments", Reason: digestErr.Error()}
	}
	if err := c.Tool.Check(c.Args); err != nil {
		return &DeniedError{Tool: c.Name, Rule: "schema", Reason: err.Error()}
	}
	if _, ok := c.key(); !ok && c.Tool.Key != "" {
		return &DeniedError{Tool: c.Name, Rule: "schema", Reason: fmt.Sprintf("argument %q must be a string", c.Tool.Key)}
	}
	return nil
}

// limit takes a token for each rule that allows a call with a limit, or returns why there is none.
func (g *Gate) limit(tool string, limits []policy.Limit) *DeniedError {
	if len(limits) == 0 {
		return nil
	}
	if rule, reason := takeLimits(g.Limits, limits); reason != "" {
		return &DeniedError{Tool: tool, Rule: rule, Reason: reason}
	}
	return nil
}

// observe carries out a call that only reads.
func (g *Gate) observe(ctx context.Context, c Call, rec *ledger.Record) (Result, error) {
	result, err := g.invoke(ctx, c, rec.ArgsDigest)
	rec.Outcome = ledger.Observed
	if err != nil {
		rec.Outcome = ledger.Failed
	}
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	if err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	return result, nil
}

// forward carries out a call that may have an effect but has no key, so that nobody can tell a
// retry from another call: the record comes first.
func (g *Gate) forward(ctx context.Context, c Call, rec *ledger.Record) (Result, error) {
	rec.Outcome = ledger.Forwarded
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	result, err := g.invoke(context.WithoutCancel(ctx), c, rec.ArgsDigest)
	if err != nil {
		return Result{}, g.unavailable(unknown, err)
	}
	return result, nil
}

// invoke runs the tool with a permit for this call. A panic is an error of which nobody knows
// what it left behind.
func (g *Gate) invoke(ctx context.Context, c Call, digest string) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v", c.Tool.Name, p)
		}
	}()
	id, _ := c.key()
	return c.Tool.Invoke(ctx, newPermit(c.Tool.Name, Grant{Caller: c.Caller, Args: c.Args, ID: id}, digest))
}

// digestArgs is the SHA-256 of the canonical arguments; absent ones are {}. Where there is no
// canonical form, of a number that is out of range, it is that of the bytes, and an error.
func digestArgs(args canon.Value) (string, error) {
	if !args.Exists() {
		return emptyDigest, nil
	}
	digest, err := args.Digest()
	var refused *canon.Error
	if errors.As(err, &refused) {
		return digestBytes(args.Bytes()), fmt.Errorf("the arguments cannot be recorded: %s", refused.Detail)
	}
	return digest, err
}

// key is the value of the tool's key argument.
func (c Call) key() (string, bool) { return c.Args.Get(c.Tool.Key).Text() }

// requestID is what the call is filed under in the ledger, whether or not it is allowed.
func (c Call) requestID() string {
	key := "request_id"
	if c.Tool != nil {
		if c.Tool.Label != "" {
			return c.Tool.Label
		}
		if c.Tool.Key != "" {
			key = c.Tool.Key
		}
	}
	if id, ok := c.Args.Get(key).Text(); ok {
		return id
	}
	return ledger.Missing
}
