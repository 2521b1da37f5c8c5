package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"sallyport/internal/canon"
)

// Trace is what a ledger has of one attempt, but for the calls that looked at what it left (origin verify).
type Trace struct {
	Outcomes []Outcome // of its records, in their order
	Verdict  string    // the last of CONTINUE, STOP and ROLLBACK, "" where there is none
}

// Has reports whether a record of the attempt has an outcome.
func (t Trace) Has(outcome Outcome) bool { return slices.Contains(t.Outcomes, outcome) }

// Trace is Traces of one attempt.
func (l *Ledger) Trace(attempt string, from int64) (Trace, error) {
	traces, err := l.Traces(from, attempt)
	return traces[attempt], err
}

// VerdictOn is Trace, of which only the verdict is wanted.
func (l *Ledger) VerdictOn(attempt string, from int64) (string, error) {
	trace, err := l.Trace(attempt, from)
	return trace.Verdict, err
}

// Traces returns what the records from an offset on, which End gave earlier, have of some attempts. It reads them once. It is an
// error for the ledger to be shorter than that, since records were lost, and for a record of one of the attempts to be no JSON.
func (l *Ledger) Traces(from int64, attempts ...string) (map[string]Trace, error) {
	t := newTracer(attempts)
	if err := l.each(from, t.line); err != nil {
		return nil, err
	}
	return t.found, nil
}

// TracesIn is Ledger.Traces of a ledger's file, as far as it is written now. It links and hashes nothing, and reads nothing where no
// attempt is asked for.
func TracesIn(path string, from int64, attempts ...string) (map[string]Trace, error) {
	if len(attempts) == 0 {
		return nil, nil
	}
	r, err := openSnapshot(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if from > r.Size() {
		return nil, recordsLost(r.Size(), from)
	}
	t := newTracer(attempts)
	if err := eachWholeLine(io.NewSectionReader(r, from, r.Size()-from), t.line); err != nil {
		return nil, err
	}
	return t.found, nil
}

// ErrRecordsLost says that a ledger is shorter than it was.
var ErrRecordsLost = errors.New("records were lost")

func recordsLost(end, before int64) error {
	return fmt.Errorf("the ledger ends at byte %d, but it was at %d before: %w", end, before, ErrRecordsLost)
}

// tracer gathers what lines tell of the attempts that are sought.
type tracer struct {
	sought map[string]bool
	found  map[string]Trace
}

func newTracer(attempts []string) *tracer {
	t := &tracer{sought: make(map[string]bool, len(attempts)), found: map[string]Trace{}}
	for _, attempt := range attempts {
		t.sought[attempt] = true
	}
	return t
}

func (t *tracer) line(line []byte) error {
	if !t.mayTell(line) {
		return nil
	}
	v, err := canon.Parse(line)
	if err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	attempt, has := v.Get("attempt").Text()
	origin, _ := v.Get("origin").Text()
	if !has || !t.sought[attempt] || origin == "verify" {
		return nil
	}
	trace := t.found[attempt]
	outcome, _ := v.Get("outcome").Text()
	trace.Outcomes = append(trace.Outcomes, Outcome(outcome))
	if verdict, _ := v.Get("verdict").Text(); verdict != "" {
		trace.Verdict = verdict
	}
	t.found[attempt] = trace
	return nil
}

// mayTell reports whether a line may be of an attempt that is sought. It looks at the first member of that name, which in a
// canonical line is the record's own: no object comes before it.
func (t *tracer) mayTell(line []byte) bool {
	_, value, found := bytes.Cut(line, []byte(`"attempt":"`))
	if !found {
		return false
	}
	end := bytes.IndexByte(value, '"')
	if end < 0 || bytes.IndexByte(value[:end], '\\') >= 0 {
		return true // no attempt is spelt so: whoever reads on sees what it is
	}
	return t.sought[string(value[:end])]
}
