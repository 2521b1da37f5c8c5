// Package pretool answers a coding agent that asks "may I?" before or after it acts. It promises an answer that follows
// from its inputs and a few files, on every input.
//
// [Checks.Tools] are nine tools for a gate. What they read are the files of a session below the agent's configuration
// folder: flags and a trace, which [Sessions] also writes. They change nothing but flags: an expired one is deleted on
// access, and reset_enforcer_flags deletes those that it is told to. There is no lock, so no session waits for another.
//
// What a shell text would run is found by package effects.
package pretool

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sallyport/internal/effects"
	"sallyport/internal/gate"
)

// Config is what the checks need. Only Skills may be left out.
type Config struct {
	Sessions  *Sessions
	Env       func(name string) string // "" where a variable is not set
	Windows   bool                     // the agent's shell runs on Windows; see OnWindows
	Knowledge *Knowledge               // of calls that fail
	Skills    map[string]string        // a project's own: see suggestSkill
	Limited   bool                     // 100 calls a minute for a client
}

// Checks are the nine checks. They are safe for concurrent use.
type Checks struct {
	Config
	buckets buckets
}

// New returns the checks over a configuration.
func New(config Config) *Checks { return &Checks{Config: config} }

// Tools returns the tools, in the order in which they are listed.
func (c *Checks) Tools() []*gate.Tool {
	var tools []*gate.Tool
	for _, q := range c.questions() {
		tools = append(tools, &gate.Tool{
			Name:       q.name,
			Definition: q.definition(),
			ReadOnly:   !q.changes,
			Effects:    &effects.Declaration{}, // what is asked about is not done
			Check:      q.check,
			Invoke: func(_ context.Context, p *gate.Permit) (gate.Result, error) {
				grant, err := p.Use(q.name)
				if err != nil {
					return gate.Result{}, err
				}
				if wait := c.wait(grant.Caller.Principal); wait > 0 {
					return tooMany(wait).result(true), nil
				}
				return q.answer(grant.Args).result(false), nil
			},
		})
	}
	return tools
}

const (
	callsPerMinute = 100
	maxBuckets     = 10_000 // more clients than one process serves
)

// buckets are the token buckets of the clients.
type buckets struct {
	mu sync.Mutex // guards of
	of map[string]*rate.Limiter
}

func (b *buckets) bucket(client string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil || len(b.of) >= maxBuckets {
		b.of = map[string]*rate.Limiter{}
	}
	if b.of[client] == nil {
		b.of[client] = rate.NewLimiter(rate.Limit(callsPerMinute)/60, callsPerMinute)
	}
	return b.of[client]
}

// wait takes a token for a client's call, or returns how long the client has to wait for one.
func (c *Checks) wait(client string) time.Duration {
	if !c.Limited {
		return 0
	}
	now := c.Sessions.now()
	token := c.buckets.bucket(client).ReserveN(now, 1)
	wait := token.DelayFrom(now)
	if wait > 0 {
		token.CancelAt(now)
	}
	return wait
}

// tooMany answers a call for which there is no token. Whoever looks only at allowed is told no.
func tooMany(wait time.Duration) *answer {
	const reason = "Rate limit exceeded: 100 calls a minute"
	return new(answer).
		bool("success", false).
		bool("allowed", false).
		text("error", reason).
		text("reason", reason).
		int("retry_after", int(math.Ceil(wait.Seconds())))
}
