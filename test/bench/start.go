//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sallyport/internal/notes"
)

// manyNotes is how many there are in the folder of a server that has been at work for a while.
const manyNotes = 10_000

// measureStart compares the time from a server's start to its first answer with that of a bare Go
// process to its first line.
func (b *bench) measureStart() error {
	used, err := b.folder("start")
	if err != nil {
		return err
	}
	full, err := b.folder("full")
	if err != nil {
		return err
	}
	if err := fill(full, manyNotes); err != nil {
		return err
	}
	for _, dir := range []string{used, full} { // makes the files
		if _, err := b.firstAnswer(dir, []byte(initialize)); err != nil {
			return err
		}
	}
	most := atMost(2.5, "")
	for _, c := range []struct {
		what    string
		message []byte
		dir     string // a new one if empty
		bar     bar
	}{
		{"initialize", []byte(initialize), used, most},
		{"server/discover", request(0, "server/discover", ""), used, most},
		{"tools/call read_ledger", readLedger(0), used, bar{}}, // waits for the disk
		{fmt.Sprintf("initialize, %d notes", manyNotes), []byte(initialize), full, most},
		{"initialize, a new folder", []byte(initialize), "", bar{}},
	} {
		p, err := inTurn(30, func() (time.Duration, error) {
			dir := c.dir
			if dir == "" {
				if dir, err = b.folder("new"); err != nil {
					return 0, err
				}
			}
			return b.firstAnswer(dir, c.message)
		}, b.firstLine)
		if err != nil {
			return err
		}
		b.add(p.times("start to first answer, "+c.what+" (bare Go process)", c.bar))
	}
	return os.RemoveAll(full)
}

// fill makes n notes.
func fill(dir string, n int) error {
	dir = filepath.Join(dir, notes.DirName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for i := range n {
		id := noteID(i)
		sum := sha256.Sum256([]byte(id))
		note := fmt.Appendf(nil, `{"request_id":"%s","text":"x"}`, id)
		if err := os.WriteFile(filepath.Join(dir, hex.EncodeToString(sum[:])+".json"), note, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// firstLine starts the bare program and waits for its line.
func (b *bench) firstLine() (time.Duration, error) {
	start := time.Now()
	p, err := startProcess(b.hello)
	if err != nil {
		return 0, err
	}
	if _, err := p.receive(); err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, p.end()
}

// firstAnswer starts a server and asks it one thing.
func (b *bench) firstAnswer(dir string, message []byte) (time.Duration, error) {
	start := time.Now()
	p, err := b.startServer(dir)
	if err != nil {
		return 0, err
	}
	if err := p.ask(message, `"result"`); err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, p.end()
}
