package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
)

// A verified call without a claim has its record when it is over. Until then what its record would say stands in the slot of its
// lane: in what it left (left.go), or, where a stop had to be written and the ledger could not take the record, in the stop.
// That record is owed to the ledger, by whoever comes next.

// owedPatience is how long a lane is waited for whose slot owes a record: whoever has it sees to that.
const owedPatience = 200 * time.Millisecond

// mostKept is how many bytes a record has that a stop keeps as it is: a stop of that size finds room on a full disk. What else is in
// a record than the summary of the call's effects is bounded to less.
const mostKept = 6 << 10

// keptRecord is a record as a stop keeps it, without the summary of its effects if that makes it too large.
func keptRecord(rec *ledger.Record) string {
	body := rec.Body()
	if len(body) > mostKept {
		short := *rec
		short.Effects = nil
		body = short.Body()
	}
	return string(body)
}

// recordOwed appends the records that crashes and full disks kept out of the ledger, and of which there is no claim. What such
// calls left is looked at before the next change in their scope, and not here. The errors of one scope keep it from no other.
func (g *Gate) recordOwed(ctx context.Context) error {
	if g.Stops == nil {
		return nil
	}
	left := map[string]interlock.Scope{} // by the attempt
	from := int64(math.MaxInt64)
	stops, err := g.Stops.Survey(func(scope interlock.Scope, text []byte) {
		if r, err := readLeft(text); err == nil && !r.keyed { // of what cannot be read the next change makes a stop
			left[r.attempt], from = scope, min(from, r.offset)
		}
	})
	if err != nil {
		return err
	}
	var scopes []interlock.Scope
	for _, stop := range stops {
		if stop.Record != "" {
			scopes = append(scopes, stop.Scope)
		}
	}
	if len(left) > 0 {
		traces, err := g.ledger.Traces(from, slices.Collect(maps.Keys(left))...)
		for attempt, scope := range left {
			if err != nil || len(traces[attempt].Outcomes) == 0 { // each scope has its own error then
				scopes = append(scopes, scope)
			}
		}
	}
	var errs []error
	for _, scope := range scopes {
		errs = append(errs, g.payOff(ctx, scope))
	}
	return errors.Join(errs...)
}

// payOff appends the record that the slot of a scope owes, unless somebody else has the lane.
func (g *Gate) payOff(ctx context.Context, scope interlock.Scope) error {
	waiting, cancel := context.WithTimeout(ctx, owedPatience)
	defer cancel()
	lane, err := g.Stops.Enter(waiting, scope)
	if err != nil {
		if waiting.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	defer lane.Leave()
	switch standing, stop, left := lane.Found(); standing {
	case interlock.Stopped:
		return g.payOffStop(lane, *stop)
	case interlock.Left:
		r, err := readLeft(left)
		if err != nil || r.keyed {
			return err
		}
		trace, err := g.ledger.Trace(r.attempt, r.offset)
		if err == nil {
			_, err = g.fateOfUnkeyed(r, trace)
		}
		return err
	}
	return nil
}

// payOffStop appends the record that a stop keeps, unless the ledger has it, and then the stop keeps it no more. The caller has
// the lane.
func (g *Gate) payOffStop(lane *interlock.Lane, stop interlock.Stop) error {
	if stop.Record == "" {
		return nil
	}
	verdict, err := g.ledger.VerdictOn(stop.Attempt, 0)
	if err == nil && verdict == "" {
		err = g.ledger.AppendRecovered([]byte(stop.Record))
	}
	if err != nil {
		return fmt.Errorf("recording attempt %s, which a stop keeps the record of: %w", stop.Attempt, err)
	}
	stop.Record = ""
	return lane.Stop(stop)
}
