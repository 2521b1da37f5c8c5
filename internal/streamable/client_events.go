package streamable

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"
)

// errTooLong says that a message was longer than the maximum, and is gone.
var errTooLong = errors.New("the server's message is longer than the limit")

// event is one event of a stream of them (WHATWG HTML, server-sent events).
type event struct {
	name  string // "" and "message" are the same
	id    string // "" if it has none
	retry time.Duration
	timed bool // retry was there
	data  []byte
	any   bool // anything of the above was there
}

// eventReader cuts a stream into events. It holds no more than one at a time, and nothing of one that is too long.
type eventReader struct {
	in      *bufio.Reader
	max     int  // bytes of the longest data
	begun   bool // the first line has been read
	afterCR bool // the last line ended in a carriage return, which a line feed may belong to
}

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 8<<10), max: limit}
}

// next returns the next event. After errTooLong the next call goes on behind that event; any other error is final,
// io.EOF being the end of the stream. The last event needs no blank line after it, if the stream ended in good order:
// what is JSON when it is cut off has not been cut off.
func (r *eventReader) next() (event, error) {
	var e event
	spent, over := 0, false
	for {
		limit := r.max + maxFieldName - spent
		if over {
			limit = 0
		}
		line, err := r.line(limit)
		switch {
		case err == errTooLong:
			e, over = event{any: true}, true
			continue
		case err == io.EOF && over:
			return event{}, errTooLong
		case err == io.EOF && e.any:
			return e, nil
		case err != nil:
			return event{}, err
		}
		if len(line) == 0 {
			switch {
			case over:
				return event{}, errTooLong
			case e.any:
				return e, nil
			}
			continue
		}
		if line[0] == ':' {
			continue
		}
		spent += len(line)
		if e.take(line); len(e.data) > r.max {
			e, over = event{any: true}, true
		}
	}
}

// maxFieldName is what a line may be longer than its data.
const maxFieldName = 1 << 10

// take adds the field in line, whose memory is the event's from now on.
func (e *event) take(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.data == nil {
			e.data = value
		} else {
			e.data = append(append(e.data, '\n'), value...)
		}
	case "event":
		e.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			return
		}
		e.id = string(value)
	case "retry":
		wait, ok := milliseconds(string(value))
		if !ok {
			return
		}
		e.retry, e.timed = wait, true
	default:
		return
	}
	e.any = true
}

// milliseconds reads the digits of a retry field; more than a day is a day.
func milliseconds(digits string) (time.Duration, bool) {
	const most = 24 * time.Hour
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	wait := time.Duration(0)
	for _, digit := range digits {
		if wait = wait*10 + time.Duration(digit-'0')*time.Millisecond; wait > most {
			wait = most
		}
	}
	return wait, true
}

// line returns the next line without its end, in memory of its own. After errTooLong the line, longer than limit, is
// behind us.
func (r *eventReader) line(limit int) ([]byte, error) {
	var line []byte
	over := false
	for {
		if _, err := r.in.Peek(1); err != nil {
			switch {
			case err == io.EOF && over:
				return nil, errTooLong
			case err == io.EOF && len(line) > 0:
				return r.first(line), nil
			}
			return nil, err
		}
		part, _ := r.in.Peek(r.in.Buffered())
		if r.afterCR {
			r.afterCR = false
			if part[0] == '\n' {
				r.in.Discard(1)
				continue
			}
		}
		end := lineEnd(part)
		text := part
		if end >= 0 {
			text = part[:end]
		}
		if over = over || len(line)+len(text) > limit; over {
			line = nil
		} else {
			line = append(line, text...)
		}
		if end < 0 {
			r.in.Discard(len(part))
			continue
		}
		r.afterCR = part[end] == '\r'
		r.in.Discard(end + 1)
		if over {
			return nil, errTooLong
		}
		return r.first(line), nil
	}
}

// first takes the byte order mark off the stream's first line.
func (r *eventReader) first(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// lineEnd returns where the first line feed or carriage return in text is; -1 if there is none.
func lineEnd(text []byte) int {
	feed := bytes.IndexByte(text, '\n')
	if feed >= 0 {
		text = text[:feed]
	}
	if carriage := bytes.IndexByte(text, '\r'); carriage >= 0 {
		return carriage
	}
	return feed
}
