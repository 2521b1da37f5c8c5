package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/policy"
)

// fault is what goes wrong with one call.
type fault int

const (
	fine         fault = iota
	errEffect          // the tool says that it failed, and has had its effect
	errNothing         // the tool says that it failed, and has done nothing
	denied             // the policy says no
	notSent            // not a byte went out
	lostEffect         // no answer; the effect is there
	lostNothing        // no answer; nothing was done
	lostLate           // no answer; the effect comes later
	liesNothing        // answers success, does nothing
	liesWrong          // answers success, does something else
	liesLate           // answers success, the effect comes later
	open               // it wants something first
	dieBefore          // the process dies before the call
	dieAfter           // the process dies after the effect, before anybody knows
	cancelBefore       // ctx ends before the call
	cancelAfter        // ctx ends with the answer
	gateDiffers        // answers success, the effect is there, and the gate's own look differs: changes are stopped
	lostDiffers        // no answer, the effect is there, and the gate's own look differs
	callFaults   = int(lostDiffers) + 1
)

var callFaultNames = [...]string{"fine", "errEffect", "errNothing", "denied", "notSent", "lostEffect", "lostNothing", "lostLate", "liesNothing", "liesWrong", "liesLate", "open", "dieBefore", "dieAfter", "cancelBefore", "cancelAfter", "differs", "lostDiffers"}

func (f fault) String() string { return callFaultNames[f] }

// The faults of an observation.
const (
	seeFine fault = iota
	seeFails
	seeError
	seeDenied
	seeGarbage
	seeOpen
	seeCancel
	seeDie
	seeFaults = int(seeDie) + 1
)

// safety is how a tool can be called again.
type safety int

const (
	unkeyed safety = iota
	keyed
	repeats
	safeties = int(repeats) + 1
)

// thing is what a step does to the world.
type thing struct {
	present, wrong bool
	late           int // looks until the effect is there; 0: none is on its way
	did, undid     int // how often the tools ran
}

// world is where steps have their effects, behind a gate that knows keys. It can be copied.
type world struct {
	things map[string]thing
	claims map[string]string // request id to "done", "differed" or "inconclusive"
	latch  int               // in how many more sittings the gate holds back changes
}

func newWorld() *world { return &world{things: map[string]thing{}, claims: map[string]string{}} }

func (w *world) clone() *world {
	c := newWorld()
	c.latch = w.latch
	for k, v := range w.things {
		c.things[k] = v
	}
	for k, v := range w.claims {
		c.claims[k] = v
	}
	return c
}

// died is the panic by which a process of the tests dies.
type died struct{ where string }

// desk is what a plan's runner has before it in the tests: tools over a world, a book, and what it is held to. Step a calls
// do_a, sees by see_a, is undone by undo_a.
type desk struct {
	*world
	safety map[string]safety
	faults func(tool string, n int) fault // of the n-th call of a tool in this sitting
	proofs func(proof string) (time.Time, error)
	notes  func(s gate.Step) error // of the n-th record; nil: none fails
	cancel context.CancelFunc

	calls      map[string]int
	violations []string
	over       bool // a STOP was decided in this sitting
	rollback   bool // a ROLLBACK was decided in this run
	continued  map[string]bool
	undone     map[string]bool
	proven     map[string]bool
	steps      []gate.Step
	fired      map[fault]int
}

func newDesk(w *world) *desk {
	return &desk{world: w, safety: map[string]safety{}, calls: map[string]int{}, continued: map[string]bool{}, undone: map[string]bool{}, proven: map[string]bool{}, fired: map[fault]int{}}
}

// sit begins another sitting at the desk.
func (d *desk) sit(cancel context.CancelFunc) {
	d.calls, d.over, d.cancel = map[string]int{}, false, cancel
	d.latch = max(0, d.latch-1) // in the end an operator releases them
}

func (d *desk) violate(format string, args ...any) {
	d.violations = append(d.violations, fmt.Sprintf(format, args...))
}

var errLost = errors.New("the server gave no answer")

func ok(body string) (gate.Result, error) {
	return gate.Result{Body: []byte(`{"content":[],"structuredContent":` + body + `}`)}, nil
}

