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
type Caller struct {
	Principal string
	Tenant    string // optional
}

// Call is one request for an effect, as it was asked for: a tools/call, or another request to an upstream.
type Call struct {
	Caller  Caller
	Method  string      // "" stands for "tools/call"
	Name    string      // of the tool, as exposed; of another method: the prompt's name, the resource's URI, or ""
	Tool    *Tool       // nil: there is no tool of that name
	Args    canon.Value // any kind, or absent; of another method: the params
	Meta    canon.Value // params._meta, or absent
	Round   []byte      // of the retry of a request that needed input (MRTR): its inputResponses and requestState; else nil
	TraceID string      // optional, W3C

	// Refuse is why whoever asks will not have the call carried out, such as a definition that is not the pinned one; nil
	// if nothing speaks against it. It comes after the policy's own decision, and is recorded as a denial.
	Refuse *DeniedError

	// Invoke carries out this very call, where Tool.Invoke is nil: it sends the request to the upstream. It keeps the
	// rules of Tool.Invoke. A *NotDone says that not a byte was sent.
	Invoke func(ctx context.Context, p *Permit) (Result, error)
}

// Form is what the body of a Result is.
type Form int

const (
	Own   Form = iota // a result of our own: a JSON object without resultType and _meta
	Whole             // an upstream's result, as it came
	Fault             // an upstream's error object, as it came
)

// Result is what a call came to.
type Result struct {
	Body   []byte
	Form   Form
	Failed bool // the upstream says that the call failed: a Fault, or isError
	Open   bool // the upstream wants something before it goes on, or goes on by itself: input_required, a task
}

