//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/notes"
)

// noteID is as long as the request_id of record.
func noteID(n int) string { return fmt.Sprintf("bench-%08d", n) }

func writeNote(n int) []byte {
	return callTool(n, "write_note", fmt.Sprintf(`{"request_id":"%s","text":"%s"}`, noteID(n), strings.Repeat("x", 200)))
}

const committed = `"status":"committed"`

// measureNote compares a committed note with the same file calls made by a bare program, and
// counts its syncs.
func (b *bench) measureNote() error {
	dir, err := b.folder("note")
	if err != nil {
		return err
	}
	server, err := b.startServer(dir)
	if err != nil {
		return err
	}
	sent := 0
	write := func() error {
		sent++
		return server.ask(writeNote(sent), committed)
	}
	const warm = 20
	for range warm {
		if err := write(); err != nil {
			return err
		}
	}
	sizes, err := b.written(dir, warm)
	if err != nil {
		return err
	}
	bareDir, err := b.folder("bare")
	if err != nil {
		return err
	}
	bare, err := startProcess(b.fileCalls, append([]string{bareDir}, sizes...)...)
	if err != nil {
		return err
	}
	p, err := inTurn(250, wall(1, write), wall(1, func() error { return bare.ask([]byte("note"), "") }))
	if err != nil {
		return err
	}
	if err := errors.Join(server.end(), bare.end()); err != nil {
		return err
	}
	b.add(p.times("write_note, committed (bare program, same file calls)", atMost(1.5, "")))
	return b.countSyncs(sizes)
}

// written returns how many bytes each of a note's writes had, for the last of n in dir, as the
// bare program wants them.
func (b *bench) written(dir string, n int) ([]string, error) {
	chain, err := os.Stat(filepath.Join(dir, ledger.FileName))
	if err != nil {
		return nil, err
	}
	own, err := b.recordSize()
	if err != nil {
		return nil, err
	}
	if chain.Size() != own*int64(n) {
		return nil, fmt.Errorf("the gate's records are %d bytes long, those of this program %d", chain.Size()/int64(n), own)
	}
	published, err := filepath.Glob(filepath.Join(dir, notes.DirName, "*.json"))
	if err != nil || len(published) != n {
		return nil, fmt.Errorf("%d notes for %d calls: %w", len(published), n, err)
	}
	note, err := os.Stat(published[0])
	if err != nil {
		return nil, err
	}
	claims, err := os.ReadFile(filepath.Join(dir, mutation.FileName))
	if err != nil {
		return nil, err
	}
	// The last note's intent went out with the hint about the one before; its own hint waits.
	lines := bytes.SplitAfter(claims, []byte{'\n'})[1:] // without the header
	if len(lines) != 3*n {
		return nil, fmt.Errorf("%d lines of claims for %d calls", len(lines)-1, n)
	}
	var sizes []string
	for _, size := range []int{len(lines[3*n-4]) + len(lines[3*n-3]), int(note.Size()), len(lines[3*n-2]), int(own)} {
		sizes = append(sizes, fmt.Sprint(size))
	}
	return sizes, nil
}

// recordSize is how long the line of record is.
func (b *bench) recordSize() (int64, error) {
	l, path, err := b.openLedger("size")
	if err != nil {
		return 0, err
	}
	if err := errors.Join(l.Append(record()), l.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
