package mutation

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// index knows where in the file the line is that holds each key's state. It is made when a key
// is first asked for, and caught up with what this and other processes wrote since.
type index struct {
	mu     sync.Mutex // guards the fields below
	places map[keySum]place
	end    int64 // the lines before it are in places
	spent  approvals
	doubt  int64 // a record that ended behind this byte of the ledger may be lost; 0: none is
}

type place struct {
	offset  int64
	length  int32
	state   State
	settled bool // Done, and the record is in the ledger
}

func newIndex() *index {
	return &index{places: map[keySum]place{}, spent: approvals{map[string]struct{}{}, map[keySum]string{}}}
}

func (x *index) find(sum keySum) (place, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.places[sum]
	return at, ok
}

func (x *index) unsettled() []place {
	x.mu.Lock()
	defer x.mu.Unlock()
	var places []place
	for _, at := range x.places {
		if !at.settled {
			places = append(places, at)
		}
	}
	return places
}

// put notes a line of our own, which catchUp will come across later.
func (x *index) put(sum keySum, at place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.apply(sum, at)
}

// apply moves a key's state on, unless a later line did so already.
func (x *index) apply(sum keySum, at place) {
	old, known := x.places[sum]
	if known && old.offset >= at.offset {
		return
	}
	switch at.state {
	case Intended, Done:
		x.places[sum] = at
	case recorded:
		if old.state == Done {
			old.settled = true
			x.places[sum] = old
		}
	case free:
		delete(x.places, sum)
	}
}

// settle notes at once what MarkRecorded will write.
func (x *index) settle(sum keySum) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if at := x.places[sum]; at.state == Done {
		at.settled = true
		x.places[sum] = at
	}
}

// catchUp reads the lines that were written since it was last called.
func (x *index) catchUp(log *durable.Log[struct{}]) error {
	x.mu.Lock()
	known := x.end
	x.mu.Unlock()
	if grown, err := log.GrownPast(known); err != nil || !grown {
		return err
	}
	return log.View(func(r io.ReaderAt, end int64) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.read(io.NewSectionReader(r, x.end, end-x.end))
	})
}

func (x *index) read(r *io.SectionReader) error {
	br := bufio.NewReaderSize(r, int(min(64<<10, r.Size()+1)))
	for {
		line, err := readLine(br)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := x.add(line, x.end); err != nil {
			return fmt.Errorf("at byte %d: %w: %w", x.end, durable.ErrDamaged, err)
		}
		x.end += int64(len(line))
	}
}

// readLine returns the next whole line, newline included.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := append([]byte(nil), line...)
	rest, err := br.ReadBytes('\n')
	return append(long, rest...), err
}

// approvals are those that intents used up and that were not given back. Unlike places they follow the lines in order alone: an
// approval stays used up when its key goes on to another intent.
type approvals struct {
	used map[string]struct{}
	last map[keySum]string // that of each key's last intent, if it had one
}

// note follows a line.
func (a *approvals) note(state State, sum keySum, line []byte) error {
	switch state {
	case Intended, Done:
		id, err := approvalOf(line)
		if err != nil {
			return err
		}
		delete(a.last, sum)
		if id != "" {
			a.used[id], a.last[sum] = struct{}{}, id
		}
	case free:
		if id, ok := a.last[sum]; ok {
			delete(a.used, id)
			delete(a.last, sum)
		}
	}
	return nil
}

func (x *index) isSpent(approval string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, used := x.spent.used[approval]
	return used
}

// add notes a line that begins at offset.
func (x *index) add(line []byte, offset int64) error {
	state, sum, err := readHead(line)
	if err != nil {
		return err
	}
	if err := x.spent.note(state, sum, line); err != nil {
		return err
	}
	switch state {
	case header:
		return nil
	case recorded:
		if x.doubt > 0 && recordEnd(line) > x.doubt {
			return nil
		}
		fallthrough
	case Intended, Done, free:
		x.apply(sum, place{offset: offset, length: int32(len(line)), state: state})
		return nil
	}
	return errDamaged
}

// recordEnd is the ledger's end in a recorded line; beyond all doubt where it cannot be read.
func recordEnd(line []byte) int64 {
	v, err := canon.Parse(line[jsonAt:])
	end, ok := v.Get("offset").Int()
	if err != nil || !ok {
		return math.MaxInt64
	}
	return end
}
