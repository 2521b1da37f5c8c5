package gate

import (
	"context"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
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

	// Origin is who else than a client makes the call, for the record: "plan"; "" is a client.
	Origin string

	// Observe returns the call of another tool, by its exposed name, on behalf of the same caller and over the same way: with
	// Name, Tool, Args, Refuse and Invoke. It sends nothing. By it the gate looks at what this call left. Nil: nothing can be
	// looked at.
	Observe func(ctx context.Context, tool string, args canon.Value) (Call, error)

	// Ask puts an approval to the person at the client, where that can be done: see Said. It may wait for the person. Nil: the
	// client cannot ask.
	Ask func(ctx context.Context, a *interlock.Approval) (Said, error)

	// Parked, if not nil, is told that the call waits for an operator to agree. It waits for nothing.
	Parked func(a *interlock.Approval)

	// Invoke carries out this very call, where Tool.Invoke is nil: it sends the request to the upstream. It keeps the
	// rules of Tool.Invoke. A *NotDone says that not a byte was sent.
	Invoke func(ctx context.Context, p *Permit) (Result, error)
}

// Said is what came of asking the person at the client.
type Said int

const (
	Unasked Said = iota // the client cannot ask: the call waits for an operator
	Later               // the answer comes with a retry of the call: Do returns an *InputNeededError
	Agreed              // the person agreed
	Refused             // the person did not
)

// InputNeededError says that a call was not begun, and that its client is to ask its person and come again.
type InputNeededError struct{ Approval *interlock.Approval }

func (e *InputNeededError) Error() string { return "a person must agree first" }

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
	Task   bool // of an Open one: it goes on by itself
	Checks Checks
}

// Checks is what came of looking at what a call left.
type Checks int

const (
	Unchecked Checks = iota // its rules ask for no verification, or it certainly did nothing
	Held                    // what remains is what the rules expect
	Differed                // it is not, or could not be seen: the stop latch is set
)

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
