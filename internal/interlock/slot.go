package interlock

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// A slot is the file of one scope. It has two blocks, the second from the byte mostFrame on, and each holds a frame or nothing:
//
//	sallyport slot 2 SEQ KIND LENGTH SUM
//	{"principal":…,"server":…}
//	BODY
//
// KIND is what the frame tells of: "clear", with no body; "pending", with what Begin was given; or "stop", with the stop.
// LENGTH is that of what follows the first line, SUM the SHA-256, in hex, of the frame without SUM and the space before it.
// What lies behind a frame means nothing. A block that begins with a zero byte, or behind the end of the file, holds nothing.
//
// How the scope stands is what the frame with the higher SEQ says; it is clear where both blocks hold nothing. A frame is
// written over the other one, so that what a crash tears leaves it as it was. A block that cannot be read counts as nothing
// beside one that can; where there is none, it was written by somebody else, or damaged.
//
// While a scope is clear the first block says so, and the second holds nothing. What is pending goes there, beside a "clear"
// that is durable, and is wiped there: whatever is left of it, or of what was to wipe it, is clear or pending. A stop stands in both.
//
// All is written in place and filled up to whole pages, so that a slot keeps its size, which would have to be synced too. The first
// block has four from the beginning: a stop with the record of a call must not need room on a disk that is full.
const (
	slotMagic = "sallyport slot 2 "
	cleared   = "clear"
	pending   = "pending"
	stopped   = "stop"

	clearSize = 1 // bytes of a slot that is clear whatever it says: those of an earlier version were cut to this

	pageSize   = 4 << 10
	leastFirst = 4 * pageSize // bytes of the first block
	mostScope  = 4 << 10      // bytes of a principal or a server
	mostText   = 4 << 10      // bytes of each text of a stop; what is longer is cut
	mostFrame  = 256 << 10
	mostLatter = mostFrame + MostLeft // bytes of a frame in the second block
	mostSeq    = 1 << 63
)

// The blocks. What is pending may be larger than the first.
const (
	first = iota
	second
)

// slotSum is what the file of a scope is named by.
type slotSum [sha256.Size]byte

func (s slotSum) name() string { return hex.EncodeToString(s[:]) }

// sum is the scope's place among all. Each part is hashed with its length, so that no two scopes share one.
func (s Scope) sum() slotSum { return sumOf(s.Principal, s.Server) }

func sumOf(parts ...string) slotSum {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		io.WriteString(h, part)
	}
	return slotSum(h.Sum(nil))
}

// check refuses a scope that a slot cannot hold as it is.
func (s Scope) check() error {
	for _, part := range []string{s.Principal, s.Server} {
		if len(part) > mostScope {
			return fmt.Errorf("the name of a principal or a server is longer than %d bytes", mostScope)
		}
		if !utf8.ValidString(part) {
			return errors.New("the name of a principal or a server is not UTF-8")
		}
	}
	return nil
}

// sumNamed reads the name of a slot's file.
func sumNamed(name string) (slotSum, bool) {
	var s slotSum
	if len(name) != 2*len(s) {
		return s, false
	}
	_, err := hex.Decode(s[:], []byte(name))
	return s, err == nil && s.name() == name
}

// frame is what a block holds.
type frame struct {
	seq   uint64
	kind  string
	scope Scope
	left  []byte // of a pending one
	stop  Stop   // of a stopped one
}

// block is a part of a slot, as it was read or written.
type block struct {
	fill  fill
	frame     // of one that is whole; else the scope at most
	size  int // bytes from its beginning that may not be zero
}

// fill is what there is in a block.
type fill int

const (
	torn fill = iota // what is no frame of the slot's
	empty
	whole
)

// slot is what the file of a scope holds.
type slot [2]block

// noFile is the slot of a scope that has no file.
var noFile = slot{{fill: empty}, {fill: empty}}