// Gate decides, runs and records. It is safe for concurrent use. World, Limits and CallTimeout are set before it is used.
type Gate struct {
	// World is what the paths in calls are judged in; the zero World knows no folder.
	World effects.World

	// Limits counts the calls of rules with a limit. Without it, and where it cannot count, such rules allow nothing.
	Limits Limits

	// Ending, where there is one, is done when the process is about to end: a mutation that an upstream has not answered by
	// then is inconclusive.
	Ending context.Context

	// CallTimeout bounds an upstream's mutation, which goes on without its caller; 0 is ten minutes.
	CallTimeout time.Duration

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

// Visible reports whether the policy could allow some call of t by a caller. What is not visible is
// not listed, and answered as if it did not exist.
func (g *Gate) Visible(c Caller, t *Tool) bool { return g.policy.Load().VisibleTo(c.who(), t.Name) }

// MethodVisible reports whether the policy could allow a caller some request for a method other than tools/call.
func (g *Gate) MethodVisible(c Caller, method string) bool {
	return g.policy.Load().MethodVisibleTo(c.who(), method)
}

func (c Caller) who() policy.Who { return policy.Who{Principal: c.Principal, Tenant: c.Tenant} }

// Do carries out one call, or refuses it. It is the only function that runs an effect.
//
// A *DeniedError means that the call was refused and recorded before anything was touched, an
// *UnavailableError that the gate could not do its own work and how far it came; ctx's error
// that the caller went away before anything was begun. Once a mutation is begun it is finished
// and recorded without its caller.
func (g *Gate) Do(ctx context.Context, c Call) (Result, error) {
	rec, t, err := g.judge(&c)
	switch {
	case err != nil:
		return Result{}, err
	case c.Tool.Upstream != "":
		return g.pass(ctx, &c, rec, t)
	}
	return g.own(ctx, &c, rec)
}

// judge decides a call. It returns the record of one that is allowed, not yet written, and the terms of one to an upstream;
// or else why it is not carried out, on record. It is apart from the rest of Do since ten thousand calls may wait there for
// their upstreams, with all that is on the stack.
func (g *Gate) judge(c *Call) (*ledger.Record, *terms, error) {
	pol := g.policy.Load() // one snapshot for the whole call
	if c.Args.Kind() == canon.Null {
		c.Args = canon.Value{} // what the official Go SDK sends where there are no arguments
	}
	digest, digestErr := digestArgs(c.Args)
	rec := &ledger.Record{
		RequestID:    c.requestID(),
		Method:       c.method(),
		Name:         c.Name,
		Decision:     policy.Allow.String(),
		ArgsDigest:   digest,
		PolicyDigest: pol.Digest(),
		Principal:    c.Caller.Principal,
		Tenant:       c.Caller.Tenant,
		Upstream:     c.upstream(),
		TraceID:      c.TraceID,
	}
	request := g.request(pol, c)
	observed, denied := decide(pol, c, request, digestErr)
	var t *terms
	if denied == nil && c.upstream() != "" {
		t, denied = g.terms(pol, request, c)
	}
	if denied == nil {
		denied = g.limit(c.Name, pol.Limits(request))
	}
	noteJudged(rec, observed, &request)
	if denied == nil {
		return rec, t, nil
	}
	rec.Decision, rec.Outcome, rec.Rule = policy.Deny.String(), ledger.NotExecuted, denied.Rule
	if err := g.ledger.Append(rec); err != nil {
		return nil, nil, g.unavailable(nothing, err)
	}
	return nil, nil, denied
}

// own carries out an allowed call of a tool of our own.
func (g *Gate) own(ctx context.Context, c *Call, rec *ledger.Record) (Result, error) {
	switch {
	case c.Tool.Key != "":
		return g.once(ctx, c, rec)
	case c.Tool.ReadOnly:
		return g.observe(ctx, c, rec)
	}
	return g.forward(ctx, c, rec)
}

// request is a call as a policy judges it. What it would do is looked for only where the policy's language speaks of that.
func (g *Gate) request(pol *policy.Policy, c *Call) policy.Request {
	r := policy.Request{Principal: c.Caller.Principal, Tenant: c.Caller.Tenant, Method: c.method(), Tool: c.Name, Args: c.Args}
	if pol.Version() < 2 || c.Tool == nil {
		return r
	}
	world := g.World
	r.World = &world
	if r.Method != toolsCall {
		r.Effects = policy.MethodEffects(r.Method, r.Args, r.World)
		return r
	}
	declared := pol.Declares(c.Name)
	if declared == nil {
		declared = c.Tool.Effects
	}
	r.Effects = effects.Of(c.Name, c.Args, declared, r.World)
	return r
}

// decide returns why a call may not be carried out, or nil, and what rules in mode observe would have made of it. It
// touches nothing.
func decide(pol *policy.Policy, c *Call, r policy.Request, digestErr error) (policy.Observed, *DeniedError) {
	if c.Tool == nil {
		return policy.Observed{}, &DeniedError{Tool: c.Name, Rule: "unknown", Reason: "there is no such tool", Hidden: true}
	}
	decision, why := pol.Evaluate(r)
	switch {
	case decision == policy.Ask:
		return why.Observed, &DeniedError{Tool: c.Name, Rule: why.Rule, Reason: why.Reason + " (nobody can be asked here)", Hidden: why.Hidden}
	case decision != policy.Allow:
		return why.Observed, &DeniedError{Tool: c.Name, Rule: why.Rule, Reason: why.Reason, Hidden: why.Hidden}
	case c.Refuse != nil:
		refused := *c.Refuse
		refused.Tool = c.Name
		return why.Observed, &refused
	}
	return why.Observed, c.malformed(digestErr)
}

// malformed returns why the tool cannot take the arguments of a call, or nil.
func (c *Call) malformed(digestErr error) *DeniedError {
	upstreams := c.Tool.Upstream != ""
	// An upstream's arguments go there as they are, so they are recorded by the digest of their bytes.
	if digestErr != nil && !upstreams {
		return &DeniedError{Tool: c.Name, Rule: "arguments", Reason: digestErr.Error()}
	}
	if c.Tool.Check != nil || !upstreams { // its other methods have no schema
		if err := c.Tool.Check(c.Args); err != nil {
			return &DeniedError{Tool: c.Name, Rule: "schema", Reason: err.Error()}
		}
	}
	if upstreams {
		return nil
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
func (g *Gate) observe(ctx context.Context, c *Call, rec *ledger.Record) (Result, error) {
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
func (g *Gate) forward(ctx context.Context, c *Call, rec *ledger.Record) (Result, error) {
	rec.Outcome = ledger.Forwarded
	if err := g.ledger.Append(rec); err != nil {
		return Result{}, g.unavailable(nothing, err)
	}
	result, err := g.invoke(context.WithoutCancel(ctx), c, rec.ArgsDigest)
	if err != nil {
		return Result{}, g.unavailable(unkeyed, err)
	}
	return result, nil
}

// invoke runs the tool with a permit for this call. A panic is an error of which nobody knows
// what it left behind.
func (g *Gate) invoke(ctx context.Context, c *Call, digest string) (Result, error) {
	return g.invokeMeanwhile(ctx, c, digest, nil)
}

// invokeMeanwhile is invoke, with something to be done before it returns that may go on while an upstream works.
func (g *Gate) invokeMeanwhile(ctx context.Context, c *Call, digest string, meanwhile func()) (result Result, err error) {
	id, _ := c.key()
	p := newPermit(c.Tool.Name, Grant{Caller: c.Caller, Args: c.Args, ID: id}, digest)
	p.meanwhile = meanwhile
	defer p.Meanwhile()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v", c.Tool.Name, p)
		}
	}()
	run := c.Tool.Invoke
	if run == nil {
		run = c.Invoke
	}
	return run(ctx, p)
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

const toolsCall = "tools/call"

// method is the protocol's method that was called.
func (c *Call) method() string {
	if c.Method == "" {
		return toolsCall
	}
	return c.Method
}

// upstream is the server that the call is for, "" if it is for us.
func (c *Call) upstream() string {
	if c.Tool == nil {
		return ""
	}
	return c.Tool.Upstream
}

// key is the value of the tool's key argument.
func (c *Call) key() (string, bool) { return c.Args.Get(c.Tool.Key).Text() }

// requestID is what the call is filed under in the ledger, whether or not it is allowed.
func (c *Call) requestID() string {
	key := "request_id"
	if c.Tool != nil && c.Tool.Upstream == "" {
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
	if id, ok := c.Meta.Get(policy.MetaKey).Text(); ok && id != "" {
		return id
	}
	return ledger.Missing
}
