//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sallyport/internal/ledger"
)

// gatewayPolicy is what the gate decides by; with batchedReads it keeps the records of reads less strictly.
const (
	gatewayPolicy = `version: 2
default: deny
rules:
  - {id: reads, decision: allow, tools: [read, hold, held, release], read_only: true}
  - {id: keeps, decision: allow, tools: [keep], mutation: {key: request_id}}
`
	batchedReads = "ledger: {reads: batched}\n"
)

// gateway is a small upstream server that is called in three ways: directly, through a process that only copies bytes, and
// through the gate. Each has its own upstream process.
type gateway struct {
	b                   *bench
	direct, relay, gate *process
	records             string       // the folder of the gate's ledger
	raw, claims         rawFile      // stand for the ledger and the claims
	synced              func() error // the price of a durable record: as many bytes as one has, and a sync
	calls               int
}

func (b *bench) startGateway(policy string) (*gateway, error) {
	args, err := b.wrapArgs(policy)
	if err != nil {
		return nil, err
	}
	g := &gateway{b: b}
	g.records = args[slices.Index(args, "--ledger")+1]
	for _, raw := range []*rawFile{&g.raw, &g.claims} {
		if *raw, err = b.openRaw(); err != nil {
			return nil, err
		}
	}
	for _, start := range []struct {
		process **process
		program string
		args    []string
	}{
		{&g.direct, b.upstream, nil},
		{&g.relay, b.relay, []string{b.upstream}},
		{&g.gate, b.server, args},
	} {
		if *start.process, err = startProcess(start.program, start.args...); err != nil {
			return nil, err
		}
	}
	for range 20 {
		for _, p := range []*process{g.direct, g.relay, g.gate} {
			if err := g.read(p, smallSize)(); err != nil {
				return nil, err
			}
		}
	}
	time.Sleep(50 * time.Millisecond) // what is batched is there by then
	size, err := g.written(ledger.FileName, 1)
	if err != nil {
		return nil, err
	}
	g.synced = g.raw.appendOf(size[0])
	return g, nil
}

// written returns how long the last n lines are that the gate wrote to a file of its ledger's folder.
func (g *gateway) written(file string, n int) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(g.records, file))
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
	if len(lines) < n {
		return nil, fmt.Errorf("%s has %d lines and not %d", file, len(lines), n)
	}
	var sizes []int
	for _, line := range lines[len(lines)-n:] {
		sizes = append(sizes, len(line))
	}
	return sizes, nil
}

// wrapArgs is the command line of a gate with a ledger of its own in front of an upstream.
func (b *bench) wrapArgs(policy string) ([]string, error) {
	dir, err := b.folder("gateway")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		return nil, err
	}
	records, err := b.folder("gateway-ledger")
	if err != nil {
		return nil, err
	}
	return []string{"wrap", "--policy", file, "--ledger", records, "--", b.upstream}, nil
}

func (g *gateway) end() error {
	return errors.Join(g.direct.end(), g.relay.end(), g.gate.end(), g.raw.Close(), g.claims.Close())
}

const (
	smallSize = 32
	largeSize = 64 << 10
)

// read calls a tool that only reads, and gets size bytes.
func (g *gateway) read(p *process, size int) func() error {
	want := `"text":"` + strings.Repeat("x", size) + `"`
	return func() error {
		g.calls++
		return p.ask(callTool(g.calls, "read", fmt.Sprintf(`{"size":%d}`, size)), want)
	}
}

