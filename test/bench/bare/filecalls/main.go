//go:build linux

// Command filecalls is the ceiling for a write_note: for each line that it reads it makes the file
// calls of one committed note, in their order and with as many bytes, and answers with a line. It
// decides, checks and remembers nothing. The bench holds its calls against the server's by strace.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The sizes of what is written, in the order of the arguments after the folder.
type sizes struct{ intent, note, outcome, record int }

// state is what the server keeps open, and where it last read the claims up to.
type state struct {
	dir                    string
	claims, claimed, chain *os.File // claimed is claims once more, for the lock on the key
	known                  int64
	sizes                  sizes
}

const (
	ofdSetLock = 37 // F_OFD_SETLK, fcntl(2)
	tailSize   = 4 << 10
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "filecalls:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	s, err := open(args)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for n := 0; lines.Scan(); n++ {
		if err := s.note(n); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return lines.Err()
}

func open(args []string) (*state, error) {
	if len(args) != 5 {
		return nil, fmt.Errorf("usage: filecalls FOLDER INTENT NOTE OUTCOME RECORD")
	}
	s := &state{dir: args[0]}
	for i, size := range []*int{&s.sizes.intent, &s.sizes.note, &s.sizes.outcome, &s.sizes.record} {
		n, err := strconv.Atoi(args[1+i])
		if err != nil {
			return nil, err
		}
		*size = n
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "notes"), 0o700); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		file **os.File
		name string
	}{{&s.claims, "claims"}, {&s.claimed, "claims"}, {&s.chain, "chain"}} {
		file, err := os.OpenFile(filepath.Join(s.dir, f.name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		*f.file = file
	}
	return s, nil
}

// note makes the calls of one committed note.
func (s *state) note(n int) error {
	steps := []func() error{
		func() error { return s.lockKey(syscall.F_WRLCK, n) },
		s.catchUp,
		func() error { return look(s.chain, nil) }, // the ledger is ready
		func() error { return s.append(s.claims, s.sizes.intent) },
		func() error { return s.publish(n) },
		func() error { return s.append(s.claims, s.sizes.outcome) },
		func() error { return s.append(s.chain, s.sizes.record) },
		func() error { return s.lockKey(syscall.F_UNLCK, n) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) lockKey(kind int16, n int) error {
	return syscall.FcntlFlock(s.claimed.Fd(), ofdSetLock, &syscall.Flock_t{Type: kind, Start: int64(n), Len: 1})
}

// catchUp reads what was added to the claims since it last did.
func (s *state) catchUp() error {
	if _, err := s.claims.Stat(); err != nil {
		return err
	}
	return look(s.claims, func(size int64) error {
		_, err := s.claims.ReadAt(make([]byte, size-s.known), s.known)
		s.known = size
		return err
	})
}

func (s *state) append(f *os.File, size int) error {
	return locked(f, func(end int64) error {
		if _, err := f.WriteAt(line(size), end); err != nil {
			return err
		}
		return syscall.Fdatasync(int(f.Fd()))
	})
}

// locked takes the lock on a file, looks whether it still has its name, and reads its tail.
func locked(f *os.File, then func(size int64) error) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	defer syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return look(f, then)
}

// look is locked without the lock.
func look(f *os.File, then func(size int64) error) error {
	if _, err := os.Lstat(f.Name()); err != nil {
		return err
	}
	if _, err := f.Stat(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	tail := make([]byte, min(info.Size(), tailSize))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && err != io.EOF {
		return err
	}
	if then == nil {
		return nil
	}
	return then(info.Size())
}

// publish makes a file of its own appear, whole and durable, under its name.
func (s *state) publish(n int) error {
	dir := filepath.Join(s.dir, "notes")
	temp := filepath.Join(dir, fmt.Sprintf(".tmp-%016x", n))
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Stat(); err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if _, err := os.Lstat(temp); err != nil {
		return err
	}
	if _, err := f.Stat(); err != nil {
		return err
	}
	if _, err := f.WriteAt(line(s.sizes.note), 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Link(temp, filepath.Join(dir, fmt.Sprintf("%064x.json", n))); err != nil {
		return err
	}
	if err := os.Remove(temp); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func line(size int) []byte { return make([]byte, size) }
