package hook

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// principal is who asks through a hook: whoever runs the host.
const principal = "local"

// decide judges an event before a call, records that and says it.
func (r *run) decide(e *Event) {
	world, homes := r.findWorld(e)
	places := r.places(world, homes)
	policies, err := Load(r.sys.FS, places)
	if err != nil {
		r.refuseFor(e, Ruling{Rule: "policy", Reason: explainPolicy(err)})
		return
	}
	l := r.openLedger(places.Ledger)
	defer l.Close()
	door := gate.New(policies.Policy, l, mutation.Refusing(errors.New("a hook runs nothing")), slog.New(slog.DiscardHandler))
	if places.State != "" {
		door.Limits = interlock.OpenLimits(r.sys.FS, filepath.Join(places.State, "limits"))
	}
	q := e.question(policies.Policy, e.Tool, e.Input, world)
	v := door.Decide(q)
	judgeInner(door, e, policies.Policy, world, &v)
	for _, input := range e.Attached {
		w := *world
		of := door.Decide(e.question(policies.Policy, e.Tool, input, &w))
		v.Tighten(of.Decision, of.Why.Rule, of.Why.Reason)
	}
	r.mustBeVerified(e, q, policies.Policy, &v)
	r.holdBack(e, places.Ledger, q, policies.Policy, &v)
	hints := r.check(e, homes, &v)
	if !e.repeated() {
		door.Count(&v)
	}
	asked := settleAsk(r.dialect, e, &v)
	if r.told.Load() != nil {
		v.Tighten(policy.Deny, "deadline", "there was no decision in time")
	}
	r.pending.Store(&pending{rulingOf(v, hints, asked), policies.Policy.BestEffort()})
	if err := door.Record(&v); err != nil && v.Why.Rule == "ledger" {
		v.Why.Reason += ": " + cut(err.Error(), 300)
	}
	if !r.say(rulingOf(v, hints, asked)) {
		if t := r.told.Load(); t.decision < v.Decision {
			v.Tighten(t.decision, "deadline", "the decision came too late, and the host was told no")
			_ = door.Correct(v)
		}
	}
}

// question is what the gate is asked about a call of a tool.
func (e *Event) question(p *policy.Policy, tool string, input canon.Value, world *effects.World) gate.Question {
	return gate.Question{
		Caller:    gate.Caller{Principal: principal},
		Method:    e.method(),
		Tool:      tool,
		Args:      input,
		RequestID: e.CallID,
		Host:      e.Host,
		Session:   e.Session,
		Effects:   effects.Of(tool, input, p.Declares(tool), world),
		World:     world,
	}
}

// maxInner is how often a tool may stand within another one.
const maxInner = 4

// judgeInner makes a verdict as strict as that of the tool which the call is really for, where a tool only calls others: a
// rule that knows the inner one holds for the call too.
func judgeInner(door *gate.Gate, e *Event, p *policy.Policy, world *effects.World, v *gate.Verdict) {
	tool, input := e.Tool, e.Input
	for range maxInner {
		inner, arguments, ok := effects.Inner(tool, input)
		if !ok {
			return
		}
		if !arguments.Exists() {
			arguments = emptyObject()
		}
		w := *world
		of := door.Decide(e.question(p, inner, arguments, &w))
		v.Tighten(of.Decision, of.Why.Rule, of.Why.Reason)
		tool, input = inner, arguments
	}
	v.Tighten(policy.Deny, "event", "tools that call tools stand too deep within each other")
}

// rulingOf is what a verdict says to a host.
func rulingOf(v gate.Verdict, hints []string, asked bool) Ruling {
	ruling := Ruling{Decision: v.Decision, Rule: v.Why.Rule, Reason: v.Why.Reason, Asked: asked}
	if v.Decision == policy.Allow {
		ruling.Skip, ruling.Hints = v.Why.SkipPrompt, hints
	}
	return ruling
}

