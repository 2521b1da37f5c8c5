//go:build linux

package main

import (
	"fmt"
	"time"

	"sallyport/internal/canon"
)

// measureCalls tells how many calls a second go through a server's pipes. There is no bar.
func (b *bench) measureCalls() error {
	dir, err := b.folder("calls")
	if err != nil {
		return err
	}
	p, err := b.startServer(dir)
	if err != nil {
		return err
	}
	for i := range 10 {
		if err := p.ask(writeNote(i), committed); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		what string
		call func(id int) []byte
	}{
		{"read_ledger, 10 notes", readLedger},
		{"denied call", func(id int) []byte { return callTool(id, "rm_rf", `{"path":"/tmp/x"}`) }},
	} {
		for _, inFlight := range []int{1, 32} {
			rate, latencies, err := p.load(c.call, inFlight, 2*time.Second)
			if err != nil {
				return err
			}
			b.add(row{
				fmt.Sprintf("%s, %d in flight", c.what, inFlight),
				fmt.Sprintf("%.0f/s, p50 %s, p99 %s", rate, brief(median(latencies)), brief(percentile(latencies, 99))),
				"", 0, bar{},
			})
		}
	}
	return p.end()
}

// load keeps so many calls in flight for some time.
func (p *process) load(call func(id int) []byte, inFlight int, during time.Duration) (rate float64, latencies []time.Duration, err error) {
	var sent []time.Time // by id
	send := func() error {
		sent = append(sent, time.Now())
		return p.send(call(len(sent) - 1))
	}
	start := time.Now()
	for range inFlight {
		if err := send(); err != nil {
			return 0, nil, err
		}
	}
	for len(latencies) < len(sent) {
		answer, err := p.receive()
		if err != nil {
			return 0, nil, err
		}
		v, err := canon.Parse(answer)
		if err != nil {
			return 0, nil, err
		}
		id, ok := v.Get("id").Int()
		if !ok || id >= int64(len(sent)) {
			return 0, nil, fmt.Errorf("an answer to nothing: %s", answer)
		}
		latencies = append(latencies, time.Since(sent[id]))
		if time.Since(start) < during {
			if err := send(); err != nil {
				return 0, nil, err
			}
		}
	}
	return float64(len(latencies)) / time.Since(start).Seconds(), latencies, nil
}
