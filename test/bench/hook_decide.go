//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/policy"
)

// measureHookDecision times a decision alone: from the bytes of an event to the answer of a policy that is there.
func measureHookDecision(b *bench) error {
	p, err := policy.Parse("policy.json", policyJSON())
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what, command string
		most          time.Duration
		unit          time.Duration
		name          string
	}{
		{"200 characters", command200, 100 * time.Microsecond, time.Microsecond, " µs"},
		{"1,000 chained commands", strings.Repeat("go vet ./a && ", 999) + "go vet ./a", 5 * time.Millisecond, time.Millisecond, " ms"},
	} {
		event := fmt.Appendf(nil, `{"tool_name":"Bash","tool_input":{"command":"%s"}}`, c.command)
		if err := decideEvent(p, event); err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		const n = 20
		var times []time.Duration
		block := onProcessor(n, func() error {
			for range n {
				if err := decideEvent(p, event); err != nil {
					return err
				}
			}
			return nil
		})
		for range 40 {
			each, err := block()
			if err != nil {
				return err
			}
			times = append(times, each)
		}
		took := median(times)
		b.add(row{"v2 decision, " + c.what, brief(took), "", float64(took) / float64(c.unit), atMost(float64(c.most/c.unit), c.name)})
	}
	return nil
}

// decideEvent judges an event that has to be allowed.
func decideEvent(p *policy.Policy, text []byte) error {
	event, err := canon.Parse(text)
	if err != nil {
		return err
	}
	input := event.Get("tool_input")
	if _, err := input.Digest(); err != nil {
		return err
	}
	world := &effects.World{Dir: "/home/user/project", Workspace: "/home/user/project", Homes: []string{"/home/user"}, User: "user"}
	found := effects.Of("Bash", input, nil, world)
	if len(found) == 0 {
		return fmt.Errorf("no effects")
	}
	decision, why := p.Evaluate(policy.Request{
		Principal: "local", Method: "hook/PreToolUse", Tool: "Bash", Args: input, Host: "claude", Effects: found, World: world,
	})
	if decision != policy.Allow {
		return fmt.Errorf("%v: %+v", decision, why)
	}
	return nil
}