// settleAsk makes an ask a denial where nobody would be asked.
func settleAsk(d dialect, e *Event, v *gate.Verdict) bool {
	if v.Decision != policy.Ask {
		return false
	}
	why := d.asks(e)
	if e.Strange && e.Name != "" {
		why = "how to ask at this event is not known"
	}
	if why == "" {
		return false
	}
	reason := "this needs a person's approval, and " + why + ": ask the user to run it, or to allow it in the policy"
	if v.Why.Reason != "" {
		reason = strings.TrimRight(v.Why.Reason, ".") + "; " + reason
	}
	v.Tighten(policy.Deny, v.Why.Rule, reason)
	return true
}

// places are where the policies and our own files are for an event.
func (r *run) places(world *effects.World, h homes) Places {
	p := Places{
		Managed:  r.sys.Managed,
		Named:    r.Policy,
		Homes:    h.all,
		Dir:      world.Dir,
		Borrowed: h.borrowed,
		Ledger:   r.Ledger,
	}
	if program, err := os.Executable(); err == nil {
		p.Program = program
	}
	if r.Checks {
		p.Sessions = r.sessions(h).Folder()
	}
	if p.Managed == "" {
		p.Managed = managedPolicy
	}
	if home := h.own(); home != "" {
		p.State = StateDir(home)
	}
	if p.Ledger == "" {
		p.Ledger = p.State
	}
	for _, named := range []*string{&p.Named, &p.Ledger} {
		if *named == "" {
			continue
		}
		if full, err := filepath.Abs(*named); err == nil {
			*named = full
		}
	}
	return p
}

// openLedger opens the ledger in a folder. Where there is none to be had, it is one that takes no record.
func (r *run) openLedger(dir string) *ledger.Ledger {
	if dir == "" {
		return ledger.Refusing(errors.New("no folder for the ledger: the user has no home"))
	}
	if err := r.sys.FS.OwnDir(dir); err != nil {
		return ledger.Refusing(err)
	}
	l, err := ledger.Open(r.sys.FS, dir)
	if err != nil {
		return ledger.Refusing(err)
	}
	return l
}

// explainPolicy says what is wrong with a policy, where, and what to try.
func explainPolicy(err error) string {
	reason := "no call may run, since " + err.Error()
	var wrong *policy.Error
	if errors.As(err, &wrong) {
		reason = "no call may run, since the policy has a mistake: " + err.Error()
		if wrong.Hint != "" {
			reason += " (" + wrong.Hint + ")"
		}
	}
	return reason
}

// refuseFor denies an event that was read but cannot be judged.
func (r *run) refuseFor(e *Event, ruling Ruling) {
	r.pending.Store(&pending{ruling: ruling})
	<-r.recordAlone(ruling, nil)
	r.say(ruling)
}

// recordAlone records a denial that no policy made. The channel is closed when it is on the disk, or cannot be: the denial
// stands in any case. text is what was on stdin, of an event that could not be read.
func (r *run) recordAlone(ruling Ruling, text []byte) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.recover()
		e := r.event.Load()
		if e == nil {
			e = r.dialect.unknown()
			e.Host = r.Host
		}
		world, homes := r.findWorld(e)
		l := r.openLedger(r.places(world, homes).Ledger)
		defer l.Close()
		rec := e.record()
		rec.Decision, rec.Outcome, rec.Rule = policy.Deny.String(), ledger.NotExecuted, ruling.Rule
		if !e.Input.Exists() {
			rec.ArgsDigest = digest(text)
		}
		_ = l.Append(rec)
	}()
	return done
}

// record is what a record of an event has in any case.
func (e *Event) record() *ledger.Record {
	rec := &ledger.Record{
		RequestID: e.CallID,
		Method:    e.method(),
		Name:      e.Tool,
		Principal: principal,
		Host:      e.Host,
		Session:   e.Session,
	}
	if rec.RequestID == "" {
		rec.RequestID = ledger.Missing
	}
	if e.Input.Exists() {
		sum, err := e.Input.Digest()
		if err != nil {
			sum = digest(e.Input.Bytes())
		}
		rec.ArgsDigest = sum
	}
	return rec
}

// method is what an event is called in a record.
func (e *Event) method() string {
	if e.Name == "" {
		return "hook/unnamed"
	}
	return "hook/" + cut(e.Name, 64)
}

// repeated reports whether the host has asked about this call before, at another event.
func (e *Event) repeated() bool { return strings.EqualFold(e.Name, "PermissionRequest") }