// blank reports whether there is nothing in it.
func (s *slot) blank() bool { return s[first].fill == empty && s[second].fill == empty }

// holding is the block by which the scope stands, nil where there is none.
func (s *slot) holding() *block {
	one, two := &s[first], &s[second]
	switch {
	case one.fill != whole && two.fill != whole:
		return nil
	case one.fill != whole || two.fill == whole && two.seq > one.seq:
		return two
	}
	return one
}

// now is the frame by which the scope stands, which is that of a clear one where there is none. With an error it has the scope at most.
func (s *slot) now() (frame, error) {
	held := s.holding()
	switch {
	case held == nil && s.blank():
		return frame{kind: cleared}, nil
	case held == nil, held.seq > mostSeq, s[first].fill == whole && s[second].fill == whole && s[first].seq == s[second].seq:
		return frame{scope: s.scope()}, errSlot
	}
	return held.frame, nil
}

// scope is whose slot it is, as far as that can be told.
func (s *slot) scope() Scope {
	if s[first].scope != (Scope{}) {
		return s[first].scope
	}
	return s[second].scope
}

// next is the number of the next frame.
func (s *slot) next() uint64 {
	n := uint64(1)
	for _, b := range s {
		if b.fill == whole && b.seq <= mostSeq {
			n = max(n, b.seq+1)
		}
	}
	return n
}

func (s Scope) json() []byte {
	b := canon.AppendString([]byte(`{"principal":`), s.Principal)
	b = canon.AppendString(append(b, `,"server":`...), s.Server)
	return append(b, '}')
}

// stopBody spells a stop. It is never too long for a frame: a stop must not fail for its words, nor for its record, without
// which it goes then.
func stopBody(stop Stop) []byte {
	b := canon.AppendString([]byte(`{"attempt":`), cut(stop.Attempt))
	b = canon.AppendString(append(b, `,"reason":`...), cut(stop.Reason))
	if record := canon.AppendString(nil, stop.Record); stop.Record != "" && len(record) <= MostRecord {
		b = append(append(b, `,"record":`...), record...)
	}
	b = canon.AppendString(append(b, `,"rule":`...), cut(stop.Rule))
	b = strconv.AppendInt(append(b, `,"time":`...), stop.Time, 10)
	b = canon.AppendString(append(b, `,"tool":`...), cut(stop.Tool))
	return append(b, '}')
}

