//go:build !linux

package wire

import (
	"io"
	"os"
)

// polled returns r: how else to wait for it is known for Linux only.
func polled(r io.Reader) (io.Reader, func() error) { return r, nothing }

func newPrompt(f *os.File) (io.Writer, func() error) { return f, nothing }
