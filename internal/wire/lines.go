package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errTooLong says that a line was longer than the maximum, and is gone.
var errTooLong = errors.New("line too long")

// lineReader cuts a stream into lines. It holds no more than one line at a time, and of one that is too long only the
// beginning.
type lineReader struct {
	in  *bufio.Reader
	max int // length of the longest line to be returned, its end not counted
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 32<<10), max: limit}
}

// next returns the next line that is not blank, without its line feed or carriage return and line feed, in memory of
// its own. The last line needs no end. After errTooLong the next call goes on behind that line; any other error is
// final, io.EOF being the end of the stream.
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
		switch {
		case len(line)+len(part) <= l.max+len("\r\n"):
			line = grow(line, len(part), l.max)
			line = append(line, part...)
		default:
			return nil, l.drain(err)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == nil, err == io.EOF && len(line) > 0:
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if len(line) > l.max {
				return nil, errTooLong
			}
			return line, nil
		default:
			return nil, err
		}
	}
}

// drain reads to the end of the line of which err was met last.
func (l *lineReader) drain(err error) error {
	for err == bufio.ErrBufferFull {
		_, err = l.in.ReadSlice('\n')
	}
	if err == nil || err == io.EOF {
		return errTooLong
	}
	return err
}

// grow makes room in line for n more bytes. It doubles, but not past what the longest line needs, so that a line of the
// maximum costs no more than twice that on the way.
func grow(line []byte, n, limit int) []byte {
	need := len(line) + n
	if need <= cap(line) {
		return line
	}
	larger := make([]byte, len(line), max(need, min(2*cap(line), limit+len("\r\n"))))
	copy(larger, line)
	return larger
}
