package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"sallyport/internal/canon"
)

// conversation is what goes on between one client and its handler.
type conversation struct {
	session *Session
	handler Handler
	opt     Options
	out     *outbox
	calls   calls

	running sync.WaitGroup // the goroutines of Queued calls
	open    sync.WaitGroup // the goroutines of Streaming calls
}

// errShutdown is the answer to a request that the end of the conversation came before.
var errShutdown = newError(CodeInternal, "the server is shutting down and has not begun this request: send it again later")

// receive deals with one line. A bug that it meets costs that line only.
func (c *conversation) receive(ctx context.Context, line []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic("", p)
			c.send(errorAnswer(canon.Value{}, errInternal))
		}
	}()
	m, refusal := Scan(line)
	if m.Kind == Batch {
		c.batch(ctx, m)
		return
	}
	c.message(ctx, m, refusal, c.send)
}

// send sends an answer, nil being none.
func (c *conversation) send(answer []byte) {
	if answer != nil {
		c.out.put(answer)
	}
}

// message deals with one message, or with why it was refused. reply is called exactly once, now or later.
func (c *conversation) message(ctx context.Context, m Message, refusal *Error, reply func(answer []byte)) {
	switch {
	case refusal != nil && m.Kind != Notification && m.Kind != Response:
		c.refuse(m, refusal, reply)
	case refusal != nil || m.Kind == Response:
		reply(nil)
	case m.Kind == Notification:
		c.notified(m)
		reply(nil)
	default:
		c.request(ctx, m, reply)
	}
}

// refuse answers a message that is not served. A refusal must not pass for the answer to another request which has the
// same id and is in flight; then it has none.
func (c *conversation) refuse(m Message, refusal *Error, reply func(answer []byte)) {
	id := m.ID
	if c.calls.inUse(id) {
		id = canon.Value{}
	}
	reply(errorAnswer(id, refusal))
}

// request sees to it that a request is answered.
func (c *conversation) request(ctx context.Context, m Message, reply func(answer []byte)) {
	era, refusal := c.session.EraOf(m)
	if refusal != nil {
		c.refuse(m, refusal, reply)
		return
	}
	call := &Call{Message: m, Era: era, Session: c.session}
	f := newInflight(call, c.handler.Pace(m.Method), reply)
	call.push = func(line []byte) { c.calls.whileInFlight(f, func() { c.out.push(line) }) }
	run, refusal := c.calls.admit(f)
	switch {
	case refusal != nil:
		c.refuse(m, refusal, reply)
	case !run:
	case f.pace == Immediate:
		c.serve(ctx, f)
	case f.pace == Streaming:
		c.open.Go(func() { c.serve(ctx, f) })
	default:
		c.running.Go(func() {
			for f := f; f != nil; f = c.calls.next() {
				c.serve(ctx, f)
			}
		})
	}
}

// serve runs a request and answers it, unless it is cancelled.
func (c *conversation) serve(parent context.Context, f *inflight) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	if !c.calls.begin(f, cancel) {
		f.reply(nil)
		return
	}
	// A stream that starts when streams are to end has a context which is done, but opens and closes as all do.
	result, err := []byte(nil), parent.Err()
	if err == nil {
		result, err = c.answer(ctx, f.call)
	}
	if !c.calls.finish(f) {
		f.reply(nil)
		return
	}
	if err != nil {
		f.reply(errorAnswer(f.call.ID, c.outward(ctx, f.call, err)))
		return
	}
	f.reply(resultAnswer(f.call.ID, result))
}

// answer asks the handler. A panic there costs its request only.
func (c *conversation) answer(ctx context.Context, call *Call) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(call.Method, p)
			result, err = nil, errInternal
		}
	}()
	result, err = c.handler.Answer(ctx, call)
	if err == nil && len(result) == 0 {
		err = errors.New("no result")
	}
	return result, err
}

// outward returns what the client is told of err.
func (c *conversation) outward(ctx context.Context, call *Call, err error) *Error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return errShutdown
	}
	c.opt.Log.Error("request failed", "method", call.Method, "error", err)
	return errInternal
}

// notified deals with a notification. One that makes no sense is ignored: there is nobody to tell.
func (c *conversation) notified(m Message) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(m.Method, p)
		}
	}()
	if m.Method != methodCancelled {
		c.handler.Notified(c.session, m)
		return
	}
	if id := m.Params.Get("requestId"); validID(id) {
		if f := c.calls.cancel(idKey(id)); f != nil {
			f.reply(nil)
		}
	}
}

// logPanic logs a panic, but not its value, which may have been made from arguments.
func (c *conversation) logPanic(method string, p any) {
	text := fmt.Sprintf("%T", p)
	if err, ok := p.(runtime.Error); ok {
		text = err.Error()
	}
	c.opt.Log.Error("panic", "method", method, "value", text, "stack", string(debug.Stack()))
}
