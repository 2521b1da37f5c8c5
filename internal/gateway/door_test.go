package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
)

// What relayDoor does in the place of a gate that asks people, and looks at what calls leave.

// asked is an approval as the door keeps it.
type asked struct {
	interlock.Approval
	said    gate.Said
	decided chan struct{} // closed when somebody at the terminal said something
}

// ask puts a call to a person: by the call's own Ask, and at the terminal where that cannot be.
func (d *relayDoor) ask(ctx context.Context, c gate.Call) error {
	a := d.approval(c)
	said := gate.Unasked
	if c.Ask != nil {
		var err error
		if said, err = c.Ask(ctx, &a.Approval); err != nil {
			return err
		}
	}
	if said == gate.Unasked {
		select {
		case <-a.decided:
			d.mu.Lock()
			said = a.said
			d.mu.Unlock()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	switch said {
	case gate.Later:
		return &gate.InputNeededError{Approval: &a.Approval}
	case gate.Refused:
		return &gate.DeniedError{Tool: c.Name, Rule: "ask", Reason: "a person denied this call"}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, other := range d.asked {
		if other == a {
			d.asked = append(d.asked[:i:i], d.asked[i+1:]...) // it is good for one call
		}
	}
	return nil
}

// approval is the approval that waits for this very call, which may be a new one.
func (d *relayDoor) approval(c gate.Call) *asked {
	digest, err := c.Args.Digest()
	if err != nil {
		digest = "none"
	}
	m := interlock.Matter{Principal: c.Caller.Principal, Upstream: c.Tool.Upstream, Method: c.Method, Tool: c.Name, Digest: digest, Round: string(c.Round)}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.asked {
		if a.Matter == m {
			return a
		}
	}
	d.count++
	a := &asked{decided: make(chan struct{}), Approval: interlock.Approval{ID: fmt.Sprintf("%016x", d.count), Matter: m,
		Rule: "ask", Reason: "Ask first.", Args: c.Args, Expires: time.Now().Add(15 * time.Minute).UnixNano()}}
	d.asked = append(d.asked, a)
	return a
}

// decide is what a person says at the terminal to what waits.
func (d *relayDoor) decide(agree bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.asked {
		if a.said = gate.Refused; agree {
			a.said = gate.Agreed
		}
		close(a.decided)
	}
}

// verify lets what calls of a tool leave be looked at by another.
func (d *relayDoor) verify(tool, by string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks[tool] = by
}

func (d *relayDoor) look(tool string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.looks[tool]
}

// check looks at what a call left, whatever became of its client.
func (d *relayDoor) check(ctx context.Context, c gate.Call, by string) gate.Checks {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	look, err := c.Observe(ctx, by, c.Args)
	if err != nil || look.Tool == nil || look.Refuse != nil || d.rule(by) != "" {
		return gate.Differed
	}
	seen, err := d.invoke(ctx, look)
	if err != nil || !bytes.Contains(seen.Body, []byte("as expected")) {
		return gate.Differed
	}
	return gate.Held
}

// echoes is a tool of our own that answers with its arguments.
func echoes(name string) *gate.Tool {
	return &gate.Tool{
		Name:       name,
		Definition: []byte(`{"name":"` + name + `","inputSchema":{"type":"object"}}`),
		ReadOnly:   strings.HasPrefix(name, "read"),
		Check:      func(canon.Value) error { return nil },
		Invoke: func(_ context.Context, p *gate.Permit) (gate.Result, error) {
			grant, err := p.Use(name)
			if err != nil {
				return gate.Result{}, err
			}
			return gate.Result{Body: append(append([]byte(`{"content":[],"structuredContent":`), grant.Args.Bytes()...), '}')}, nil
		},
	}
}
