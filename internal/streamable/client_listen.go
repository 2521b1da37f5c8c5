package streamable

import (
	"context"
	"net/http"
	"time"

	"sallyport/internal/wire"
)

// steadyTime is how long a stream must have lasted to be no failure when it ends.
const steadyTime = 10 * time.Second

// listen begins to read the session's own stream, if that is not done yet. A server need not have one.
func (l *link) listen() {
	l.mu.Lock()
	begun := l.listening
	l.listening = true
	l.mu.Unlock()
	if !begun {
		l.spawn(l.hearAll)
	}
}

// hearAll reads the session's own stream, again whenever it ends, until the link is over or the server wants no more.
func (l *link) hearAll() {
	var at cursor
	for {
		begun := time.Now()
		again := l.hearOnce(&at)
		if !again {
			return
		}
		if time.Since(begun) > steadyTime {
			at.fruitless = 0
		}
		wait := at.wait()
		if at.fruitless >= maxResumes {
			wait = max(wait, maxRetryTime)
		}
		at.fruitless++
		if l.sleep(context.Background(), wait) != nil {
			return
		}
	}
}

// hearOnce reads the session's own stream to its end, and reports whether to ask for it again.
func (l *link) hearOnce(at *cursor) bool {
	x, err := l.listenFrom(context.Background(), at.last)
	if err != nil {
		return true
	}
	defer x.abort()
	switch {
	case x.response.StatusCode != http.StatusOK:
		return !l.endedBy(x, wire.Incoming{}) && passing(x.response.StatusCode)
	case x.mediaType() != typeEvents || x.compressed():
		return false
	}
	stream := newEventReader(x, l.client.maxMessage())
	for {
		e, err := stream.next()
		switch {
		case err == errTooLong:
			continue
		case err != nil:
			return true
		}
		at.at(e)
		if e.name != "" && e.name != "message" || len(e.data) == 0 {
			continue
		}
		m, err := message(e.data)
		if err != nil || m.Kind == wire.Response {
			continue
		}
		at.fruitless = 0
		if m.Kind == wire.Request && m.Method == methodPing {
			l.answerPing(m.ID)
			continue
		}
		l.hear(m)
	}
}

// listenFrom asks for a stream of the session: for that which had the event last in it, or for the session's own.
func (l *link) listenFrom(ctx context.Context, last string) (*exchange, error) {
	header, _ := l.sessionHeader()
	if last != "" {
		header.Set(fieldLastEvent, last)
	}
	return l.exchange(ctx, http.MethodGet, nil, header, &passage{})
}

// passing reports whether an HTTP error may not be there any more the next time.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return status >= 500
}

// sleep waits. Its error says why it did so no longer.
func (l *link) sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return errOver
	}
}