// cut shortens a text that is too long, between two characters.
func cut(s string) string {
	if len(s) <= mostText {
		return s
	}
	end := mostText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

func appendFrame(seq uint64, kind string, scope Scope, body []byte) []byte {
	rest := append(append(scope.json(), '\n'), body...)
	head := fmt.Appendf(make([]byte, 0, len(rest)+pageSize), "%s%d %s %d", slotMagic, seq, kind, len(rest))
	sum := sumFrame(head, rest)
	return append(fmt.Appendf(head, " %x\n", sum), rest...)
}

func sumFrame(head, rest []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(head)
	h.Write([]byte{'\n'})
	h.Write(rest)
	return [sha256.Size]byte(h.Sum(nil))
}

// errSlot says that a slot holds no frame of ours.
var errSlot = errors.New("what it says was damaged, or written by somebody else")

// parseBlock reads what a block holds. Of a frame that cannot be read the scope is given all the same where it stands there
// and the slot is that scope's.
func parseBlock(sum slotSum, text []byte) block {
	if len(text) == 0 || text[0] == 0 {
		return block{fill: empty}
	}
	var b block
	_, rest, _ := bytes.Cut(text, []byte{'\n'})
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	scope, known := parseScope(line)
	if !known || scope.sum() != sum {
		return b
	}
	b.scope = scope
	h, ok := parseHead(text)
	if !ok || h.length < len(line)+1 || h.length > len(rest) {
		return b
	}
	rest = rest[:h.length]
	if sum := sumFrame(h.signed, rest); hex.EncodeToString(sum[:]) != string(h.sum) {
		return b
	}
	f := frame{seq: h.seq, kind: h.kind, scope: scope}
	body := rest[len(line)+1:]
	switch h.kind {
	case cleared:
		ok = len(body) == 0
	case pending:
		f.left = body
	case stopped:
		var err error
		f.stop, err = parseStop(scope, body)
		ok = err == nil
	default:
		ok = false
	}
	if !ok {
		return b
	}
	return block{fill: whole, frame: f, size: pages(h.end())}
}

// head is the first line of a frame.
type head struct {
	signed []byte // the line as far as the sum speaks of it
	seq    uint64
	kind   string
	length int
	sum    []byte
}

// end is where the frame ends.
func (h head) end() int { return len(h.signed) + len(" \n") + len(h.sum) + h.length }

// parseHead reads the first line of a frame.
func parseHead(text []byte) (head, bool) {
	line, _, found := bytes.Cut(text, []byte{'\n'})
	words, ours := bytes.CutPrefix(line, []byte(slotMagic))
	part := bytes.Split(words, []byte{' '})
	if !found || !ours || len(part) != 4 {
		return head{}, false
	}
	h := head{kind: string(part[1]), sum: part[3]}
	h.signed = line[:len(line)-len(h.sum)-1]
	var err error
	if h.seq, err = strconv.ParseUint(string(part[0]), 10, 64); err != nil || strconv.FormatUint(h.seq, 10) != string(part[0]) {
		return head{}, false
	}
	h.length, err = strconv.Atoi(string(part[2]))
	return h, err == nil && h.length >= 0 && h.length <= mostLatter && strconv.Itoa(h.length) == string(part[2])
}

func parseScope(line []byte) (Scope, bool) {
	v, err := canon.Parse(line)
	if err != nil {
		return Scope{}, false
	}
	principal, hasPrincipal := v.Get("principal").Text()
	server, hasServer := v.Get("server").Text()
	return Scope{principal, server}, hasPrincipal && hasServer
}

func parseStop(scope Scope, body []byte) (Stop, error) {
	v, err := canon.Parse(body)
	if err != nil {
		return Stop{}, err
	}
	stop := Stop{Scope: scope}
	for key, field := range map[string]*string{"attempt": &stop.Attempt, "reason": &stop.Reason, "rule": &stop.Rule, "tool": &stop.Tool} {
		text, ok := v.Get(key).Text()
		if !ok {
			return Stop{}, errSlot
		}
		*field = text
	}
	stop.Record, _ = v.Get("record").Text()
	when, ok := v.Get("time").Int()
	if !ok {
		return Stop{}, errSlot
	}
	stop.Time = when
	return stop, nil
}

// readSlot reads what a slot's file holds now. The second block is read before the first: somebody may be writing to one, and
// while it is the second the first says how the scope stands, or stood until then.
func readSlot(f durable.File, sum slotSum) (slot, error) {
	s := noFile
	size, err := f.Size()
	if err != nil || size <= clearSize {
		return s, err
	}
	for _, i := range []int{second, first} {
		start, most := int64(i)*mostFrame, mostFrame
		if i == second {
			most = mostLatter
		}
		text, err := readPart(f, start, pageSize)
		if h, ok := parseHead(text); ok && err == nil && h.end() > len(text) && h.end() <= most {
			text, err = readPart(f, start, h.end())
		}
		if err != nil {
			return slot{}, err
		}
		if s[i] = parseBlock(sum, text); s[i].fill == torn {
			s[i].size = int(min(max(size-start, 0), int64(most)))
		}
	}
	return s, nil
}

// readPart reads as much as there is.
func readPart(f durable.File, start int64, length int) ([]byte, error) {
	text := make([]byte, length)
	n, err := f.ReadAt(text, start)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

// pages is the bytes of as many whole pages as it takes.
func pages(size int) int { return (size + pageSize - 1) &^ (pageSize - 1) }
