package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"sallyport/internal/gate"
)

// puppet holds the state machine alone to the promises: its journal is a list of facts, its world is a desk. Whatever touches
// the world is an event, and each event may go wrong.
type puppet struct {
	*desk
	kinds   []kind
	shape   *shape
	journal []fact
	state   *state
	faults  func(event byte) fault // of the next event

	log []string
}

// The events: a call, a look, a line of the journal, a record, the look-up of a proof.
const events = "csjnp"

// faultsOf are what can go wrong with an event.
var faultsOf = map[byte]int{'c': callFaults, 's': seeFaults, 'j': 4, 'n': 2, 'p': 2}

// The faults of a line of the journal; of a record and a proof, 1 is that there is none.
const (
	lineDiesBefore fault = 1 + iota
	lineDiesAfter
	lineFails
)

func newPuppet(kinds []kind, faults func(event byte) fault) *puppet {
	p := &puppet{desk: newDesk(newWorld()), kinds: kinds, shape: &shape{}, faults: faults}
	for i, k := range kinds {
		id := letter(i)
		p.shape.steps = append(p.shape.steps, outline{undo: k.undo == 'u', noUndo: k.undo == 'n', stop: k.stop})
		p.safety["do_"+id] = k.do
		if k.undo == 'u' {
			p.safety["undo_"+id] = k.un
		}
	}
	p.desk.faults = func(tool string, _ int) fault {
		if tool[0] == 's' {
			return p.next('s')
		}
		return p.next('c')
	}
	p.notes = func(gate.Step) error {
		if p.next('n') != fine {
			return errors.New("the ledger takes nothing")
		}
		return nil
	}
	return p
}

func letter(i int) string { return string(rune('a' + i)) }

func (p *puppet) next(event byte) fault {
	f := p.faults(event)
	if f != fine {
		p.log = append(p.log, fmt.Sprintf("%c%d", event, f))
	}
	return f
}

// sitting is one process.
func (p *puppet) sitting() (end End, alive bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.desk.sit(cancel)
	defer func() {
		r := recover()
		if _, is := r.(died); r != nil && !is {
			panic(r)
		}
		if r != nil {
			p.log = append(p.log, "died")
			alive = false
		}
	}()
	p.state = newState(p.shape)
	for _, f := range p.journal {
		p.must(f)
	}
	if p.state.phase == over {
		return p.state.end, true
	}
	p.rollback = p.state.phase == backward
	if len(p.journal) > 0 {
		if !p.note(fact{what: resumed, step: -1}) {
			return Stopped, true
		}
	}
	for {
		if ctx.Err() != nil && !p.state.interrupted {
			p.must(fact{what: interruption})
		}
		a := p.shape.next(p.state)
		if a.move == rest {
			return p.ended(), true
		}
		f := p.perform(ctx, a)
		if !journaled(f.what) {
			p.must(f)
		} else if !p.note(f) {
			return Stopped, true
		}
	}
}

func (p *puppet) must(f fact) {
	if err := p.shape.apply(p.state, f); err != nil {
		p.violate("fact %d at step %d: %v", f.what, f.step, err)
		panic(died{"refused fact"})
	}
}

// note writes a line of the journal.
func (p *puppet) note(f fact) bool {
	switch p.next('j') {
	case lineDiesBefore:
		panic(died{"before a line"})
	case lineDiesAfter:
		p.journal = append(p.journal, f)
		panic(died{"after a line"})
	case lineFails:
		return false
	}
	p.journal = append(p.journal, f)
	p.must(f)
	return true
}

func (p *puppet) ended() End {
	switch {
	case p.state.phase == over:
		return p.state.end
	case p.state.failed:
		return RollbackFailed
	}
	return Stopped
}

var noArgs = mustParse([]byte("{}"))

