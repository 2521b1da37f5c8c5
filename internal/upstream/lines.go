package upstream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// glimpseSize is how much is kept of either end of a line that is too long.
const glimpseSize = 1 << 10

// overlongError is a line that was longer than the maximum and is gone, but for its ends.
type overlongError struct {
	head, tail []byte
	max        int
}

func (e *overlongError) Error() string {
	return fmt.Sprintf("the result is too large: it has more than %d bytes, the most that is read of this server", e.max)
}

// lineReader cuts what a server says into lines. It holds no more than one line at a time.
type lineReader struct {
	in  *bufio.Reader
	max int // length of the longest line to be returned, its end not counted
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line that is not blank, without its end, in memory of its own. The last line needs no end. After
// an *overlongError the next call goes on behind that line; any other error is final.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil || len(bytes.TrimLeft(line, " \t\r")) > 0 {
			return line, err
		}
	}
}

// line is next for any line, blank ones too.
func (l *lineReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line)+len(part) > l.max+len("\r\n") {
			return nil, l.drain(line, part, err)
		}
		line = append(l.roomFor(line, len(part), err == bufio.ErrBufferFull), part...)
		switch {
		case err == bufio.ErrBufferFull:
		case err == nil, err == io.EOF && len(line) > 0:
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if len(line) > l.max {
				return nil, &overlongError{head: firstOf(line), tail: lastOf(line), max: l.max}
			}
			return line, nil
		default:
			return nil, err
		}
	}
}

// drain reads to the end of the line that has begun with line and part, where err was met last.
func (l *lineReader) drain(line, part []byte, err error) error {
	head := line
	if len(head) < glimpseSize {
		head = append(head, part...)
	}
	long := &overlongError{head: firstOf(head), max: l.max}
	tail := append(lastOf(line), lastOf(part)...)
	for err == bufio.ErrBufferFull {
		part, err = l.in.ReadSlice('\n')
		tail = append(lastOf(tail), lastOf(part)...)
	}
	long.tail = lastOf(bytes.TrimRight(tail, "\r\n"))
	if err == nil || err == io.EOF {
		return long
	}
	return err
}

// firstOf and lastOf are copies of the ends of text.
func firstOf(text []byte) []byte { return bytes.Clone(text[:min(len(text), glimpseSize)]) }
func lastOf(text []byte) []byte  { return bytes.Clone(text[max(0, len(text)-glimpseSize):]) }

// roomFor makes room in line for n more bytes, and for as many again if it goes on behind them. It doubles, but not past
// what the longest line needs, so that a line of the maximum costs no more than twice that on the way.
func (l *lineReader) roomFor(line []byte, n int, goesOn bool) []byte {
	need := len(line) + n
	if need <= cap(line) {
		return line
	}
	room := need
	if goesOn {
		room = max(need, min(2*need, l.max+len("\r\n")))
	}
	larger := make([]byte, len(line), room)
	copy(larger, line)
	return larger
}
