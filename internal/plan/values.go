package plan

import (
	"errors"
	"fmt"
	"slices"

	"sallyport/internal/canon"
	"sallyport/internal/postcondition"
)

// maxKept is how much of a result, of an observation or of arguments is kept, in canonical bytes: whoever goes on needs it.
const maxKept = 1 << 20

// kept returns a value in its canonical spelling, as the journal keeps it; so it is the same for whoever goes on.
func kept(v canon.Value) (canon.Value, error) {
	text, err := v.AppendCanonical(nil)
	if err != nil {
		return canon.Value{}, fmt.Errorf("it has no canonical form: %w", err)
	}
	if len(text) > maxKept {
		return canon.Value{}, fmt.Errorf("it is larger than %d KiB", maxKept>>10)
	}
	if _, err := canon.Parse(slices.Concat([]byte("[[[["), text, []byte("]]]]"))); err != nil {
		return canon.Value{}, errors.New("it is nested too deep") // to stand in a line of the journal, or among the steps
	}
	return canon.Parse(text)
}

// digestOr is the digest of a value, "" where there is none.
func digestOr(v canon.Value) string {
	if !v.Exists() {
		return ""
	}
	digest, _ := v.Digest() // it is canonical, and so has one
	return digest
}

// args are the arguments of a step's call, absent as long as they are not known.
func (t *sitting) args(step int) canon.Value {
	if args := t.state.steps[step].call.args; args.Exists() {
		return args
	}
	if p := t.state.prepared; p != nil && p.step == step && !p.undo {
		return p.args
	}
	return canon.Value{}
}

// values are what the names in the templates and conditions of a step stand for.
func (t *sitting) values(step int) postcondition.Values {
	v := postcondition.Values{"run": mustParse(object{"id": quoted(t.run)}.bytes()), "steps": t.steps(step)}
	if args := t.args(step); args.Exists() {
		v["args"] = args
		v["call"] = called(t.plan.steps[step].call.tool, args)
	}
	if result := t.state.steps[step].result; result.Exists() {
		v["result"] = result
	}
	return v
}

// called is what the name call stands for.
func called(tool string, args canon.Value) canon.Value {
	return mustParse(object{"tool": quoted(tool), "arguments": args.Bytes()}.bytes())
}

// steps is what the steps before one came to.
func (t *sitting) steps(step int) canon.Value {
	if t.earlier.Exists() && t.known == step {
		return t.earlier
	}
	all := object{}
	for i := range step {
		if s := &t.state.steps[i]; s.done {
			all[t.plan.steps[i].id] = object{"result": s.result.Bytes(), "observation": s.observation.Bytes()}.bytes()
		}
	}
	t.earlier, t.known = mustParse(all.bytes()), step
	return t.earlier
}

// mustParse reads JSON that was put together of JSON.
func mustParse(text []byte) canon.Value {
	v, err := canon.Parse(text)
	if err != nil {
		panic("plan: " + err.Error()) // kept sees to it that it can be read
	}
	return v
}

// expected is the digest of a condition and of what it was told; "" as long as that is not known.
func (t *sitting) expected(step int, undone bool) string {
	s, args := &t.plan.steps[step], t.args(step)
	if !args.Exists() {
		return ""
	}
	o := object{"call": quoted(s.call.tool), "args": args.Bytes()}
	if undone {
		o["undone"] = quoted(s.undone.Source())
	} else {
		o["expect"] = quoted(s.expect.Source())
	}
	return digestOf(o.bytes())
}