func (d *desk) Call(ctx context.Context, origin, requestID, tool string, args canon.Value) (gate.Result, error) {
	kind, id, _ := strings.Cut(tool, "_")
	n := d.calls[tool]
	d.calls[tool]++
	var f fault
	if d.faults != nil {
		f = d.faults(tool, n)
	}
	if d.over {
		d.violate("%s was called after a STOP", tool)
	}
	if origin != "plan" {
		d.violate("origin %q", origin)
	}
	if kind == "see" {
		if requestID != "" {
			d.violate("an observation with a request id %q", requestID)
		}
		return d.see(ctx, id, f)
	}
	d.fired[f]++
	d.order(kind, id)
	if !strings.HasSuffix(requestID, "/"+id+"/"+map[string]string{"do": "call", "undo": "undo"}[kind]) {
		d.violate("%s has the request id %q", tool, requestID)
	}
	switch f {
	case dieBefore:
		panic(died{"before " + tool})
	case denied:
		return gate.Result{}, &gate.DeniedError{Tool: tool, Rule: "no", Reason: "not now"}
	case notSent:
		return gate.Result{}, &gate.NotDone{Err: errors.New("no connection")}
	case cancelBefore:
		d.cancel()
		return gate.Result{}, ctx.Err()
	}
	return d.keyed(ctx, kind, id, requestID, f)
}

// order holds a call to what was decided before it.
func (d *desk) order(kind, id string) {
	if kind == "do" {
		if d.rollback {
			d.violate("do_%s was called after a ROLLBACK", id)
		}
		for before := byte('a'); before < id[0]; before++ {
			if !d.continued[string(before)] {
				d.violate("do_%s was called before step %c was known to hold", id, before)
			}
		}
		return
	}
	if !d.rollback {
		d.violate("undo_%s was called without a ROLLBACK", id)
	}
	for later := id[0] + 1; later <= 'z'; later++ {
		t, there := d.things[string(later)]
		if there && t.did > 0 && !d.undone[string(later)] && d.mustUndo(string(later)) {
			d.violate("undo_%s was called before step %c was undone", id, later)
		}
	}
}

func (d *desk) mustUndo(id string) bool { _, has := d.safety["undo_"+id]; return has }

// keyed is the gate: what has a key is carried out once.
func (d *desk) keyed(ctx context.Context, kind, id, requestID string, f fault) (gate.Result, error) {
	if d.safety[kind+"_"+id] == keyed {
		switch d.claims[requestID] {
		case "done":
			return ok(`{"replay":true}`)
		case "differed":
			r, err := ok(`{"replay":true}`)
			r.Checks = gate.Differed
			return r, err
		case "inconclusive":
			return gate.Result{}, errLost
		}
	}
	if d.latch > 0 {
		return gate.Result{}, &gate.DeniedError{Tool: kind, Rule: gate.LatchRule, Reason: "stopped"}
	}
	if d.safety[kind+"_"+id] == keyed {
		d.claims[requestID] = "inconclusive" // the intent
	}
	result, err := d.act(ctx, kind, id, f)
	if err == nil && !result.Open {
		d.claims[requestID] = "done"
		if result.Checks == gate.Differed {
			d.claims[requestID] = "differed"
		}
	}
	if f == dieAfter {
		panic(died{"after " + kind + "_" + id})
	}
	if f == cancelAfter {
		d.cancel()
	}
	return result, err
}

// act is the tool itself.
func (d *desk) act(_ context.Context, kind, id string, f fault) (gate.Result, error) {
	t := d.things[id]
	defer func() { d.things[id] = t }()
	if kind == "do" {
		t.did++
	} else {
		t.undid++
	}
	if ran := map[string]int{"do": t.did, "undo": t.undid}[kind]; ran > 1 && d.safety[kind+"_"+id] != repeats {
		d.violate("%s_%s ran %d times", kind, id, ran)
	}
	effect := func() {
		t.present, t.wrong, t.late = kind == "do", false, 0
	}
	switch f {
	case errEffect:
		effect()
		return gate.Result{Body: []byte(`{"isError":true,"content":[]}`), Failed: true}, nil
	case errNothing:
		return gate.Result{Body: []byte(`{"isError":true,"content":[]}`), Failed: true}, nil
	case lostEffect:
		effect()
		return gate.Result{}, errLost
	case lostNothing:
		return gate.Result{}, errLost
	case gateDiffers, lostDiffers:
		effect()
		d.latch = 2 // in this sitting, and in the next
		if f == lostDiffers {
			return gate.Result{}, errLost
		}
		r, err := ok(`{}`)
		r.Checks = gate.Differed
		return r, err
	case lostLate, liesLate:
		if kind == "do" {
			t.late = 2
		} else {
			t.late = -2
		}
		if f == lostLate {
			return gate.Result{}, errLost
		}
	case liesNothing:
	case liesWrong:
		effect()
		t.wrong = true
	case open:
		return gate.Result{Body: []byte(`{"resultType":"input_required"}`), Open: true}, nil
	default:
		effect()
	}
	return ok(`{"id":"` + id + `"}`)
}

