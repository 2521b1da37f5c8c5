//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// measureMemory looks at the memory of a server's own that it holds when it has answered a call and
// has nothing to do.
func (b *bench) measureMemory() error {
	dir, err := b.folder("memory")
	if err != nil {
		return err
	}
	p, err := b.startServer(dir)
	if err != nil {
		return err
	}
	if err := p.ask(readLedger(0), `"result"`); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return err
	}
	var kB float64
	for line := range strings.Lines(string(status)) {
		if after, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			if _, err := fmt.Sscanf(after, "%f kB", &kB); err != nil {
				return fmt.Errorf("reading %q: %w", line, err)
			}
		}
	}
	b.add(row{"idle RssAnon", fmt.Sprintf("%.2f MB", kB/1024), "", kB / 1024, atMost(8, " MB")})
	return p.end()
}
