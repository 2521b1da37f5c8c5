package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Options bound a conversation. The zero value of each field stands for its default.
type Options struct {
	MaxLine    int          // bytes of the longest line that is read; 16 MiB
	MaxCalls   int          // Queued requests that run at once; 64
	MaxRelayed int          // Relayed requests that run at once; 16,384
	MaxWaiting int          // bytes of requests that wait, are relayed or stay open, and likewise of answers; 64 MiB
	Log        *slog.Logger // for operators; the default drops everything

	// Ended, if not nil, is called by ServeLines when nothing more is read, before it waits for the calls that run.
	Ended func()
}

// WithDefaults returns o with no limit zero, and a Log.
func (o Options) WithDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = 16 << 20
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = 64
	}
	if o.MaxRelayed <= 0 {
		o.MaxRelayed = 1 << 14
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// farewell is how long, after ctx was cancelled, a client has to read the last answers.
const farewell = 5 * time.Second

// ServeLines carries the conversation of one client over lines, requests and notifications from r, answers to w, until
// one of these ends it:
//
//   - r ends: the calls that run and wait are finished and answered, then the open streams get their closing answers;
//   - r fails: the same, and its error is returned;
//   - ctx is cancelled: nothing more is read, the contexts of what runs are cancelled, and what gave up or had to wait
//     is told so;
//   - w fails, which means that the client is gone: the same, except that nobody is told, and its error is returned.
//
// Either way all calls have returned when ServeLines does. Of the goroutines that it starts it waits for all but one
// that is blocked in r.Read or w.Write, which cannot be interrupted: after a cancellation the former, and if the client
// then reads nothing for some seconds the latter, ends when that Read or Write returns.
//
// ServeLines never stops reading because calls run or wait, so that cancellations get through; only while MaxWaiting
// bytes of answers are not read by the client does it wait for it. No line ends the conversation, however bad.
func ServeLines(ctx context.Context, s *Session, h Handler, r io.Reader, w io.Writer, opt Options) error {
	opt = opt.WithDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	if f, ok := w.(*os.File); ok {
		prompt, done := NewPrompt(f)
		defer done()
		w = prompt
	}
	out := newOutbox(opt.MaxWaiting, w)
	load := NewLoad(opt)
	noMore := load.keep()
	defer noMore()
	c := NewConversation(s, h, opt, load, out.push)
	defer c.End()
	stop := context.AfterFunc(ctx, out.hurry)
	defer stop()

	written := make(chan struct{})
	go func() {
		defer close(written)
		out.write(w, func(err error) { cancel(&writeError{err}) })
	}()

	r, doneReading := polled(r)
	defer doneReading() // nothing could be done about an error, here and above
	readErr := c.read(ctx, r, pipe{out})
	if opt.Ended != nil {
		opt.Ended()
	}
	c.calls.running.Wait()
	c.CloseStreams()
	c.Wait()
	noMore()
	load.workers.Wait()
	out.close()
	if err := out.flush(ctx, written); err != nil {
		return err
	}
	return readErr
}

// writeError is why a conversation ended whose client is gone.
type writeError struct{ err error }

func (e *writeError) Error() string { return "writing to the client: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// flush waits until the outbox, which is closed, has been written.
func (o *outbox) flush(ctx context.Context, written <-chan struct{}) error {
	select {
	case <-written:
	case <-ctx.Done():
		late := time.NewTimer(farewell)
		defer late.Stop()
		select {
		case <-written:
		case <-late.C:
			return fmt.Errorf("the client does not read: %d bytes of answers are lost", o.pending())
		}
	}
	var failed *writeError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// read takes in lines until there are no more or ctx is done. Neither is an error. Its goroutine, which waits for the
// client, deals with each message itself: to hand it to another one would wake a thread for each message.
func (c *Conversation) read(ctx context.Context, r io.Reader, to Stream) error {
	var taking sync.Mutex // held while a message is dealt with
	ended := make(chan error, 1)
	go func() {
		lines := newLineReader(r, c.opt.MaxLine)
		for {
			line, err := lines.next()
			taking.Lock()
			if ctx.Err() != nil {
				taking.Unlock()
				return
			}
			over, why := c.takeLine(ctx, line, err, to)
			taking.Unlock()
			if over {
				ended <- why
				return
			}
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		taking.Lock() // whoever comes after finds that ctx is done
		defer taking.Unlock()
		return nil
	}
}

// takeLine deals with a line, or with why there is none, and reports whether it was the last one, and why if that is an
// error.
func (c *Conversation) takeLine(ctx context.Context, line []byte, err error, to Stream) (over bool, why error) {
	switch err {
	case nil:
		c.Take(ctx, Read(line), to)
	case errTooLong:
		c.refuse(Message{}, newError(CodeInvalidRequest,
			fmt.Sprintf("a line is longer than %d bytes, the most that --max-line allows", c.opt.MaxLine)), to)
	case io.EOF:
		return true, nil
	default:
		return true, fmt.Errorf("reading from the client: %w", err)
	}
	return false, nil
}
