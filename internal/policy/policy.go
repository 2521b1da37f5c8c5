// Package policy decides whether a call may happen.
//
// Parse reads a policy file strictly: whatever it does not understand is an error with a file, a line and a column, since
// a typo must not open a door. Evaluate answers one request and says why. A policy is a value: it has no clock, reads no
// file and no network, and never changes, so any number of goroutines may share one, and one call sees one policy.
//
// Everything fails closed: the zero Decision, the zero Policy and a nil Policy deny. Whether a tool exists, whether its own
// schema takes the arguments, and what becomes of the answer are left to the caller.
package policy

import (
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// Decision is what a policy says of a call. Its order is its strictness: Deny < Ask < Allow. The zero value denies.
type Decision int

// The decisions.
const (
	Deny  Decision = iota // the call must not happen
	Ask                   // a person must agree first
	Allow                 // the call may happen
)

// String returns "deny", "ask" or "allow". A Decision that is none of the three is a denial.
func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// Why says what led to a decision.
type Why struct {
	// Rule is the stable id of the rule that decided: "allow", "deny" (listed there), "default" (listed nowhere),
	// "arg_rules.TOOL.ARG.type", "….min_len" or "….max_len".
	Rule string

	// Reason is a sentence that helps the caller to mend the call. It never holds the value of an argument.
	Reason string

	// Hidden says that this caller can never call the tool, whatever the arguments, and need not know that it exists.
	Hidden bool

	// SkipPrompt says of an Allow that the rule spares the host's own prompt too.
	SkipPrompt bool

	// Observed is what rules in mode observe would have made of the call; its zero value says that they change nothing.
	Observed Observed
}

// Observed is a decision that is recorded and not enforced.
type Observed struct {
	Rule     string // "" where nothing is observed
	Decision Decision
}

// Limit is how often a rule allows calls: Calls in Per, at most Burst at once.
type Limit struct {
	Rule   string
	Bucket string // under which the calls are counted: of a rule, or of a principal or a tool under it
	Calls  int
	Per    time.Duration
	Burst  int
}

// Request is one call to be judged.
type Request struct {
	Principal string      // who asks
	Method    string      // the protocol's method, such as "tools/call"; "" is that
	Tool      string      // the tool's name as asked for; names are exact. Of another method: the resource's URI, the prompt's name or ""
	Args      canon.Value // the arguments as received: of any kind, maybe absent. Of another method: the params

	Tenant  string // optional: of the principal
	Host    string // optional: the hook's host, such as "claude"
	Session string // optional: the host's session

	// Effects are what the call would do, as effects.Of found it in World. Version 1 does not look at them.
	Effects []effects.Effect
	World   *effects.World
}

// Policy is a loaded policy. It is immutable and safe for concurrent use; the zero Policy and a nil one deny everything.
type Policy struct {
	name    string
	digest  string
	version int
	rules   ruleset // nil denies everything
}

// ruleset is what a version of the policy language compiles to. It is immutable.
type ruleset interface {
	evaluate(Request) (Decision, Why)

	// visible reports whether evaluate could answer anything but Deny for some arguments of the tool, where who calls it;
	// nil is anybody.
	visible(who *Who, tool string) bool

	// methodVisible is the same for a method other than tools/call, whatever the params.
	methodVisible(who *Who, method string) bool
}

// The answers for a tool, and for a method, of which no rule speaks.
var (
	unlisted       = Why{Rule: "default", Reason: "the policy does not allow this tool", Hidden: true}
	unlistedMethod = Why{Rule: "default", Reason: "the policy does not allow this method", Hidden: true}
)

// Evaluate decides a request. It does no I/O; a rule for an argument takes time in proportion to the arguments.
func (p *Policy) Evaluate(r Request) (Decision, Why) {
	if p == nil || p.rules == nil {
		return Deny, unlisted
	}
	return p.rules.evaluate(r)
}

// Who is somebody who asks, as rules know them.
type Who struct{ Principal, Tenant string }

// Visible reports whether a call of the tool could be allowed with some arguments, whoever makes it.
func (p *Policy) Visible(tool string) bool {
	return p != nil && p.rules != nil && p.rules.visible(nil, tool)
}

// VisibleTo reports whether a call of the tool by who could be allowed with some arguments; who sees no others in a list.
func (p *Policy) VisibleTo(who Who, tool string) bool {
	return p != nil && p.rules != nil && p.rules.visible(&who, tool)
}

// Digest returns the SHA-256 of the policy's text in lower-case hex, or "" where there is no policy.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// Name returns the name under which the policy was parsed, usually its path, or "" where there is no policy.
func (p *Policy) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// Version returns the version of the policy language, or 0 where there is no policy.
func (p *Policy) Version() int {
	if p == nil {
		return 0
	}
	return p.version
}
