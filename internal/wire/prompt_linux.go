package wire

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// polled returns r, or where that is a pipe another file for the same end of it, which the runtime waits for in its
// poller; and what closes that. A read of the file that a process has as its stdin blocks a thread instead, and the runtime
// must see to it that another one goes on: two context switches for each message. The file has a state of its own, so that
// others who have r are not disturbed. Where it cannot be had, as for a terminal, r does as well.
func polled(r io.Reader) (io.Reader, func() error) {
	f, ok := r.(*os.File)
	if !ok {
		return r, nothing
	}
	again, err := reopened(f, os.O_RDONLY)
	if err != nil {
		return r, nothing
	}
	return NewPipeReader(again), again.Close
}

// errNoPipe says that a file is nothing that can be opened again without consequences.
var errNoPipe = errors.New("not a pipe")

// reopened opens the same end of a pipe again, so that it does not block.
func reopened(f *os.File, flag int) (again *os.File, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != fs.ModeNamedPipe {
		return nil, errNoPipe
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) {
		again, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), flag|syscall.O_NONBLOCK, 0)
	})
	if failed != nil {
		return nil, failed
	}
	return again, err
}

func newPrompt(f *os.File) (io.Writer, func() error) {
	again, err := reopened(f, os.O_WRONLY)
	if err != nil {
		return f, nothing
	}
	raw, err := again.SyscallConn()
	if err != nil {
		again.Close() // nothing was written
		return f, nothing
	}
	return &promptPipe{again, raw}, again.Close
}

// promptPipe is a Prompt over a pipe that does not block.
type promptPipe struct {
	*os.File
	raw syscall.RawConn
}

// WriteNow implements Prompt.
func (p *promptPipe) WriteNow(text []byte) (n int, err error) {
	closed := p.raw.Write(func(fd uintptr) bool {
		n, err = WritePipe(fd, text)
		return true
	})
	if err == syscall.EAGAIN {
		err = nil
	}
	return n, errors.Join(err, closed)
}
