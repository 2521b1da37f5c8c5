package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
)

// call calls a tool and gives it the time that its step has; late says that it was over before the call ended.
func (t *sitting) call(ctx context.Context, step *step, requestID, tool string, args canon.Value) (result gate.Result, late bool, err error) {
	ctx, stop := t.patient(ctx, step, tool)
	defer stop()
	result, err = t.Tools.Call(ctx, origin, requestID, tool, args)
	return result, errors.Is(context.Cause(ctx), context.DeadlineExceeded), err
}

// patient returns a ctx that ends when a call of a step took longer than it may. A person who is asked to agree has until the
// approval expires, and only then the step's time begins. stop must be called, and waits for what was begun here.
func (t *sitting) patient(ctx context.Context, step *step, tool string) (_ context.Context, stop func()) {
	if t.Asks == nil {
		return context.WithTimeout(ctx, step.timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		timer := time.NewTimer(step.timeout)
		defer timer.Stop()
		for {
			select {
			case <-over:
				return
			case <-timer.C:
				cancel(context.DeadlineExceeded)
				return
			case a := <-t.Asks:
				t.asked(step, tool, a)
				timer.Reset(max(0, time.Until(a.Expires)) + step.timeout)
			}
		}
	})
	return ctx, func() {
		close(over)
		watch.Wait()
		cancel(nil)
		for {
			select {
			case a := <-t.Asks: // it is not to be taken for the next call's
				t.asked(step, tool, a)
			default:
				return
			}
		}
	}
}

func (t *sitting) asked(step *step, tool string, a Ask) {
	reason := fmt.Sprintf("it waits until %s for a person to agree: sallyport approvals approve %s", a.Expires.UTC().Format(time.RFC3339), a.Approval)
	t.tell(Event{What: "ask", Step: step.id, Tool: tool, Approval: a.Approval, Reason: reason})
}
