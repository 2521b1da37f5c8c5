//go:build unix

package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// pipeReader reads from a pipe that does not block.
type pipeReader struct {
	raw syscall.RawConn
	try func(fd uintptr) bool

	text []byte // of the read at hand, as are the next two
	n    int
	err  error
}

// NewPipeReader returns a reader of f, a pipe that is in the runtime's poller; one goroutine at a time may read. It costs
// less than to read f itself (transfer says why).
func NewPipeReader(f *os.File) io.Reader {
	raw, err := f.SyscallConn()
	if err != nil {
		return f
	}
	p := &pipeReader{raw: raw}
	p.try = p.tryRead
	return p
}

// Read implements io.Reader.
func (p *pipeReader) Read(text []byte) (int, error) {
	if len(text) == 0 {
		return 0, nil
	}
	p.text, p.n, p.err = text, 0, nil
	err := p.raw.Read(p.try)
	p.text = nil
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, err
	case err != nil:
		return 0, fmt.Errorf("%w: %w", os.ErrClosed, err)
	case p.err != nil:
		return 0, p.err
	case p.n == 0:
		return 0, io.EOF
	}
	return p.n, nil
}

func (p *pipeReader) tryRead(fd uintptr) bool {
	p.n, p.err = readPipe(fd, p.text)
	return p.err != syscall.EAGAIN
}