func (p *puppet) perform(ctx context.Context, a action) fact {
	id := letter(max(a.step, 0))
	tool, request := "do_"+id, "run/"+id+"/call"
	if a.undo {
		tool, request = "undo_"+id, "run/"+id+"/undo"
	}
	f := fact{step: a.step, undo: a.undo, reason: a.reason}
	at := &p.state.steps[min(max(a.step, 0), len(p.kinds)-1)].call
	if a.undo {
		at = &p.state.steps[a.step].undo
	}
	switch a.move {
	case survey:
		f.what = surveyed
	case prepare:
		f.what, f.args, f.repeats = prepared, noArgs, p.safety[tool] == repeats
		if p.safety[tool] == keyed {
			f.key = request
		}
		if p.latch > 0 {
			f.stopped = "the latch"
			if p.claims[request] != "done" && p.claims[request] != "differed" {
				f.reason = f.stopped
			}
		}
	case intend:
		f.what, f.key, f.args, f.again = intention, p.state.prepared.key, noArgs, at.progress != unbegun
	case makeCall:
		f.what, f.how, f.reason = outcome, nothing, "interrupted"
		if ctx.Err() == nil {
			r, err := p.Call(ctx, origin, request, tool, noArgs)
			f.how, f.reason = classify(r, err)
			f.differs = r.Checks == gate.Differed
			if denied, ok := errors.AsType[*gate.DeniedError](err); ok && denied.Rule == gate.LatchRule {
				f.stopped = "the latch"
			}
		}
	case look:
		f.what, f.sight, f.reason = seen, p.glance(ctx, id, a.undo), "unclear"
	case weigh:
		if f.what = weighed; p.next('p') != fine || p.latch > 0 {
			f.reason = "no proof, or no undo allowed"
		}
	case decide:
		f.what, f.verdict = decision, a.verdict
		if err := p.NoteStep(gate.Caller{}, gate.Step{Method: gate.MethodStep, Step: id, Verdict: a.verdict}); err != nil {
			f.verdict = Stop
		}
	case settle, giveUp:
		if f.what = settled; a.move == giveUp {
			f.what, f.interrupted = surrender, p.state.interrupted
		}
		if err := p.NoteStep(gate.Caller{}, gate.Step{Method: gate.MethodUndo, Step: id, Undone: a.move == settle}); err != nil {
			f.what = surrender
		}
	case finish:
		f.what, f.end = ended, a.end
	}
	return f
}

func (p *puppet) glance(ctx context.Context, id string, undo bool) sight {
	r, err := p.Call(ctx, origin, "", "see_"+id, noArgs)
	switch {
	case err != nil || r.Failed || r.Open || bytes.Contains(r.Body, []byte("who knows")):
		return unclear
	case bytes.Contains(r.Body, []byte(`"present":true`)) != undo && (undo || bytes.Contains(r.Body, []byte(`"wrong":false`))):
		return holds
	}
	return differs
}

// wholeRun goes on until the run is over, or that often. It returns what is wrong, "" if nothing is.
func (p *puppet) wholeRun(sittings int) (end End, wrong string) {
	for range sittings {
		var alive bool
		end, alive = p.sitting()
		if wrong = p.wrong(end, alive); wrong != "" || alive && p.state.phase == over {
			break
		}
	}
	return end, wrong
}

// wrong holds the end of a sitting to the world.
func (p *puppet) wrong(end End, alive bool) string {
	if len(p.violations) > 0 {
		return strings.Join(p.violations, "; ")
	}
	if !alive {
		return ""
	}
	for i, k := range p.kinds {
		switch t := p.things[letter(i)]; {
		case end == Continued && (!t.present || t.wrong):
			return fmt.Sprintf("CONTINUE to the end, and step %d left %+v", i, t)
		case end == RolledBack && k.undo == 'u' && t.present, end == RolledBack && k.undo == ' ' && t.did > 0:
			return fmt.Sprintf("ROLLBACK done, and step %d left %+v", i, t)
		case (end == RolledBack || end == RollbackFailed) && !p.rollback:
			return "ROLLBACK that was not decided"
		}
	}
	again := newState(p.shape)
	for _, f := range p.journal {
		if err := p.shape.apply(again, f); err != nil {
			return "the journal does not replay: " + err.Error()
		}
	}
	was := *p.state
	was.scratch, again.scratch = scratch{}, scratch{}
	if !reflect.DeepEqual(&was, again) {
		return fmt.Sprintf("the journal replays to another state: %+v, was %+v", again, was)
	}
	return ""
}

func (p *puppet) describe() string {
	var lines []string
	for _, f := range p.journal {
		lines = append(lines, fmt.Sprintf("%+v", f))
	}
	return fmt.Sprintf("steps %+v\nfaults %v\nworld %+v\nrecords %+v\njournal\n  %s", p.kinds, p.log, p.things, p.desk.steps, strings.Join(lines, "\n  "))
}

