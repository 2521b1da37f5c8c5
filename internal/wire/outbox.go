package wire

import (
	"bytes"
	"context"
	"io"
	"sync"
)

// outbox holds the lines that are on their way to a client, in order, and writes them whole, one at a time. A client
// that does not read is waited for by those who put, once there is too much in the outbox.
type outbox struct {
	limit int

	mu      sync.Mutex // guards what follows
	changed *sync.Cond // on mu: something of the below has changed
	lines   [][]byte
	size    int   // bytes of lines and of those that are being written
	err     error // why nothing can be written any more
	closed  bool  // no more lines come
	hurried bool  // put does not wait any more
}

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// put adds a line once there is less than the limit in the outbox. It takes ownership of line.
func (o *outbox) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size >= o.limit && o.err == nil && !o.hurried {
		o.changed.Wait()
	}
	o.add(line)
}

// push is put without the waiting.
func (o *outbox) push(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(line)
}

// add adds a line; mu is held.
func (o *outbox) add(line []byte) {
	if o.err != nil || o.closed {
		return
	}
	line = append(oneLine(line), '\n')
	o.lines = append(o.lines, line)
	o.size += len(line)
	o.changed.Broadcast()
}

// hurry lets put wait no more.
func (o *outbox) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hurried = true
	o.changed.Broadcast()
}

// close says that no more lines come: write returns when those that are there have been written.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// pending returns how many bytes have not been written.
func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size
}

// write writes the lines to w until the outbox is closed and empty, or a write fails; then it says so to failed.
func (o *outbox) write(w io.Writer, failed context.CancelCauseFunc) {
	for lines := o.take(); lines != nil; lines = o.take() {
		for _, text := range join(lines) {
			n, err := w.Write(text)
			if err == nil && n < len(text) {
				err = io.ErrShortWrite
			}
			o.wrote(len(text), err)
			if err != nil {
				failed(err)
				return
			}
		}
	}
}

// take waits for lines and returns all there are, nil when there will be none.
func (o *outbox) take() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 && !o.closed {
		o.changed.Wait()
	}
	lines := o.lines
	o.lines = nil
	return lines
}

// wrote notes that size bytes are gone or, if err is not nil, that all is lost.
func (o *outbox) wrote(size int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= size
	if err != nil {
		o.lines, o.size, o.err = nil, 0, err
	}
	o.changed.Broadcast()
}

// oneLine takes the line feeds out of a JSON text. They stand between its tokens, where a space will do as well.
func oneLine(text []byte) []byte {
	for rest := text; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return text
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}

// join puts short lines together, so that many cost one write.
func join(lines [][]byte) [][]byte {
	const short = 4 << 10
	joined := lines[:1]
	for _, line := range lines[1:] {
		if last := &joined[len(joined)-1]; len(line) < short && len(*last) < 16*short {
			*last = append(*last, line...)
		} else {
			joined = append(joined, line)
		}
	}
	return joined
}
