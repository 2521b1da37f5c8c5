// Package ledger keeps what was decided: an append-only file of records, each a line of
// canonical JSON that holds the SHA-256 of the line before, so that an edit, a lost line or a
// foreign one shows. Several processes may append to one file, and programs in other languages
// too (docs/reference/ledger.md has the format).
//
// A record for which [Ledger.Append] returned nil is on the disk. [Verify] checks a whole file.
// Whether a decision is recorded before or after its effect is the gate's business.
package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// DirName is the ledger's folder in the working folder of a server that was told no other.
const DirName = ".ledger"

// FileName is the ledger's name in its folder.
const FileName = "ledger.jsonl"

// Ledger is an open ledger. It is safe for concurrent use.
type Ledger struct {
	log  *durable.Log[hash]
	now  func() time.Time
	soon soon

	refusal error // not nil: there is no file
}

// Open opens the ledger in dir and makes it if need be.
func Open(fsys durable.FS, dir string) (*Ledger, error) {
	l := &Ledger{now: time.Now}
	log, err := durable.OpenLog(fsys, filepath.Join(dir, FileName), durable.Format[hash]{
		Start: genesis,
		Next:  link,
		Note:  l.noteTorn,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	l.log = log
	return l, nil
}

// Refusing returns a ledger that takes no record, for the reason given: no ledger, no call.
func Refusing(why error) *Ledger { return &Ledger{refusal: why} }

// Append adds a record, stamped with the time, and returns when it is durable.
func (l *Ledger) Append(r *Record) error {
	return l.append(r.encode())
}

// AppendAll adds records next to each other, in one write, and returns when they are durable. After a crash in between the
// first of them may be there without the others, each of them whole.
func (l *Ledger) AppendAll(records ...*Record) error {
	if err := l.Refuses(); err != nil || len(records) == 0 {
		return err
	}
	entries := make([]entry, len(records))
	for i, r := range records {
		entries[i] = r.encode()
	}
	_, err := l.log.Append(func(dst []byte, prev *hash) []byte {
		for _, e := range entries {
			dst, *prev = e.appendTo(dst, *prev, l.now().UnixNano())
		}
		return dst
	})
	return err
}

// AppendRecovered adds the record of a body that was kept from before a crash, marked as recovered.
func (l *Ledger) AppendRecovered(body []byte) error {
	e, err := recoveredEntry(body)
	if err != nil {
		return err
	}
	return l.append(e)
}

func (l *Ledger) append(e entry) error {
	if err := l.Refuses(); err != nil {
		return err
	}
	_, err := l.log.Append(l.line(e))
	return err
}

// line makes a record's line. All but the hash was spelt by the caller, in parallel with others.
func (l *Ledger) line(e entry) durable.Line[hash] {
	return func(dst []byte, prev *hash) []byte {
		dst, *prev = e.appendTo(dst, *prev, l.now().UnixNano())
		return dst
	}
}

func (l *Ledger) noteTorn(torn durable.Torn) durable.Line[hash] {
	note := &Record{
		RequestID: Missing,
		Method:    "ledger/recover",
		Name:      FileName,
		Decision:  "allow",
		Outcome:   Observed,
		Principal: "local",
		Recovered: true,
		TornFile:  torn.Aside,
		TornBytes: torn.Bytes,
	}
	return l.line(note.encode())
}

// Ready reports why a record could not be appended now: the file was removed, replaced or
// tampered with, an earlier sync failed. It writes nothing, unless there is a torn tail to mend.
func (l *Ledger) Ready() error { return l.view(nil) }

// leastRoom is what must be left, in bytes, for a record that is still to come, with those of the calls that look. Nobody reserves it.
const leastRoom = 64 << 10

// ReadyWithRoom is Ready for a record of which nothing is written before what it tells of: it is an error as well where the disk is
// full (syscall.ENOSPC), or the file may not grow (syscall.EFBIG). What a quota leaves it does not see.
func (l *Ledger) ReadyWithRoom() error {
	if err := l.Ready(); err != nil {
		return err
	}
	return l.log.HasRoom(leastRoom)
}

// View calls view with the records as they are now: whole and durable up to end, where a line ends. It keeps nobody from
// appending, and nobody takes away what it shows; r is good until the ledger is closed.
func (l *Ledger) View(view func(r io.ReaderAt, end int64) error) error {
	var file io.ReaderAt
	var whole int64
	err := l.view(func(r io.ReaderAt, end int64) error {
		file, whole = r, end
		return nil
	})
	if err != nil {
		return err
	}
	return view(file, whole)
}

func (l *Ledger) view(view func(r io.ReaderAt, end int64) error) error {
	if err := l.Refuses(); err != nil {
		return err
	}
	return l.log.View(view)
}

// End is an offset that no record appended from now on will begin before.
func (l *Ledger) End() int64 {
	if l.refusal != nil {
		return 0
	}
	return l.log.End()
}

// Holds reports whether the records from an offset on, which End gave earlier, hold an attempt's
// outcome. It is an error for the ledger to be shorter than that: records were lost.
func (l *Ledger) Holds(attempt string, outcome Outcome, from int64) (bool, error) {
	return l.holds(from, wanted("attempt", attempt), wanted("outcome", string(outcome)))
}

// HoldsFor is Holds for the records of one method that were made by one rule.
func (l *Ledger) HoldsFor(method, rule, attempt string, from int64) (bool, error) {
	return l.holds(from, wanted("method", method), wanted("rule", rule), wanted("attempt", attempt))
}

// wanted is a member as it stands in a line. In a string a quote is escaped, so it can only be a member of the line or of
// an object in it.
func wanted(key, value string) []byte {
	return canon.AppendString([]byte(`"`+key+`":`), value)
}

func (l *Ledger) holds(from int64, members ...[]byte) (bool, error) {
	found := false
	err := l.each(from, func([]byte) error {
		found = true
		return errStop
	}, members...)
	return found, err
}

// each calls line for the records from an offset on that have certain members.
func (l *Ledger) each(from int64, line func([]byte) error, members ...[]byte) error {
	return l.View(func(r io.ReaderAt, end int64) error {
		if from > end {
			return recordsLost(end, from)
		}
		return eachLine(io.NewSectionReader(r, from, end-from), func(text []byte) error {
			for _, member := range members {
				if !bytes.Contains(text, member) {
					return nil
				}
			}
			return line(text)
		})
	})
}

// Close makes durable what AppendSoon was given, and closes the ledger. It must be the last call.
func (l *Ledger) Close() error {
	if l.refusal != nil {
		return nil
	}
	return errors.Join(l.stopFlushing(), l.log.Close())
}

// errStop ends eachLine without being an error.
var errStop = errors.New("stop")