// TestMachineAgainstRandomWorlds holds the state machine, without a disk, to the promises.
func TestMachineAgainstRandomWorlds(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	runs := 30_000
	if raceEnabled {
		runs = 5_000
	}
	t.Logf("go test ./internal/plan -run TestMachineAgainstRandomWorlds -plan.seed %d", seed)
	ends, fired := map[End]int{}, map[string]int{}
	for n := range runs {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		rate := []float64{0.05, 0.2, 0.5}[rng.IntN(3)]
		p := newPuppet(randomKinds(rng), func(event byte) fault {
			switch {
			case rng.Float64() > rate, event == 'n' && rng.IntN(4) > 0, event == 'p' && rng.IntN(2) > 0, event == 'j' && rng.IntN(3) > 0:
				return fine
			case event == 'c' && rng.IntN(2) > 0:
				return []fault{errNothing, errEffect, liesNothing, liesWrong}[rng.IntN(4)] // what leads to a ROLLBACK
			}
			return fault(rng.IntN(faultsOf[event]))
		})
		end, wrong := p.wholeRun(6)
		if wrong != "" {
			t.Fatalf("run %d: %s\n%s", n, wrong, p.describe())
		}
		ends[end]++
		for _, f := range p.log {
			fired[f]++
		}
	}
	t.Logf("%d runs ended: %v; faults: %v", runs, ends, fired)
	for _, e := range []End{Stopped, Continued, RolledBack, RollbackFailed} {
		if ends[e] < runs/200 {
			t.Errorf("%v came %d times in %d runs: this proves little", e, ends[e], runs)
		}
	}
	for _, event := range []byte(events) {
		for f := 1; f < faultsOf[event]; f++ {
			if name := fmt.Sprintf("%c%d", event, f); fired[name] < runs/500 {
				t.Errorf("fault %s fired %d times in %d runs: this proves little", name, fired[name], runs)
			}
		}
	}
}

// TestMachineAgainstEveryFaultAndEveryPair enumerates: plans of two and three steps of several kinds, every fault of every
// event, and every fault of every later event besides. What is left is gone on with until it is over or nothing changes.
func TestMachineAgainstEveryFaultAndEveryPair(t *testing.T) {
	some := []kind{{undo: 'u'}, {undo: 'u', do: keyed, un: keyed}, {undo: 'u', do: repeats, un: repeats}, {undo: 'n', do: keyed}, {undo: ' '}}
	few := []kind{{undo: 'u'}, {undo: 'u', do: keyed, un: repeats}}
	plans := [][]kind{}
	for _, a := range some {
		for _, b := range some {
			plans = append(plans, []kind{a, b})
		}
	}
	for _, a := range few {
		for _, b := range few {
			plans = append(plans, []kind{a, b, {undo: 'u', do: keyed, un: keyed}})
		}
	}
	if raceEnabled {
		plans = plans[len(plans)-6:]
	}
	n, ends := 0, map[End]int{}
	for _, kinds := range plans {
		bare := enumerate(t, kinds, nil, &n, ends)
		if len(bare) < 10 {
			t.Fatalf("only %d events: %s", len(bare), bare)
		}
		for i, event := range bare {
			for f := 1; f < faultsOf[event]; f++ {
				first := map[int]fault{i: fault(f)}
				trace := enumerate(t, kinds, first, &n, ends)
				for j := i + 1; j < len(trace); j++ {
					for g := 1; g < faultsOf[trace[j]]; g++ {
						enumerate(t, kinds, map[int]fault{i: fault(f), j: fault(g)}, &n, ends)
					}
				}
			}
		}
	}
	t.Logf("%d runs ended: %v", n, ends)
	for _, e := range []End{Stopped, Continued, RolledBack, RollbackFailed} {
		if ends[e] == 0 {
			t.Errorf("%v never came", e)
		}
	}
}

// enumerate makes one run with faults at some of its events, and returns its events.
func enumerate(t *testing.T, kinds []kind, faults map[int]fault, n *int, ends map[End]int) (trace []byte) {
	t.Helper()
	met := 0
	p := newPuppet(kinds, func(event byte) fault {
		f := faults[len(trace)]
		if trace = append(trace, event); f != fine {
			met++
		}
		return f
	})
	end, wrong := p.wholeRun(4)
	switch {
	case wrong != "":
		t.Fatalf("faults %v: %s\n%s", faults, wrong, p.describe())
	case met != len(faults):
		t.Fatalf("of the faults %v only %d were met: %s", faults, met, trace)
	case len(faults) == 0 && end != Continued:
		t.Fatalf("without faults: %v\n%s", end, p.describe())
	}
	*n++
	ends[end]++
	return trace
}
