package mutation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"sallyport/internal/canon"
)

// State is how far a claim has come.
type State byte

const (
	None     State = 0   // nothing was begun
	Intended State = 'I' // something was begun, and only a look at the world can tell more
	Done     State = 'O' // the outcome is known

	// Lines that are no states: the first line; an outcome's record is in the ledger; an intent was
	// taken back.
	header   State = 'H'
	recorded State = 'R'
	free     State = 'F'
)

// String returns the state in a word.
func (s State) String() string {
	switch s {
	case Intended:
		return "intent"
	case Done:
		return "outcome"
	}
	return "none"
}

// Entry is what is known of a claim.
type Entry struct {
	State       State
	Attempt     string // unique for each intent
	Fingerprint string // SHA-256 of the canonical arguments
	Approval    string // the approval that it used up, "" if it needed none
	Offset      int64  // the ledger's end when it was intended: its record is not before
	Time        int64  // nanoseconds since the epoch when it was intended; 0 in claims of older releases
	Outcome     string // of a Done claim, in the ledger's words
	Form        string // of a Done claim: what kind of answer Result is, in its owner's words
	Result      []byte // of a Done claim: the answer, unless it is a blob; see Claim.Answer
	Blob        string // of a Done claim: SHA-256 of an answer that is kept in a file of its own
	Record      []byte // the body of the record that belongs to it
	Recorded    bool   // of a Done claim: the record is known to be in the ledger
}

// entry is an Entry with its key.
type entry struct {
	Entry
	key Key
}

// A line of the file is
//
//	SUM STATE KEY JSON
//
// with single spaces: SUM is the SHA-256 of what follows it, KEY the hash of the key, both in
// hex, STATE one letter. So an index can be made without reading any JSON. The JSON of every line
// has the member offset: the ledger was at least that long.
const (
	sumEnd   = 2 * sha256.Size
	stateAt  = sumEnd + 1
	keyAt    = stateAt + 2
	keyEnd   = keyAt + 2*len(keySum{})
	jsonAt   = keyEnd + 1
	shortest = jsonAt + len("{}")
)

var errDamaged = errors.New("a line of the claims is damaged")

func checkLine(line []byte) error {
	if len(line) < shortest || line[sumEnd] != ' ' {
		return errDamaged
	}
	sum := sha256.Sum256(line[stateAt:])
	if hex.EncodeToString(sum[:]) != string(line[:sumEnd]) {
		return errDamaged
	}
	return nil
}

// readHead reads what the index needs of a line.
func readHead(line []byte) (State, keySum, error) {
	var key keySum
	if len(line) < shortest {
		return 0, key, errDamaged
	}
	if _, err := hex.Decode(key[:], line[keyAt:keyEnd]); err != nil {
		return 0, key, errDamaged
	}
	return State(line[stateAt]), key, nil
}

func appendLine(dst []byte, state State, sum keySum, json []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, sumEnd)...)
	dst = append(dst, ' ', byte(state), ' ')
	dst = hex.AppendEncode(dst, sum[:])
	dst = append(dst, ' ')
	dst = append(dst, json...)
	own := sha256.Sum256(dst[start+stateAt:])
	hex.Encode(dst[start:], own[:])
	return append(dst, '\n')
}

// approvalFirst begins the JSON of every line with an approval: in canonical order no member comes before it.
var approvalFirst = []byte(`{"approval":"`)

// approvalOf reads from a line which approval was used up, without reading the rest of its JSON. Of a line that has one all bytes
// are checked: nothing else will look at it before the approval counts.
func approvalOf(line []byte) (string, error) {
	rest, found := bytes.CutPrefix(line[jsonAt:], approvalFirst)
	if !found {
		return "", nil
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if err := checkLine(line); err != nil {
		return "", err
	}
	if id, _, _ := bytes.Cut(rest, []byte{'"'}); !bytes.ContainsRune(id, '\\') {
		return string(id), nil
	}
	v, err := canon.Parse(line[jsonAt:])
	if err != nil {
		return "", errDamaged
	}
	id, _ := v.Get("approval").Text()
	return id, nil
}

// offsetJSON is the JSON of a line that needs no more.
func offsetJSON(offset int64) []byte { return fmt.Appendf(nil, `{"offset":%d}`, offset) }

// json spells an entry canonically. The answer is kept as a string, so that it comes back to the
// byte whatever its own spelling is.
func (e *entry) json() []byte {
	b := []byte{'{'}
	if e.Approval != "" {
		b = append(canon.AppendString([]byte(`{"approval":`), e.Approval), ',')
	}
	b = canon.AppendString(append(b, `"attempt":`...), e.Attempt)
	b = optional(b, "blob", e.Blob)
	b = canon.AppendString(append(b, `,"fingerprint":`...), e.Fingerprint)
	b = optional(b, "form", e.Form)
	b = canon.AppendString(append(b, `,"id":`...), e.key.ID)
	b = strconv.AppendInt(append(b, `,"offset":`...), e.Offset, 10)
	if e.State == Done {
		b = canon.AppendString(append(b, `,"outcome":`...), e.Outcome)
	}
	b = canon.AppendString(append(b, `,"principal":`...), e.key.Principal)
	b = append(append(b, `,"record":`...), e.Record...)
	if e.State == Done {
		b = canon.AppendString(append(b, `,"result":`...), string(e.Result))
	}
	b = optional(b, "round", e.key.Round)
	if e.Time != 0 {
		b = strconv.AppendInt(append(b, `,"time":`...), e.Time, 10)
	}
	b = canon.AppendString(append(b, `,"tool":`...), e.key.Tool)
	b = optional(b, "upstream", e.key.Upstream)
	return append(b, '}')
}

func optional(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return canon.AppendString(append(append(append(b, `,"`...), key...), `":`...), value)
}

func parseLine(line []byte) (entry, error) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if err := checkLine(line); err != nil {
		return entry{}, err
	}
	state, _, err := readHead(line)
	if err != nil {
		return entry{}, err
	}
	v, err := canon.Parse(line[jsonAt:])
	if err != nil {
		return entry{}, fmt.Errorf("reading a claim: %w", err)
	}
	text := func(key string) string {
		s, _ := v.Get(key).Text()
		return s
	}
	offset, _ := v.Get("offset").Int()
	when, _ := v.Get("time").Int()
	var result []byte
	if state == Done {
		result = []byte(text("result"))
	}
	return entry{
		Entry: Entry{
			State:       state,
			Attempt:     text("attempt"),
			Fingerprint: text("fingerprint"),
			Approval:    text("approval"),
			Offset:      offset,
			Time:        when,
			Outcome:     text("outcome"),
			Form:        text("form"),
			Result:      result,
			Blob:        text("blob"),
			Record:      v.Get("record").Bytes(),
		},
		key: Key{Principal: text("principal"), Tool: text("tool"), ID: text("id"), Upstream: text("upstream"), Round: text("round")},
	}, nil
}
