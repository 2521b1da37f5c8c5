package wire

import (
	"bytes"
	"context"
	"io"
	"iter"
	"runtime"
	"slices"
	"sync"
)

// outbox holds the lines that are on their way to a client, in order, and writes them whole, one at a time. A client
// that does not read is waited for by those who put, once there is too much in the outbox.
//
// Whoever brings a line when there is nothing else to be written writes it, if the client takes it at once: so a lone
// answer wakes nobody. All else is left to the goroutine that write runs in.
type outbox struct {
	limit int
	now   Prompt // nil where nothing can be written without waiting

	mu      sync.Mutex // guards what follows
	room    *sync.Cond // on mu: put may find room, or need not wait any more
	work    *sync.Cond // on mu: there is something for write to do
	lines   [][]byte
	rest    []byte // of lines before those, of which a part has been written
	size    int    // bytes of rest, lines and those that are being written, their ends too
	joined  []byte // room for lines that are written together
	writing bool   // somebody writes, or is about to, and is going to look for more: one at a time
	left    bool   // that is write, which has not begun
	err     error  // why nothing can be written any more
	closed  bool   // no more lines come
	hurried bool   // put does not wait any more
}

func newOutbox(limit int, w io.Writer) *outbox {
	o := &outbox{limit: limit}
	o.now, _ = w.(Prompt)
	o.room, o.work = sync.NewCond(&o.mu), sync.NewCond(&o.mu)
	return o
}

// put adds a line once there is less than the limit in the outbox.
func (o *outbox) put(line []byte) {
	o.mu.Lock()
	for o.size >= o.limit && o.err == nil && !o.hurried {
		o.room.Wait()
	}
	added, lead := o.add(line)
	o.mu.Unlock()
	if added && lead {
		runtime.Gosched() // others that are ready may have an answer as well: all of them cost one write
		o.writeNow()
	}
}

// push is put without the waiting: where there is twice the limit in the outbox the line is dropped. It reports whether
// the line is on its way.
func (o *outbox) push(line []byte) bool {
	o.mu.Lock()
	added, lead := false, false
	if o.size < 2*o.limit {
		added, lead = o.add(line)
	}
	o.mu.Unlock()
	if lead {
		o.writeNow() // at once: whoever pushes may hold up others
	}
	return added
}

// add adds a line, if it can still be written; mu is held. Whoever is told to lead must call writeNow.
func (o *outbox) add(line []byte) (added, lead bool) {
	if o.err != nil || o.closed {
		return false, false
	}
	o.lines = append(o.lines, line)
	o.size += len(line) + len("\n")
	switch {
	case o.writing:
	case o.now == nil:
		o.work.Signal()
	default:
		o.writing, lead = true, true
	}
	return true, lead
}

// writeNow writes the lines that there are as far as the client takes them at once, and leaves the rest to write. It is for
// who was told to lead.
func (o *outbox) writeNow() {
	const most = 32 << 10 // of what is more a part would be left anyway
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) > 0 && o.err == nil {
		text, n := o.joined[:0], 0
		for ; n < len(o.lines) && len(text)+len(o.lines[n]) < most; n++ {
			text = append(append(text, OneLine(o.lines[n])...), '\n')
		}
		o.joined = text
		sent := 0
		if n > 0 {
			sent, _ = o.now.WriteNow(text) // write meets an error again
		}
		if sent > 0 {
			o.size -= sent
			o.lines = slices.Delete(o.lines, 0, n)
			o.room.Broadcast()
		}
		if n == 0 || sent < len(text) {
			if sent > 0 {
				o.rest = bytes.Clone(text[sent:])
			}
			o.left = true
			o.work.Signal()
			return
		}
	}
	if o.writing = false; o.closed {
		o.work.Signal()
	}
}

// hurry lets put wait no more.
func (o *outbox) hurry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hurried = true
	o.room.Broadcast()
}

// close says that no more lines come: write returns when those that are there have been written.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.work.Signal()
}

// pending returns how many bytes have not been written.
func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size
}

// write writes the lines to w until the outbox is closed and empty, or a write fails; then it says so to failed.
func (o *outbox) write(w io.Writer, failed context.CancelCauseFunc) {
	var joined []byte
	for rest, lines, more := o.take(false); more; rest, lines, more = o.take(true) {
		for text := range texts(rest, lines, &joined) {
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

// texts yields the rest of what was begun, and then the chunks of the lines.
func texts(rest []byte, lines [][]byte, joined *[]byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(rest) > 0 && !yield(rest) || len(lines) == 0 {
			return
		}
		chunks(lines, joined)(yield)
	}
}

// take waits for something to be written and returns all there is; more is false when there will be nothing. again says
// that what was taken before has been written.
func (o *outbox) take(again bool) (rest []byte, lines [][]byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if again {
		o.writing = false
	}
	for ; ; o.work.Wait() {
		switch {
		case o.writing && !o.left: // somebody else writes, and says so if there is something left
		case len(o.lines) > 0 || len(o.rest) > 0:
			rest, lines = o.rest, o.lines
			o.rest, o.lines, o.writing, o.left = nil, nil, true, false
			return rest, lines, true
		case o.closed:
			return nil, nil, false
		}
	}
}

// wrote notes that size bytes are gone or, if err is not nil, that all is lost.
func (o *outbox) wrote(size int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= size
	if err != nil {
		o.rest, o.lines, o.size, o.err = nil, nil, 0, err
	}
	o.room.Broadcast()
}

// OneLine returns a JSON text without line feeds. They stand between its tokens, where a space will do as well; but who reads
// lines would take what follows one for another message, that nobody has judged. A text that has none is returned itself.
func OneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte{'\n'}, []byte{' '})
}

// chunks yields the lines with their ends, as texts of which each is to be one write. Lines that are not very long are
// put together in joined, so that many cost one write, and none needs room for its end; the bytes of a line may be
// somebody else's too.
func chunks(lines [][]byte, joined *[]byte) iter.Seq[[]byte] {
	const long, enough = 256 << 10, 64 << 10
	return func(yield func([]byte) bool) {
		text := (*joined)[:0]
		for _, line := range lines {
			line = OneLine(line)
			if len(text) > 0 && (len(line) >= long || len(text) >= enough) {
				if !yield(text) {
					return
				}
				text = text[:0]
			}
			if len(line) >= long {
				if !yield(line) {
					return
				}
				line = nil
			}
			text = append(append(text, line...), '\n')
		}
		if cap(text) <= long+enough+1 { // what is larger is not kept
			*joined = text
		}
		yield(text)
	}
}
