package hook

import (
	"errors"
	"fmt"
	"io"
)

// readAll reads to the end, whatever comes: a host whose writing fails may take that for a hook that failed, and go on.
// Of what is too large the rest is thrown away.
func readAll(r io.Reader) ([]byte, error) {
	buf := make([]byte, 0, 16<<10) // most events are small, and memory costs when it is touched first
	for {
		if len(buf) == cap(buf) {
			if len(buf) > maxEvent {
				return nil, drain(r)
			}
			grown := make([]byte, len(buf), min(2*cap(buf), maxEvent+1))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, errors.New("the event could not be read")
		}
	}
}

// drain reads the rest of what is too large.
func drain(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return errors.New("the event could not be read")
	}
	return fmt.Errorf("the event is larger than %d MiB, so it was not judged: make the call smaller", maxEvent>>20)
}
