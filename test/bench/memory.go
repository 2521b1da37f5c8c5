//go:build linux

package main

import (
	"fmt"
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
	held, err := p.memory()
	if err != nil {
		return err
	}
	b.add(row{"idle RssAnon", fmt.Sprintf("%.2f MB", held), "", held, atMost(8, " MB")})
	return p.end()
}
