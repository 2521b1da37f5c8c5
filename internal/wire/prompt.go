package wire

import (
	"io"
	"os"
)

// Prompt is a client's end that can be written to without waiting, beside being written to as any.
type Prompt interface {
	io.Writer

	// WriteNow writes as much of text as the client's end takes at once. Fewer bytes and no error mean that Write would
	// wait with the rest.
	WriteNow(text []byte) (n int, err error)
}

// NewPrompt returns a writer to f, which is a Prompt where f can be written to without waiting, and what closes it again
// and leaves f open. Until then a client that reads f hears of no end.
func NewPrompt(f *os.File) (w io.Writer, done func() error) { return newPrompt(f) }

// nothing is for what needs no closing.
func nothing() error { return nil }
