package ledger

import (
	"bytes"
	"fmt"
	"io"

	"sallyport/internal/canon"
)

// AttemptsWith returns those of some attempts of which a ledger's file has a record with an outcome. It reads the file once, as
// far as it is written now, from the byte from on, which is where the ledger ended before the first of them (mutation.Entry has
// it), to the last of them, and not at all where there are none. It links and hashes nothing. It is an error for the ledger to be
// shorter than from, since records were lost, and for a record of one of the attempts to be no JSON object.
func AttemptsWith(path string, outcome Outcome, attempts []string, from int64) (map[string]bool, error) {
	found := make(map[string]bool)
	sought := make(map[string]bool, len(attempts))
	for _, attempt := range attempts {
		sought[attempt] = true
	}
	if len(sought) == 0 {
		return found, nil
	}
	r, err := openSnapshot(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if from > r.Size() {
		return nil, fmt.Errorf("the ledger ends at byte %d, but it was at %d before: records were lost", r.Size(), from)
	}
	if _, err := r.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	said := wanted("outcome", string(outcome))
	err = eachWholeLine(r, func(line []byte) error {
		start := from
		from += int64(len(line)) + 1
		if !bytes.Contains(line, said) || !mentions(line, sought) {
			return nil
		}
		v, err := canon.Parse(line)
		if err != nil {
			return fmt.Errorf("the record at byte %d: %w", start, err)
		}
		of, has := v.Get("attempt").Text()
		if word, _ := v.Get("outcome").Text(); has && word == string(outcome) && sought[of] {
			found[of] = true
		}
		if len(found) == len(sought) {
			return errStop
		}
		return nil
	})
	return found, err
}

// mentions reports whether a record may be one of the attempts. It looks at the first member of that name, which in a canonical
// line is the record's own: no object comes before it.
func mentions(line []byte, attempts map[string]bool) bool {
	_, value, found := bytes.Cut(line, []byte(`"attempt":"`))
	if !found {
		return false
	}
	end := bytes.IndexByte(value, '"')
	if end < 0 || bytes.IndexByte(value[:end], '\\') >= 0 {
		return true // no attempt is spelt so: whoever reads on sees what it is
	}
	return attempts[string(value[:end])]
}
