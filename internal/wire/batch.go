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
func (c *Conversation) batch(ctx context.Context, m Message, to Stream) {
	size := 0
	for range m.Raw.Elements() {
		size++
	}
	refuse := func(why string) {
		refusal := newError(CodeInvalidRequest, why)
		to.Answer(ErrorAnswer(canon.Value{}, refusal), refusal)
	}
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
	b := &batch{Stream: to, open: size, answers: make([][]byte, size)}
	seen := make(map[string]bool)
	place := 0
	for entry := range m.Raw.Elements() {
		// A copy, since an entry that waits must not keep all the others in memory.
		in := Read(bytes.Clone(entry.Bytes()))
		if in.Refusal == nil {
			in.Refusal = c.unfit(in.Message)
		}
		if in.Refusal == nil && in.Kind == Request {
			if key := IDKey(in.ID); seen[key] {
				in.ID, in.Refusal = canon.Value{}, newError(CodeInvalidRequest, "two requests of a batch have the same id")
			} else {
				seen[key] = true
			}
		}
		c.message(ctx, in, entryStream{b, place})
		place++
	}
}

// unfit says why a message may not be in a batch.
func (c *Conversation) unfit(m Message) *Error {
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
	Stream // of the array

	mu      sync.Mutex // guards what follows
	open    int        // messages without a reply
	answers [][]byte   // nil for a message without an answer
}

// entryStream is the Stream of the message at a place of the batch.
type entryStream struct {
	*batch
	place int
}

// Answer collects an answer. The last one sends all that there are.
func (e entryStream) Answer(answer []byte, _ *Error) {
	b := e.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[e.place] = answer
	if b.open--; b.open > 0 {
		return
	}
	answers := slices.DeleteFunc(b.answers, func(a []byte) bool { return a == nil })
	if len(answers) == 0 {
		b.Stream.Answer(nil, nil)
		return
	}
	b.Stream.Answer(slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}), nil)
}
