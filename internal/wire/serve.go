package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Options bound a conversation. The zero value of each field stands for its default.
type Options struct {
	MaxLine    int          // bytes of the longest line that is read; 16 MiB
	MaxCalls   int          // Queued requests that run at once; 64
	MaxWaiting int          // bytes of requests that wait or stay open, and likewise of answers; 64 MiB
	Log        *slog.Logger // for operators; the default drops everything
}

func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = 16 << 20
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = 64
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
	opt = opt.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	c := &conversation{session: s, handler: h, opt: opt, out: newOutbox(opt.MaxWaiting)}
	c.calls.init(opt.MaxCalls, opt.MaxWaiting)
	s.attach(c.out.push)
	defer s.attach(nil)
	stop := context.AfterFunc(ctx, c.out.hurry)
	defer stop()

	written := make(chan struct{})
	go func() {
		defer close(written)
		c.out.write(w, func(err error) { cancel(&writeError{err}) })
	}()

	readErr := c.read(ctx, r)
	c.running.Wait()
	c.calls.closeStreams()
	c.open.Wait()
	c.out.close()
	if err := c.flush(ctx, written); err != nil {
		return err
	}
	return readErr
}

// writeError is why a conversation ended whose client is gone.
type writeError struct{ err error }

func (e *writeError) Error() string { return "writing to the client: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// flush waits until the outbox, which is closed, has been written.
func (c *conversation) flush(ctx context.Context, written <-chan struct{}) error {
	select {
	case <-written:
	case <-ctx.Done():
		late := time.NewTimer(farewell)
		defer late.Stop()
		select {
		case <-written:
		case <-late.C:
			return fmt.Errorf("the client does not read: %d bytes of answers are lost", c.out.pending())
		}
	}
	var failed *writeError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// input is a line, or why there is none.
type input struct {
	line []byte
	err  error
}

// read takes in lines until there are no more or ctx is done. Neither is an error.
func (c *conversation) read(ctx context.Context, r io.Reader) error {
	inputs := make(chan input)
	go func() {
		defer close(inputs)
		lines := newLineReader(r, c.opt.MaxLine)
		for ctx.Err() == nil {
			line, err := lines.next()
			select {
			case inputs <- input{line, err}:
			case <-ctx.Done():
			}
			if err != nil && err != errTooLong {
				return
			}
		}
	}()
	var last error // set once r has ended
	for {
		select {
		case <-ctx.Done():
			return nil
		case in, more := <-inputs:
			switch {
			case !more && (last == io.EOF || ctx.Err() != nil):
				return nil
			case !more:
				return fmt.Errorf("reading from the client: %w", last)
			case in.err == nil:
				c.receive(ctx, in.line)
			case in.err == errTooLong:
				c.refuse(Message{}, newError(CodeInvalidRequest,
					fmt.Sprintf("a line is longer than %d bytes, the most that --max-line allows", c.opt.MaxLine)), c.send)
			default:
				last = in.err
			}
		}
	}
}
