package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"sallyport/internal/canon"
)

// errTorn says that the last line has no newline.
var errTorn = errors.New("the last line has no newline")

// eachLine calls line for each line of r, without its newline; the bytes are good until the next
// call. An error of line ends it and is returned, but for errStop.
func eachLine(r io.Reader, line func([]byte) error) error {
	br := bufio.NewReaderSize(r, 256<<10)
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if len(long) > 0 {
			part = append(long, part...)
			long = nil
		}
		if errors.Is(err, io.EOF) {
			if len(part) > 0 {
				return errTorn
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := line(part[:len(part)-1]); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// eachWholeLine is eachLine for those whom a torn tail does not concern.
func eachWholeLine(r io.Reader, line func([]byte) error) error {
	if err := eachLine(r, line); !errors.Is(err, errTorn) {
		return err
	}
	return nil
}

// Read calls each with every whole line of a ledger, in order, as a JSON object. It links and
// hashes nothing: that is Verify's. A torn tail is left out, a line that is no JSON object is an
// error. The value is good until each returns.
func Read(r io.Reader, each func(line canon.Value) error) error {
	number := 0
	return eachWholeLine(r, func(line []byte) error {
		number++
		v, err := canon.Parse(bytes.TrimSpace(line))
		if err != nil {
			return &LineError{number, err}
		}
		return each(v)
	})
}

// HoldsMutations reports whether any record of a ledger's file tells of a mutation, which has
// claims somewhere. It reads all of it.
func HoldsMutations(path string) (bool, error) {
	f, err := Snapshot(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	found := false
	err = eachWholeLine(f, func(line []byte) error {
		if bytes.Contains(line, []byte(`"attempt":"`)) {
			found = true
			return errStop
		}
		return nil
	})
	return found, err
}

// LineError says which line of a ledger could not be read.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }
