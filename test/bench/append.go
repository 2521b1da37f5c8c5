//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/ledger"
)

// record is what the gate writes of a committed note; measureNote holds its length against one that
// the gate wrote.
func record() *ledger.Record {
	const digest = "1a3cbb2680d0e1f6b84e3ea16f7ae9d5a01cd9bd113667b60ccf56453acf380a"
	return &ledger.Record{
		RequestID:    "bench-00000001",
		Method:       "tools/call",
		Name:         "write_note",
		Decision:     "allow",
		Outcome:      ledger.Committed,
		ArgsDigest:   digest,
		PolicyDigest: digest,
		Principal:    "local",
		Attempt:      "6f8e92a782701de1",
	}
}

// rawFile is the ceiling for a ledger: a file to which some bytes at a time are appended and synced.
type rawFile struct{ *os.File }

func (b *bench) openRaw() (rawFile, error) {
	dir, err := b.folder("raw")
	if err != nil {
		return rawFile{}, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "raw"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return rawFile{f}, err
}

// append appends 200 bytes.
func (f rawFile) append() error { return f.appendOf(200)() }

// appendOf returns what appends so many bytes.
func (f rawFile) appendOf(size int) func() error {
	text := make([]byte, size)
	return func() error {
		if _, err := f.Write(text); err != nil {
			return err
		}
		return syscall.Fdatasync(int(f.Fd()))
	}
}

func (b *bench) openLedger(name string) (*ledger.Ledger, string, error) {
	dir, err := b.folder(name)
	if err != nil {
		return nil, "", err
	}
	l, err := ledger.Open(durable.OS, dir)
	return l, filepath.Join(dir, ledger.FileName), err
}

// measureAppend compares a ledger with a raw file, for one caller and for many at once.
func (b *bench) measureAppend() error {
	raw, err := b.openRaw()
	if err != nil {
		return err
	}
	defer raw.Close()
	l, _, err := b.openLedger("append")
	if err != nil {
		return err
	}
	defer l.Close()

	const n = 25
	one, err := inTurn(100, typical(n, func() error { return l.Append(record()) }), typical(n, raw.append))
	if err != nil {
		return err
	}
	b.add(one.rates("ledger append, 1 caller (raw append + fdatasync)", atLeast(0.75)))
	for _, callers := range []int{8, 64} {
		many, err := inTurn(40, func() (time.Duration, error) { return appendAtOnce(l, callers, 25*callers) }, wall(n, raw.append))
		if err != nil {
			return err
		}
		what := fmt.Sprintf("ledger append, %d callers", callers)
		if callers == 64 {
			b.add(many.rates(what, atLeast(15)))
		} else {
			b.add(many.rates(what, bar{}))
		}
	}
	return nil
}

// appendAtOnce appends n records, by so many callers at once.
func appendAtOnce(l *ledger.Ledger, callers, n int) (each time.Duration, err error) {
	errs := make([]error, callers)
	var running sync.WaitGroup
	start := time.Now()
	for i := range callers {
		running.Go(func() {
			for range n / callers {
				if errs[i] = l.Append(record()); errs[i] != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return time.Since(start) / time.Duration(n), errors.Join(errs...)
}

const million = 1_000_000

// measureMillion compares appending to a ledger of a million records with appending to an empty one.
func (b *bench) measureMillion() error {
	large, path, err := b.openLedger("million")
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer large.Close()
	const callers = 1000
	if _, err := appendAtOnce(large, callers, million); err != nil {
		return err
	}
	const n = 20
	p, err := inTurn(80, typical(n, func() error { return large.Append(record()) }), func() (time.Duration, error) {
		empty, path, err := b.openLedger("empty")
		if err != nil {
			return 0, err
		}
		defer os.Remove(path)
		defer empty.Close()
		return typical(n, func() error { return empty.Append(record()) })()
	})
	if err != nil {
		return err
	}
	b.add(p.times("ledger append after 1,000,000 records (after none)", atMost(1.15, "")))
	return nil
}
