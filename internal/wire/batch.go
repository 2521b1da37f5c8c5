package wire

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"sallyport/internal/canon"
)

// maxBatch is how many messages a batch may have. Each costs an answer, however short it is itself.
const maxBatch = 1000

// batch deals with an array of messages: each is judged alone, and the answers go out as one array.
func (c *conversation) batch(ctx context.Context, m Message) {
	size := 0
	for range m.Raw.Elements() {
		size++
	}
	refuse := func(why string) { c.send(errorAnswer(canon.Value{}, newError(CodeInvalidRequest, why))) }
	switch {
	case !c.session.legacy().batches:
		refuse("batches are only for sessions of protocol version 2025-03-26")
		return
	case size == 0:
		refuse("a batch must not be empty")
		return
	case size > maxBatch:
		refuse(fmt.Sprintf("a batch of %d messages is too large, %d is the most", size, maxBatch))
		return
	}
	b := &batch{open: size, answers: make([][]byte, size), send: c.send}
	seen := make(map[string]bool)
	place := 0
	for entry := range m.Raw.Elements() {
		// A copy, since an entry that waits must not keep all the others in memory.
		m, refusal := Scan(bytes.Clone(entry.Bytes()))
		if refusal == nil {
			refusal = c.unfit(m)
		}
		if refusal == nil && m.Kind == Request {
			if key := idKey(m.ID); seen[key] {
				m.ID, refusal = canon.Value{}, newError(CodeInvalidRequest, "two requests of a batch have the same id")
			} else {
				seen[key] = true
			}
		}
		c.message(ctx, m, refusal, b.replyAt(place))
		place++
	}
}

// unfit says why a message may not be in a batch.
func (c *conversation) unfit(m Message) *Error {
	if m.Kind == Batch {
		return newError(CodeInvalidRequest, "a batch must not be in a batch")
	}
	if m.Kind != Request {
		return nil
	}
	if m.Method == methodInitialize {
		return newError(CodeInvalidRequest, "initialize must not be in a batch")
	}
	if era, err := c.session.EraOf(m); err == nil && era == Modern {
		return newError(CodeInvalidRequest, "a request that names its protocol version must not be in a batch")
	}
	return nil
}

// batch collects the answers to the messages of one array, in the order of the messages.
type batch struct {
	send func(answer []byte)

	mu      sync.Mutex // guards what follows
	open    int        // messages without a reply
	answers [][]byte   // nil for a message without an answer
}

// replyAt is the reply of the message at a place of the batch. The last one sends the answers, if there are any.
func (b *batch) replyAt(place int) func(answer []byte) {
	return func(answer []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answers[place] = answer
		if b.open--; b.open > 0 {
			return
		}
		answers := slices.DeleteFunc(b.answers, func(a []byte) bool { return a == nil })
		if len(answers) > 0 {
			b.send(slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}))
		}
	}
}