// then does one thing after another.
func then(steps ...func() error) func() error {
	return func() error {
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

// measureGateway compares the gate in front of an upstream with a relay in the same place, to whose time that of the syncs
// comes which a durable record needs.
func (b *bench) measureGateway() error {
	g, err := b.startGateway(gatewayPolicy)
	if err != nil {
		return err
	}
	cpu := func() error { return g.measureCPU("CPU of the gate for a read", true, atMost(3, "")) }
	for _, measure := range []func() error{g.measureReads, g.measureBurst, cpu, g.measureKeep, g.measureHeld} {
		if err := measure(); err != nil {
			return err
		}
	}
	if err := g.end(); err != nil {
		return err
	}
	return b.measureBatchedReads()
}

// measureReads compares the time of one read at a time.
func (g *gateway) measureReads() error {
	for _, c := range []struct {
		what string
		size int
		bar  bar
	}{
		{"read through the gate", smallSize, atMost(1.3, "")},
		{"read of 64 KiB through the gate", largeSize, atMost(1.5, "")},
	} {
		p, err := inTurn(250, wall(1, g.read(g.gate, c.size)), wall(1, then(g.read(g.relay, c.size), g.synced)))
		if err != nil {
			return err
		}
		g.b.add(p.times(c.what+" (relay + fdatasync)", c.bar))
	}
	p, err := inTurn(250, wall(1, g.read(g.relay, smallSize)), wall(1, g.read(g.direct, smallSize)))
	if err != nil {
		return err
	}
	g.b.add(p.times("    read through the relay (direct)", bar{}))
	return nil
}

// measureBurst compares the time of 32 reads that are sent at once.
func (g *gateway) measureBurst() error {
	const inFlight = 32
	burst := func(p *process) func() error {
		return func() error {
			for range inFlight {
				g.calls++
				if err := p.send(callTool(g.calls, "read", fmt.Sprintf(`{"size":%d}`, smallSize))); err != nil {
					return err
				}
			}
			for range inFlight {
				if err := p.expect(`"result"`); err != nil {
					return err
				}
			}
			return nil
		}
	}
	p, err := inTurn(100, wall(1, burst(g.gate)), wall(1, then(burst(g.relay), g.synced)))
	if err != nil {
		return err
	}
	g.b.add(p.times(fmt.Sprintf("%d reads in flight (relay + one fdatasync)", inFlight), atMost(2, "")))
	return nil
}

// measureCPU compares what a read costs of the processors' time with what it costs the relay. Where the gate syncs for each
// read, what an append with its sync costs a process that does nothing else is part of the ceiling.
func (g *gateway) measureCPU(what string, syncs bool, most bar) error {
	const n = 100
	spent := func(now func() (time.Duration, error), do func() error) timed {
		return func() (time.Duration, error) {
			before, err := now()
			if err != nil {
				return 0, err
			}
			if _, err := wall(n, do)(); err != nil {
				return 0, err
			}
			after, err := now()
			return (after - before) / n, err
		}
	}
	relayed, ceiling := spent(g.relay.cpu, g.read(g.relay, smallSize)), "relay's"
	floor := relayed
	if syncs {
		ceiling += " + that of fdatasync"
		synced := spent(cpu, g.synced)
		floor = func() (time.Duration, error) {
			own, err := synced()
			if err != nil {
				return 0, err
			}
			relay, err := relayed()
			return own + relay, err
		}
	}
	p, err := inTurn(20, spent(g.gate.cpu, g.read(g.gate, smallSize)), floor)
	if err != nil {
		return err
	}
	g.b.add(p.times(fmt.Sprintf("%s (%s)", what, ceiling), most))
	return nil
}

// measureBatchedReads is measureReads for a policy by which an answer need not wait for its record.
func (b *bench) measureBatchedReads() error {
	g, err := b.startGateway(gatewayPolicy + batchedReads)
	if err != nil {
		return err
	}
	p, err := inTurn(250, wall(1, g.read(g.gate, smallSize)), wall(1, g.read(g.relay, smallSize)))
	if err != nil {
		return err
	}
	b.add(p.times("read through the gate, batched (relay)", atMost(1.5, "")))
	if err := g.measureCPU("    CPU of the gate for a read, batched", false, bar{}); err != nil {
		return err
	}
	return g.end()
}
