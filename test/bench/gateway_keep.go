//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
)

// keep calls a tool that has an effect, under a key of its own.
func (g *gateway) keep(p *process) func() error {
	return func() error {
		g.calls++
		return p.ask(callTool(g.calls, "keep", fmt.Sprintf(`{"request_id":"%s"}`, noteID(g.calls))), `"result"`)
	}
}

// measureKeep compares what the gate adds to the time of a mutation with that of its syncs: of as many bytes, to two files in
// the same order.
func (g *gateway) measureKeep() error {
	syncs, counted, err := g.b.keepSyncs()
	if err != nil {
		return err
	}
	if syncs != 3 {
		return fmt.Errorf("a mutation takes %d syncs and not 3: intent, outcome, record", syncs)
	}
	ceiling, err := g.keepSynced()
	if err != nil {
		return err
	}
	ours := func() (time.Duration, error) {
		relayed, err := wall(1, g.keep(g.relay))()
		if err != nil {
			return 0, err
		}
		gated, err := wall(1, g.keep(g.gate))()
		return gated - relayed, err
	}
	p, err := inTurn(250, ours, wall(1, ceiling))
	if err != nil {
		return err
	}
	g.b.add(p.times(fmt.Sprintf("what the gate adds to a mutation (%d fdatasync, %s)", syncs, counted), atMost(1.3, "")))
	return nil
}

// keepSynced returns what writes and syncs what the gate does for a mutation.
func (g *gateway) keepSynced() (func() error, error) {
	for range 2 {
		if err := g.keep(g.gate)(); err != nil {
			return nil, err
		}
	}
	// The last intent went out with the hint about the mutation before.
	claims, err := g.written(mutation.FileName, 3)
	if err != nil {
		return nil, err
	}
	record, err := g.written(ledger.FileName, 1)
	if err != nil {
		return nil, err
	}
	return then(g.claims.appendOf(claims[0]+claims[1]), g.claims.appendOf(claims[2]), g.raw.appendOf(record[0])), nil
}

// keepSyncs counts the syncs of one mutation by strace, where there is one.
func (b *bench) keepSyncs() (n int, how string, err error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return 3, "assumed", nil // intent, outcome, record
	}
	count := func(calls int) (int, error) {
		args, err := b.wrapArgs(gatewayPolicy)
		if err != nil {
			return 0, err
		}
		output := filepath.Join(b.dir, "trace")
		traced := append([]string{"-f", "-qq", "-e", "signal=none", "-e", "trace=fsync,fdatasync,io_submit", "-o", output, b.server}, args...)
		p, err := startProcess(strace, traced...)
		if err != nil {
			return 0, err
		}
		g := &gateway{b: b}
		for range calls {
			if err := g.keep(p)(); err != nil {
				return 0, err
			}
		}
		if err := p.end(); err != nil {
			return 0, err
		}
		trace, err := os.ReadFile(output)
		return strings.Count(string(trace), "sync(") + strings.Count(string(trace), "io_submit("), err
	}
	const few, many = 5, 25
	before, err := count(few)
	if err != nil {
		return 0, "", err
	}
	after, err := count(many)
	if err != nil {
		return 0, "", err
	}
	n = (after - before + (many-few)/2) / (many - few)
	if n == 0 {
		return 0, "", fmt.Errorf("%d mutations took %d syncs, %d took %d: none is durable", few, before, many, after)
	}
	return n, "counted", nil
}
