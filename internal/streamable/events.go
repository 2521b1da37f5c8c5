package streamable

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"sallyport/internal/wire"
)

const (
	// What may wait for a client that has no stream open for it: so many messages, and bytes.
	maxUnheard      = 256
	maxUnheardBytes = 1 << 20

	// What is kept of a session for a client that asks again: so many messages, and bytes.
	maxKept      = 1000
	maxKeptBytes = 1 << 20

	// An answer up to this length waits for no room.
	smallAnswer = 16 << 10
)

// entry is one thing that is said on a stream.
type entry struct {
	line  []byte // one message; nil only gives the client a place to ask from
	retry time.Duration
	alone bool // it is an answer before which nothing was said, and is no event

	written bool // it does not count as unread
}

// stream is what is said to a client on one HTTP response, and on those that take it up again: entries, numbered from 0
// on, of which those that cannot be asked for any more are gone. A stream that belongs to a session can be taken up.
//
// It implements wire.Stream. All its fields but the first four are guarded by account.mu.
type stream struct {
	account *account
	session *session // nil for a modern request
	name    string   // within the session, for event IDs
	unheard bool     // it is the session's own, which has few entries while nobody reads it
	mute    bool     // its client takes no events: it gets the answer only

	log    []entry
	first  int     // number of log[0]
	next   int     // number of the entry to be written next
	unread int     // bytes of entries that have not been written
	taker  *reader // which writes the last one before next, or has written it

	events   bool        // it is a stream of events, and not just an answer
	named    bool        // the client has been told a place to ask from
	paused   bool        // the responses that are open are to end
	answered bool        // there will be no more entries
	broken   bool        // nobody will read it
	refusal  *wire.Error // why the message was not taken in
	readers  []*reader   // the responses that are open, the newest last: it gets the entries
}

// reader is an HTTP response that is open for a stream.
type reader struct {
	wake chan struct{} // has room for one
}

// Push implements wire.Stream. A client that does not read is cut off once too much waits for it.
func (s *stream) Push(line []byte) bool {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case s.answered || s.broken || s.mute:
		return false
	case s.unheard && len(s.readers) == 0:
		s.makeRoom(len(line))
	default:
		for a.held+len(line) > a.max && a.makeRoom(s) {
		}
		if a.held+len(line) > a.max && s.unread > 0 {
			s.breakOff()
			return false
		}
	}
	s.events = true
	s.add(entry{line: line})
	return true
}

// Answer implements wire.Stream.
func (s *stream) Answer(answer []byte, refusal *wire.Error) {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(answer) > smallAnswer {
		for a.held >= a.max && !s.broken && !a.hurried {
			if !a.makeRoom(s) {
				a.changed.Wait()
			}
		}
	}
	if s.answered || s.broken {
		s.answered = true
		return
	}
	s.answered, s.refusal = true, refusal
	if answer != nil {
		s.add(entry{line: answer, alone: !s.events})
	}
	s.tell()
}

// Prime implements wire.Stream.
func (s *stream) Prime(retry time.Duration) {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	s.prime(retry)
}

// prime gives the client a place to ask from, if it can ask; account.mu is held.
func (s *stream) prime(retry time.Duration) {
	if s.resumable() && !s.answered && !s.broken && !s.mute {
		s.events = true
		s.add(entry{retry: retry})
	}
}

// resumable reports whether the client may be left to ask again (MCP 2025-11-25, transports): older clients, and modern
// ones, would not know what to make of it.
func (s *stream) resumable() bool {
	return s.session != nil && s.session.wire.Version() >= "2025-11-25"
}

// Pause implements wire.Stream.
func (s *stream) Pause(retry time.Duration) {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	if !s.resumable() || s.answered || s.broken || s.mute {
		return
	}
	s.prime(retry) // also where the client has a place already: it must know how long to wait
	s.paused = true
	s.tell()
}

// add adds an entry, and wakes who writes it; account.mu is held.
func (s *stream) add(e entry) {
	s.log = append(s.log, e)
	s.unread += len(e.line)
	s.account.held += len(e.line)
	s.tell()
}

// makeRoom drops the oldest entries, so that one of size n may be added to what nobody reads; account.mu is held.
func (s *stream) makeRoom(n int) {
	for waiting := s.end() - s.next; waiting > 0; waiting-- {
		if waiting < maxUnheard && s.unread+n <= maxUnheardBytes {
			return
		}
		s.dropFirst()
	}
}

// dropFirst drops the entry that is to be written next, and with it what was kept before; account.mu is held.
func (s *stream) dropFirst() {
	s.next++
	s.session.unkeep(s, s.first)
	s.drop(s.next)
}

// end is the number of the entry that comes next; account.mu is held.
func (s *stream) end() int { return s.first + len(s.log) }

// forget notes that n bytes do not wait any more; account.mu is held.
func (s *stream) forget(n int) {
	s.unread -= n
	s.account.release(n)
}

