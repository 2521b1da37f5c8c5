//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// held is how many calls wait for an upstream that is slow.
const held = 10_000

// measureHeld looks at the gate's memory when it has nothing to do, and when very many calls wait.
func (g *gateway) measureHeld() error {
	time.Sleep(2 * time.Second)
	idle, err := g.gate.memory()
	if err != nil {
		return err
	}
	g.b.add(row{"idle RssAnon of the gate", fmt.Sprintf("%.2f MB", idle), "", idle, atMost(25, " MB")})
	for range held {
		g.calls++
		if err := g.gate.send(callTool(g.calls, "hold", "{}")); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(time.Minute); ; {
		g.calls++
		if err := g.gate.send(callTool(g.calls, "held", "{}")); err != nil {
			return err
		}
		answer, err := g.gate.receive()
		if err != nil {
			return err
		}
		if strings.Contains(string(answer), `"text":"`+strconv.Itoa(held)+`"`) {
			break
		}
		if !strings.Contains(string(answer), `"text":`) || time.Now().After(deadline) {
			return fmt.Errorf("not all of %d calls are held: %s", held, answer)
		}
	}
	full, err := g.gate.memory()
	if err != nil {
		return err
	}
	g.b.add(row{fmt.Sprintf("RssAnon of the gate, %d calls waiting", held), fmt.Sprintf("%.1f MB", full), "", full, atMost(150, " MB")})
	g.calls++
	if err := g.gate.send(callTool(g.calls, "release", "{}")); err != nil {
		return err
	}
	for range held + 1 {
		if err := g.gate.expect(`"released"`); err != nil {
			return err
		}
	}
	return nil
}

// measureGatewayStart compares the time to the first answer through the gate with that of a bare Go process and of the
// upstream's own first answer.
func (b *bench) measureGatewayStart() error {
	args, err := b.wrapArgs(gatewayPolicy)
	if err != nil {
		return err
	}
	first := func(message []byte, program string, args ...string) timed {
		return func() (time.Duration, error) {
			start := time.Now()
			p, err := startProcess(program, args...)
			if err != nil {
				return 0, err
			}
			if err := p.ask(message, `"result"`); err != nil {
				return 0, err
			}
			took := time.Since(start)
			return took, p.end()
		}
	}
	for _, c := range []struct {
		what    string
		message []byte
	}{
		{"initialize", []byte(initialize)},
		{"server/discover", request(0, "server/discover", "")},
	} {
		upstream := first(c.message, b.upstream)
		p, err := inTurn(30, first(c.message, b.server, args...), func() (time.Duration, error) {
			bare, err := b.firstLine()
			if err != nil {
				return 0, err
			}
			own, err := upstream()
			return bare + own, err
		})
		if err != nil {
			return err
		}
		b.add(p.times("start to first answer through the gate, "+c.what+" (bare Go process + upstream's own)", atMost(2.5, "")))
	}
	return nil
}
