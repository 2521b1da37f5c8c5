//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"sallyport/internal/ledger"
)

// measureVerify compares a verification with the hashing alone that it cannot do without, by the
// processor time of both.
func (b *bench) measureVerify() error {
	l, path, err := b.openLedger("verify")
	if err != nil {
		return err
	}
	const callers, n = 500, 200_000
	if _, err := appendAtOnce(l, callers, n); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	messages := hashed(text)
	if len(messages) != n {
		return fmt.Errorf("%d records were written, not %d", len(messages), n)
	}
	head := sha256.Sum256(messages[len(messages)-1])
	p, err := inTurn(9, onProcessor(n, func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		v, err := ledger.Verify(f)
		if err != nil {
			return err
		}
		if !v.OK || v.Records != n || v.Head != hex.EncodeToString(head[:]) {
			return fmt.Errorf("not what was written: %+v", v)
		}
		return nil
	}), onProcessor(n, func() error {
		var sum [sha256.Size]byte
		for _, m := range messages {
			sum = sha256.Sum256(m)
		}
		if sum != head {
			return errors.New("the last hash is another")
		}
		return nil
	}))
	if err != nil {
		return err
	}
	what := fmt.Sprintf("verify, %d-byte records per CPU second (SHA-256 alone)", len(text)/n)
	b.add(p.rates(what, atLeast(0.35)))
	return nil
}

var hashMember = regexp.MustCompile(`"sha256":"[0-9a-f]{64}",?`)

// hashed returns what the hash of each line of a ledger is of: the hash of the line before, and the
// line without its own.
func hashed(text []byte) [][]byte {
	var messages [][]byte
	prev := bytes.Repeat([]byte{'0'}, 2*sha256.Size)
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		at := hashMember.FindIndex(line)
		message := append([]byte(nil), prev...)
		message = append(append(message, line[:at[0]]...), line[at[1]:]...)
		messages = append(messages, message)
		prev = line[at[0]+len(`"sha256":"`):][:2*sha256.Size]
	}
	return messages
}

// onProcessor times do by the processor, for each of the n things that it does.
func onProcessor(n int, do func() error) timed {
	return func() (time.Duration, error) {
		start, err := cpu()
		if err != nil {
			return 0, err
		}
		if err := do(); err != nil {
			return 0, err
		}
		end, err := cpu()
		return (end - start) / time.Duration(n), err
	}
}
