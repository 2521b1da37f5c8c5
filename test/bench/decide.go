//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

// measureDecide times decisions of the shipped policy, which has rules for two arguments.
func (b *bench) measureDecide() error {
	file, err := os.ReadFile(b.policy)
	if err != nil {
		return err
	}
	p, err := policy.Parse(b.policy, file)
	if err != nil {
		return err
	}
	most := atMost(2, " µs")
	for _, c := range []struct {
		what, id, text string
		want           policy.Decision
		bar            bar
	}{
		{"allowed, 100 characters", "bench-0001", strings.Repeat("x", 100), policy.Allow, most},
		{"allowed, 2000 characters", "bench-0001", strings.Repeat("x", 2000), policy.Allow, most},
		{"allowed, 2000 characters of 3 bytes", "bench-0001", strings.Repeat("日", 2000), policy.Allow, bar{}},
		{"denied by a rule", "short", "x", policy.Deny, most},
	} {
		args, err := canon.Parse(fmt.Appendf(nil, `{"request_id":"%s","text":"%s"}`, c.id, c.text))
		if err != nil {
			return err
		}
		call := policy.Request{Principal: "local", Method: "tools/call", Tool: "write_note", Args: args}
		if got, why := p.Evaluate(call); got != c.want {
			return fmt.Errorf("%s: %v, %+v", c.what, got, why)
		}
		each, err := timeOf(func() { p.Evaluate(call) })
		if err != nil {
			return err
		}
		allocs := testing.AllocsPerRun(100, func() { p.Evaluate(call) })
		b.add(row{"v1 decision, " + c.what, brief(each), "", float64(each) / float64(time.Microsecond), c.bar})
		b.add(row{"    allocations", fmt.Sprint(allocs), "", allocs, atMost(5, "")})
	}
	return nil
}

// timeOf is the median processor time that something short takes.
func timeOf(do func()) (time.Duration, error) {
	const blocks, n = 40, 5000
	block := onProcessor(n, func() error {
		for range n {
			do()
		}
		return nil
	})
	var times []time.Duration
	for range blocks {
		each, err := block()
		if err != nil {
			return 0, err
		}
		times = append(times, each)
	}
	return median(times), nil
}
