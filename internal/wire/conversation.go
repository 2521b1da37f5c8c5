package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"sallyport/internal/canon"
)

// Conversation is what goes on between one client and its handler, by whatever transport: each message comes with the
// Stream that takes what is said on its behalf. It is safe for concurrent use.
type Conversation struct {
	session *Session
	handler Handler
	opt     Options
	calls   calls
}

// NewConversation begins a conversation within the bounds of load. push takes what belongs to no message, as
// Stream.Push does; it is nil where there is no way for that. End must be called.
func NewConversation(s *Session, h Handler, opt Options, load *Load, push func(line []byte) bool) *Conversation {
	c := &Conversation{session: s, handler: h, opt: opt.WithDefaults()}
	c.calls.init(load)
	if push != nil {
		s.attach(push)
	}
	return c
}

// Input is one message of a client's, and how it was understood.
type Input struct {
	Message
	Line         []byte
	Refusal      *Error            // why it is not served, nil if it may be
	ParamHeaders map[string]string // Call.ParamHeaders
}

// Read scans a message. line must not be changed after.
func Read(line []byte) Input {
	m, refusal := Scan(line)
	return Input{Message: m, Line: line, Refusal: refusal}
}

// Take deals with one message. It returns when the next message may be looked at; the answer may come later. ctx is that
// of the call which the message may be. A bug that is met costs that message only.
func (c *Conversation) Take(ctx context.Context, in Input, to Stream) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic("", p)
			to.Answer(ErrorAnswer(canon.Value{}, errInternal), nil)
		}
	}()
	if in.Kind == Batch && in.Refusal == nil {
		c.batch(ctx, in.Message, to)
		return
	}
	c.message(ctx, in, to)
}

// Close takes nothing more in.
func (c *Conversation) Close() { c.calls.close() }

// End takes nothing more in, cancels all that is in flight, without an answer, and fails all that the client is asked.
func (c *Conversation) End() {
	c.calls.end()
	c.session.attach(nil)
}

// CloseStreams lets the contexts of Streaming calls be done, which then give their closing answers.
func (c *Conversation) CloseStreams() { c.calls.closeStreams() }

// Wait returns once every request that was taken in has been answered or has ended without an answer. Nothing may be
// taken in meanwhile: the reader has stopped, or Close or End was called.
func (c *Conversation) Wait() {
	c.calls.running.Wait()
	c.calls.open.Wait()
}

// Idle reports whether no request is in flight.
func (c *Conversation) Idle() bool { return c.calls.idle() }

// errShutdown is the answer to a request that the end of the conversation came before.
var errShutdown = newError(CodeInternal, "the server is shutting down and has not begun this request: send it again later")

// message deals with one message that is no batch. to is answered exactly once, now or later.
func (c *Conversation) message(ctx context.Context, in Input, to Stream) {
	if in.Kind == Response || in.Refusal != nil && in.Kind == Invalid {
		if answer, ok := scanAnswer(in.Line); ok {
			c.session.asks.answered(answer)
			to.Answer(nil, nil)
			return
		}
	}
	switch {
	case in.Refusal != nil && in.Kind != Notification && in.Kind != Response:
		c.refuse(in.Message, in.Refusal, to)
	case in.Refusal != nil || in.Kind == Response:
		to.Answer(nil, in.Refusal)
	case in.Kind == Notification:
		c.notified(in.Message)
		to.Answer(nil, nil)
	default:
		c.request(ctx, in, to)
	}
}

// refuse answers a message that is not served. A refusal must not pass for the answer to another request which has the
// same id and is in flight; then it has none.
func (c *Conversation) refuse(m Message, refusal *Error, to Stream) {
	id := m.ID
	if c.calls.inUse(id) {
		id = canon.Value{}
	}
	to.Answer(ErrorAnswer(id, refusal), refusal)
}

// request sees to it that a request is answered.
func (c *Conversation) request(ctx context.Context, in Input, to Stream) {
	era, refusal := c.session.EraOf(in.Message)
	if refusal != nil {
		c.refuse(in.Message, refusal, to)
		return
	}
	call := &Call{Message: in.Message, Era: era, Session: c.session, ParamHeaders: in.ParamHeaders, to: to}
	f := newInflight(call, c.handler.Pace(in.Method), to)
	f.run = func() { c.serve(ctx, f) }
	call.push = func(line []byte) bool {
		return c.calls.whileInFlight(f, func() bool { return to.Push(line) })
	}
	run, refusal := c.calls.admit(f)
	switch {
	case refusal != nil:
		c.refuse(in.Message, refusal, to)
	case !run:
	case f.pace == Immediate:
		f.run()
	case f.pace == Streaming:
		go f.run() // settling it is the last thing that it does
	default:
		c.calls.load.work(f)
	}
}

// serve runs a request and answers it, unless it is cancelled.
func (c *Conversation) serve(parent context.Context, f *inflight) {
	defer c.calls.load.release(f)
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	if !c.calls.begin(f, cancel) {
		c.calls.settle(f, nil)
		return
	}
	// A stream that starts when streams are to end has a context which is done, but opens and closes as all do.
	reply, err := Reply{}, parent.Err()
	if err == nil {
		f.call.done = ctx.Done()
		reply, err = c.answer(ctx, f.call)
	}
	if !c.calls.finish(f) {
		c.calls.settle(f, nil)
		return
	}
	if err != nil {
		c.calls.settle(f, ErrorAnswer(f.call.ID, c.outward(ctx, f.call, err)))
		return
	}
	if reply.Line != nil {
		c.calls.settle(f, reply.Line)
		return
	}
	c.calls.settle(f, resultAnswer(f.call.ID, reply.Result))
}

// answer asks the handler. A panic there costs its request only.
func (c *Conversation) answer(ctx context.Context, call *Call) (reply Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(call.Method, p)
			reply, err = Reply{}, errInternal
		}
	}()
	reply, err = c.handler.Answer(ctx, call)
	if err == nil && len(reply.Result) == 0 && len(reply.Line) == 0 {
		err = errors.New("no result")
	}
	return reply, err
}

// outward returns what the client is told of err.
func (c *Conversation) outward(ctx context.Context, call *Call, err error) *Error {
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
func (c *Conversation) notified(m Message) {
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
		c.calls.cancel(IDKey(id))
	}
}

// logPanic logs a panic, but not its value, which may have been made from arguments.
func (c *Conversation) logPanic(method string, p any) {
	text := fmt.Sprintf("%T", p)
	if err, ok := p.(runtime.Error); ok {
		text = err.Error()
	}
	c.opt.Log.Error("panic", "method", method, "value", text, "stack", string(debug.Stack()))
}
