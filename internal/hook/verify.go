package hook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/effects"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// verifying is a verification under way: the stop that is set if it does not come to its end in time.
type verifying struct {
	dir  string
	stop interlock.Stop
}

// verify holds what a call left against what it claims, where the policy asks for that ("verify: content"). It puts the
// verdict into the record of the call, and stops the session before that where the two differ or cannot be compared.
func (r *run) verify(e *Event, places Places, world *effects.World, rec *ledger.Record) {
	claims := e.claims(world)
	if e.Failed || len(claims) == 0 || !mayVerify(places) {
		return
	}
	policies, err := Load(r.sys.FS, places)
	if err != nil {
		r.complain("whether a call is to be verified cannot be told", err) // and no call is allowed any more
		return
	}
	q := e.question(policies.Policy, e.Tool, e.Input, world)
	q.Method = methodBefore(q.Method)
	rule := contentRule(policies.Policy, q)
	if rule == nil {
		return
	}
	v := &verifying{dir: places.Ledger, stop: interlock.Stop{Scope: e.scope(), Tool: e.Tool, Rule: rule.Rule}}
	v.stop.Reason = "what a call of " + cut(e.Tool, 60) + " left could not be verified in time"
	r.verifying.Store(v)
	rec.Rule, rec.PolicyDigest, rec.Verdict, rec.Expected = rule.Rule, policies.Policy.Digest(), gate.Stop, digestOf(claims)
	why, observed := r.compare(claims, policies.Policy, q)
	if !r.verifying.CompareAndSwap(v, nil) {
		return // it is too late, and the session was stopped for that
	}
	rec.ObservedSum = observed
	if why == "" {
		rec.Verdict = gate.Continue
		return
	}
	v.stop.Reason = why
	if err := r.latch(v.dir, v.stop); err != nil {
		rec.Reason = "the session could not be stopped"
		r.complain(why+", and the session could not be stopped", err)
	}
}

// compare returns what speaks against the claims of a call, or "", and the SHA-256 of what was observed, "" where not all of
// it could be.
func (r *run) compare(claims []claim, p *policy.Policy, q gate.Question) (why, observed string) {
	if decision, _ := p.Evaluate(q.Request()); decision == policy.Deny {
		why = "the policy does not allow what was called, or its path leads elsewhere than when it was allowed"
	}
	until := time.Now().Add(r.Deadline / 2)
	var sums []string
	for i := range claims {
		if r.sys.looking != nil {
			r.sys.looking(claims[i].path)
		}
		found := claims[i].look(until)
		if found.why != "" && why == "" {
			why = fmt.Sprintf("after a call of %s, %s %s", cut(q.Tool, 60), shownAs(claims[i].path, q.World), found.why)
		}
		if found.observed != "" {
			sums = append(sums, found.observed)
		}
	}
	if len(sums) == len(claims) {
		observed = together(sums)
	}
	return why, observed
}

// shownAs is a path for people: as it is called in the workspace.
func shownAs(path string, world *effects.World) string {
	if rel, err := filepath.Rel(world.Workspace, path); err == nil && !strings.HasPrefix(rel, "..") {
		path = rel
	}
	return cut(fmt.Sprintf("%q", path), 600)
}

func digestOf(claims []claim) string {
	sums := make([]string, len(claims))
	for i := range claims {
		sums[i] = claims[i].digest()
	}
	return together(sums)
}

// together is one digest for several: a single one stands for itself.
func together(sums []string) string {
	if len(sums) == 1 {
		return sums[0]
	}
	h := sha256.New()
	for _, sum := range sums {
		io.WriteString(h, sum+"\n")
	}
	return hex.EncodeToString(h.Sum(nil))
}

// contentRule returns by which rule the content of files is to be verified after a call, nil if by none.
func contentRule(p *policy.Policy, q gate.Question) *policy.Verification {
	for _, v := range p.Terms(q.Request()).Verify {
		if v.Content {
			return v
		}
	}
	return nil
}

// methodBefore is the event before a call, as a record names it, for the one after it: rules may speak of it.
func methodBefore(method string) string {
	name := strings.TrimPrefix(method, "hook/")
	switch {
	case strings.HasPrefix(name, "afterFileEdit"), strings.HasPrefix(name, "afterTabFileEdit"):
		return "hook/preToolUse"
	case strings.HasPrefix(name, "After"):
		return "hook/Before" + strings.TrimPrefix(name, "After")
	case strings.HasPrefix(name, "Post"):
		return "hook/Pre" + strings.TrimPrefix(name, "Post")
	case strings.HasPrefix(name, "post"):
		return "hook/pre" + strings.TrimPrefix(name, "post")
	}
	return method
}

// stopLate stops the session of a verification that is still under way at the deadline. The channel is closed when that is
// on the disk, or cannot be.
func (r *run) stopLate() <-chan struct{} {
	v := r.verifying.Swap(nil)
	if v == nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.recover()
		if err := r.latch(v.dir, v.stop); err != nil {
			r.complain(v.stop.Reason+", and the session could not be stopped", err)
		}
	}()
	return done
}

// mayVerify reports whether a policy in force may ask for a verification, by a look at its text: reading it is most of what the
// event after a call would cost those who never ask. The starter pack and the built-in rules do not ask.
func mayVerify(p Places) bool {
	paths := []string{p.Managed, p.Named}
	if p.Named == "" {
		for _, home := range append([]string{p.Borrowed}, p.Homes...) {
			if home != "" {
				paths = append(paths, UserPolicy(home))
			}
		}
		paths = append(paths, projectFiles(p.Dir)...)
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		text, err := readPolicy(path)
		if isGone(err) && !leadsNowhere(path) && path != p.Named {
			continue
		}
		if err != nil || saysVerify(text) {
			return true
		}
	}
	return false
}

// saysVerify reports whether the key may stand in a text, also by escapes.
func saysVerify(text []byte) bool {
	for _, part := range []string{"verify", `\u`, `\U`, `\x`} {
		if bytes.Contains(text, []byte(part)) {
			return true
		}
	}
	return false
}

// mustBeVerified denies a call whose content is to be verified where that is known to be out of reach.
func (r *run) mustBeVerified(e *Event, q gate.Question, p *policy.Policy, v *gate.Verdict) {
	if v.Decision == policy.Deny {
		return
	}
	why := unverifiable(e)
	if why == "" {
		return
	}
	if rule := contentRule(p, q); rule != nil {
		v.Tighten(policy.Deny, rule.Rule, "the rule asks that what the call writes is verified, and "+why)
	}
}

// maxVerified is how large an event before a call may be whose content is to be verified, in bytes: the one after it holds
// the content twice, and what was there before, and must be small enough to be read.
const maxVerified = maxEvent / 4

// unverifiable returns why the content that a call writes cannot be verified after it, or "".
func unverifiable(e *Event) string {
	switch {
	case e.Host == "cline" && edits(e.Tool):
		return "Cline runs one script for each event, and that of PostToolUse is none that sallyport installs: nothing would tell what was written"
	case e.size > maxVerified && edits(e.Tool):
		return fmt.Sprintf("with more than %d MiB the event after it may be too large to be read: write it in parts", maxVerified>>20)
	}
	return ""
}