// drop forgets the entries before number; account.mu is held.
func (s *stream) drop(number int) {
	for s.first < number {
		if e := s.log[0]; !e.written {
			s.forget(len(e.line))
		}
		s.log[0] = entry{} // its memory
		s.log = s.log[1:]
		s.first++
	}
}

// tell wakes the responses that are open; account.mu is held.
func (s *stream) tell() {
	for _, r := range s.readers {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// breakOff gives up all that has not been written, and all that comes; account.mu is held.
func (s *stream) breakOff() {
	s.broken = true
	s.account.attached(s)
	if s.session != nil {
		s.session.unkeep(s, s.first)
		delete(s.session.streams, s.name)
	}
	s.drop(s.end())
	s.next = s.first
	s.tell()
}

// giveUp makes room at the cost of a client that is not there; account.mu is held.
func (s *stream) giveUp() {
	if !s.unheard {
		s.breakOff()
		return
	}
	for s.next < s.end() {
		s.dropFirst()
	}
}

// attach makes r the one that gets the entries; account.mu is held.
func (s *stream) attach(r *reader) {
	s.readers = append(s.readers, r)
	s.account.attached(s)
}

// detach takes r away. Where nobody is left, and the client cannot come back, the stream is given up.
func (s *stream) detach(r *reader) {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	s.readers = slices.DeleteFunc(s.readers, func(other *reader) bool { return other == r })
	switch {
	case len(s.readers) > 0:
		s.tell() // another one is the newest
	case s.broken:
	case s.answered && s.next == s.end():
		s.retire()
	case s.session == nil || s.session.over || !s.named && !s.unheard:
		s.breakOff()
	default:
		a.detached(s)
	}
}

// retire takes a stream out of which all has been written, unless some of it may be asked for again; account.mu is held.
func (s *stream) retire() {
	if s.session != nil && s.answered && len(s.log) == 0 && len(s.readers) == 0 {
		delete(s.session.streams, s.name)
	}
}

// step is what a response is to do next.
type step int

const (
	wait  step = iota
	write      // the entry
	end        // the stream is over, or goes on elsewhere
	cut        // it is over before its end
)

// step tells what r is to do.
func (s *stream) step(r *reader) (what step, e entry, number int) {
	s.account.mu.Lock()
	defer s.account.mu.Unlock()
	newest := s.readers[len(s.readers)-1] == r
	switch {
	case s.broken:
		return cut, entry{}, 0
	case newest && s.next < s.end():
		e, number = s.log[s.next-s.first], s.next
		s.next++
		s.taker = r
		return write, e, number
	case s.answered && s.next == s.end(), s.paused:
		return end, entry{}, 0
	}
	return wait, entry{}, 0
}

// wrote notes what became of the entry of that number, which r was to write.
func (s *stream) wrote(r *reader, number int, err error) {
	a := s.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if number < s.first {
		return // it was given up meanwhile
	}
	e := &s.log[number-s.first]
	switch {
	case e.written, s.next <= number: // the client asked for it again meanwhile, and has it, or will
	case err != nil && s.next == number+1 && s.taker == r && s.session != nil:
		s.next = number // for whoever comes next
	default:
		e.written = true
		s.forget(len(e.line))
		if s.named = s.named || s.events && s.session != nil; s.named {
			s.session.keep(s, number)
		} else {
			s.drop(s.next)
		}
	}
}

// rewind lets the entry of that number be the next to be written. It reports false where it is gone, and has not been
// there; account.mu is held.
func (s *stream) rewind(number int) bool {
	if number < s.first || number > s.end() || number > s.next {
		return false
	}
	again := s.session.unkeep(s, number)
	s.unread += again
	s.account.held += again
	for i := range s.log[number-s.first:] {
		s.log[number-s.first+i].written = false
	}
	s.next = number
	return true
}

// eventID names the entry of that number. It is only ever looked up within its session.
func (s *stream) eventID(number int) string { return s.name + "_" + strconv.Itoa(number) }

// parseEventID is the reverse of eventID.
func parseEventID(id string) (name string, number int, ok bool) {
	at := bytes.LastIndexByte([]byte(id), '_')
	if at < 0 || len(id) > 64 {
		return "", 0, false
	}
	number, err := strconv.Atoi(id[at+1:])
	return id[:at], number, err == nil && number >= 0
}

// appendEvent appends an entry as an event. A line feed or carriage return stands between the tokens of the JSON text,
// where a space will do as well, but in an event it would be the end of a line.
func appendEvent(dst []byte, e entry, id string) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	if e.retry > 0 {
		dst = append(strconv.AppendInt(append(dst, "retry: "...), e.retry.Milliseconds(), 10), '\n')
	}
	if e.line != nil {
		dst = append(dst, "event: message\n"...)
	}
	dst = append(dst, "data: "...)
	start := len(dst)
	dst = append(dst, e.line...)
	for i, c := range dst[start:] {
		if c == '\n' || c == '\r' {
			dst[start+i] = ' '
		}
	}
	return append(dst, "\n\n"...)
}
