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

// A slot is the file of one scope. It is clear, with at most a byte in it, or holds one frame:
//
//	sallyport slot 1 KIND LENGTH SUM
//	{"principal":…,"server":…}
//	BODY
//
// KIND is what the frame tells of: "pending", with what Begin was given as its body; "apart", with the length and the SHA-256
// of what Begin was given, which is in a file beside the slot; or "stop", with the stop. LENGTH and SUM, a SHA-256 in hex,
// are those of what follows the first line. What lies behind the frame is the rest of a longer one that was here before, and
// means nothing. A slot in which there is something else was written by half, or by somebody else.
//
// Only clearing makes a slot shorter, so that one with at most a byte is clear, whatever was torn. The byte stays since a
// file system takes a hundred times as long to give a block back as to cut within one; so does what lies apart.
const (
	slotMagic = "sallyport slot 1 "
	pending   = "pending"
	apart     = "apart"
	stopped   = "stop"

	clearSize = 1 // bytes of a slot that is clear, at most

	mostInline = 3 << 10 // bytes of it that stand in the slot itself, all of which is within a block then
	mostScope  = 4 << 10 // bytes of a principal or a server
	mostText   = 4 << 10 // bytes of each text of a stop; what is longer is cut
	mostFrame  = 256 << 10
)

// apartSuffix makes of a slot's name that of the file beside it.
const apartSuffix = ".left"

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

// frame is what a slot holds.
type frame struct {
	kind  string // "" of a slot that is clear
	scope Scope
	left  []byte // of a pending one
	apart string // of one whose rest is apart: its length and SHA-256
	stop  Stop   // of a stopped one
}

func (s Scope) json() []byte {
	b := canon.AppendString([]byte(`{"principal":`), s.Principal)
	b = canon.AppendString(append(b, `,"server":`...), s.Server)
	return append(b, '}')
}

// pendingFrame is the frame of something that is still to be verified, and whether that goes into the file beside the slot.
func pendingFrame(scope Scope, left []byte) (text []byte, beside bool) {
	if len(left) > mostInline {
		return appendFrame(apart, scope, []byte(apartOf(left))), true
	}
	return appendFrame(pending, scope, left), false
}

// apartOf is by what a slot knows the file beside it.
func apartOf(left []byte) string { return fmt.Sprintf("%d %x", len(left), sha256.Sum256(left)) }

// stopFrame is the frame of a stop. It is never too long: a stop must not fail for its words.
func stopFrame(stop Stop) []byte {
	b := canon.AppendString([]byte(`{"attempt":`), cut(stop.Attempt))
	b = canon.AppendString(append(b, `,"reason":`...), cut(stop.Reason))
	b = canon.AppendString(append(b, `,"rule":`...), cut(stop.Rule))
	b = strconv.AppendInt(append(b, `,"time":`...), stop.Time, 10)
	b = canon.AppendString(append(b, `,"tool":`...), cut(stop.Tool))
	return appendFrame(stopped, stop.Scope, append(b, '}'))
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

func appendFrame(kind string, scope Scope, body []byte) []byte {
	rest := append(append(scope.json(), '\n'), body...)
	sum := sha256.Sum256(rest)
	head := fmt.Appendf(make([]byte, 0, len(rest)+128), "%s%s %d %x\n", slotMagic, kind, len(rest), sum)
	return append(head, rest...)
}

// errSlot says that a slot holds no frame of ours.
var errSlot = errors.New("what it says was written by half, or by somebody else")

// parseSlot reads what a slot holds. Of a frame that cannot be read the scope is given all the same where it stands there
// and the slot is that scope's.
func parseSlot(sum slotSum, text []byte) (frame, error) {
	if len(text) <= clearSize {
		return frame{}, nil
	}
	head, rest, found := bytes.Cut(text, []byte{'\n'})
	if !found {
		return frame{}, errSlot
	}
	line, body, _ := bytes.Cut(rest, []byte{'\n'})
	scope, known := parseScope(line)
	if !known || scope.sum() != sum {
		return frame{}, errSlot
	}
	f := frame{scope: scope}
	kind, length, ok := parseHead(head, rest)
	if !ok || length < len(line)+1 {
		return f, errSlot
	}
	body = body[:length-len(line)-1]
	switch kind {
	case pending:
		f.kind, f.left = pending, body
		return f, nil
	case apart:
		f.kind, f.apart = apart, string(body)
		return f, nil
	case stopped:
		stop, err := parseStop(scope, body)
		if err != nil {
			return f, errSlot
		}
		f.kind, f.stop = stopped, stop
		return f, nil
	}
	return f, errSlot
}

// parseHead reads the first line of a frame, and checks what follows it.
func parseHead(head, rest []byte) (kind string, length int, ok bool) {
	words := bytes.Split(bytes.TrimPrefix(head, []byte(slotMagic)), []byte{' '})
	if !bytes.HasPrefix(head, []byte(slotMagic)) || len(words) != 3 {
		return "", 0, false
	}
	length, err := strconv.Atoi(string(words[1]))
	if err != nil || length < 0 || length > len(rest) || strconv.Itoa(length) != string(words[1]) {
		return "", 0, false
	}
	sum := sha256.Sum256(rest[:length])
	return string(words[0]), length, hex.EncodeToString(sum[:]) == string(words[2])
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
	when, ok := v.Get("time").Int()
	if !ok {
		return Stop{}, errSlot
	}
	stop.Time = when
	return stop, nil
}

// readSlot reads what a slot's file holds now.
func readSlot(f durable.File, sum slotSum) (frame, error) {
	size, err := f.Size()
	if err != nil {
		return frame{}, err
	}
	text := make([]byte, min(size, mostFrame))
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return frame{}, err
	}
	return parseSlot(sum, text[:n])
}

// readApart reads what a slot says is in the file beside it.
func readApart(fsys durable.FS, path, want string) ([]byte, error) {
	f, err := fsys.OpenRead(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var length int
	if _, err := fmt.Sscanf(want, "%d ", &length); err != nil || length < 0 || length > MostLeft {
		return nil, errSlot
	}
	left := make([]byte, length)
	if n, err := f.ReadAt(left, 0); n < length || err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(errSlot, err)
	}
	if apartOf(left) != want {
		return nil, errSlot
	}
	return left, nil
}