// see is the observation. What is on its way comes nearer with each.
func (d *desk) see(ctx context.Context, id string, f fault) (gate.Result, error) {
	t := d.things[id]
	if t.late != 0 {
		step := 1
		if t.late < 0 {
			step = -1
		}
		if t.late -= step; t.late == 0 {
			t.present, t.wrong = step > 0, false
		}
		d.things[id] = t
	}
	switch f {
	case seeFails:
		return gate.Result{}, errLost
	case seeError:
		return gate.Result{Body: []byte(`{"isError":true,"content":[]}`), Failed: true}, nil
	case seeDenied:
		return gate.Result{}, &gate.DeniedError{Tool: "see_" + id, Rule: "no", Reason: "not now"}
	case seeGarbage:
		return ok(`{"present":"who knows","wrong":1}`)
	case seeOpen:
		return gate.Result{Body: []byte(`{"resultType":"input_required"}`), Open: true}, nil
	case seeCancel:
		d.cancel()
		return gate.Result{}, ctx.Err()
	case seeDie:
		panic(died{"looking at " + id})
	}
	return ok(fmt.Sprintf(`{"present":%t,"wrong":%t}`, t.present, t.wrong))
}

func (d *desk) Preview(_ context.Context, requestID, tool string, _ canon.Value) (gate.Preview, error) {
	kind, _, _ := strings.Cut(tool, "_")
	p := gate.Preview{Decision: policy.Allow, ReadOnly: kind == "see"}
	switch d.safety[tool] {
	case keyed:
		p.Key = requestID
	case repeats:
		p.Repeats = true
	}
	if kind != "see" && d.latch > 0 {
		p.Decision, p.Rule, p.Reason, p.Stopped = policy.Deny, gate.LatchRule, "stopped", "stopped"
	}
	return p, nil
}

func (d *desk) NoteStep(_ gate.Caller, s gate.Step) error {
	if d.notes != nil {
		if err := d.notes(s); err != nil {
			return err
		}
	}
	if d.over {
		d.violate("%s %s of step %s was recorded after a STOP", s.Method, s.Verdict, s.Step)
	}
	d.steps = append(d.steps, s)
	if d.latch > 0 && (s.Verdict == Continue || s.Verdict == Rollback || s.Undone) {
		d.violate("%s %s of step %s was recorded while the gate holds back changes", s.Method, s.Verdict, s.Step)
	}
	if s.Method == gate.MethodUndo {
		d.undone[s.Step] = d.undone[s.Step] || s.Undone
		d.over = !s.Undone
		if s.Undone && d.things[s.Step].present {
			d.violate("step %s is recorded as undone, and is not", s.Step)
		}
		return nil
	}
	switch s.Verdict {
	case Continue:
		d.continued[s.Step] = true
		if t := d.things[s.Step]; !t.present || t.wrong {
			d.violate("step %s is recorded with CONTINUE and %+v", s.Step, t)
		}
	case Stop:
		d.over = true
	case Rollback:
		d.rollback = true
	default:
		d.violate("a verdict %q", s.Verdict)
	}
	return nil
}

func (d *desk) NoteProof(_ gate.Caller, proof, _, _, step, _ string) error {
	d.proven[step] = true
	return nil
}

func (d *desk) Proven(proof string) (time.Time, error) {
	if d.proofs == nil {
		return time.Now().Add(-time.Minute), nil
	}
	return d.proofs(proof)
}
