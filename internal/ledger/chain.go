package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"sallyport/internal/canon"
)

// hash is a SHA-256 in lower-case hex, as it stands in a line.
type hash [2 * sha256.Size]byte

// genesis is what the first record has as prev_sha256.
var genesis = func() (h hash) {
	for i := range h {
		h[i] = '0'
	}
	return h
}()

func hexHash(sum []byte) (h hash) {
	hex.Encode(h[:], sum)
	return h
}

// Kind is what is wrong with a ledger's first bad line.
type Kind string

const (
	ParseError   Kind = "parse_error"   // no JSON object
	BlankLine    Kind = "blank_line"    // nothing between two newlines
	NonCanonical Kind = "non_canonical" // JSON, but not the bytes a writer writes
	PrevMismatch Kind = "prev_mismatch" // does not follow the line before: edited there, or lines moved, lost or added
	HashMismatch Kind = "hash_mismatch" // edited
	TornTail     Kind = "torn_tail"     // bytes after the last newline: a crash's residue, mended by the next writer
)

// badLine says that a line does not belong to the chain.
type badLine struct{ kind Kind }

func (e *badLine) Error() string { return string(e.kind) }

// link checks a line, without its newline, in one pass over its bytes, and returns its hash.
// Where prev is nil the line before is unknown and anything may be its hash.
func link(prev *hash, line []byte) (hash, error) {
	if len(line) == 0 {
		return hash{}, &badLine{BlankLine}
	}
	var own, before []byte
	var cutFrom, cutTo int
	err := canon.CheckObject(line, func(key, value []byte, start, end int) {
		switch string(key) {
		case "prev_sha256":
			before = value
		case "sha256":
			own, cutFrom, cutTo = value, start, end
		}
	})
	if err != nil {
		return hash{}, &badLine{spelling(line)}
	}
	if len(before) != len(hash{})+2 || before[0] != '"' || prev != nil && string(before[1:len(before)-1]) != string(prev[:]) {
		return hash{}, &badLine{PrevMismatch}
	}
	sum := hashWithout(before[1:len(before)-1], line, cutFrom, cutTo)
	if len(own) != len(sum)+2 || string(own[1:len(own)-1]) != string(sum[:]) {
		return hash{}, &badLine{HashMismatch}
	}
	return sum, nil
}

// hashWithout is the SHA-256 of prev and the line without its member at [from, to) and that
// member's comma. The parts are put together on the stack where they fit, since one call to the
// hash is much cheaper than three.
func hashWithout(prev, line []byte, from, to int) hash {
	if to < len(line) && line[to] == ',' {
		to++
	} else if from > 0 && line[from-1] == ',' {
		from--
	}
	var small [1024]byte
	buf := append(small[:0], prev...)
	buf = append(buf, line[:from]...)
	buf = append(buf, line[to:]...)
	sum := sha256.Sum256(buf)
	return hexHash(sum[:])
}

// spelling tells JSON objects that a writer would have spelt otherwise from what is no record at all.
func spelling(line []byte) Kind {
	v, err := canon.Parse(line)
	var refused *canon.Error
	switch {
	case errors.As(err, &refused) && refused.Malformed():
		return ParseError
	case err == nil && v.Kind() != canon.Object:
		return ParseError
	}
	return NonCanonical
}
