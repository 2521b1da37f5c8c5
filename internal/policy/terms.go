package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"sallyport/internal/output"
)

// MetaKey, as the key of a mutation, names the member of a request's _meta, rather than an argument.
const MetaKey = "sallyport/request_id"

// Terms are what the rules that allow a call, or ask about it, say of how it is to be carried out.
type Terms struct {
	// ReadOnly says that the call has no effect: rules that allow it and say so cover all of it, and none says that it is
	// a mutation, or how it is verified. Where the policy asks, each rule that asks says so too.
	ReadOnly bool

	// Key is the argument that names the mutation, or MetaKey; "" if no rule names one. Where two rules name different
	// ones the first in the file counts.
	Key  string
	Rule string // the id of the rule that names the key

	// Idempotent says that the upstream takes the same mutation twice without harm, by the operator's own word: one whose
	// outcome is not known may be sent again. All rules that speak of the call and name a key say so.
	Idempotent bool

	// Verify is what must be true after the call, by all rules that speak of it, in the order of the files. None of a call
	// that only reads, and none of a method other than tools/call.
	Verify []*Verification

	// Expires is how long a person has to agree to a call that the policy asks about: the shortest time that a rule which
	// asks names, else 15 minutes. Zero where nobody is asked.
	Expires time.Duration

	// Operator says that only an operator may agree, at the terminal, and not whoever is at the client: a rule that asks says
	// so.
	Operator bool

	// Output is what is asked of the call's result, by the files and by all rules that speak of the call together.
	Output output.Rule
}

// none reports whether a rule asks for nothing.
func (t *Terms) none() bool {
	return !t.ReadOnly && t.Key == "" && !t.Idempotent && t.Verify == nil && t.Expires == 0 && !t.Operator && t.Output == (output.Rule{})
}

// Terms are those that a Judgment has, without the decision.
func (p *Policy) Terms(r Request) Terms {
	v, ok := p.version2()
	if !ok {
		return Terms{}
	}
	return Judgment{call: v.newCall(&r)}.Terms()
}

// defaultExpiry is how long a person has to agree where no rule says it.
const defaultExpiry = 15 * time.Minute

// terms returns the terms of a call by the rules that are enforced, or by the observed ones too; asked says that the policy
// asks about it.
func (c *call) terms(observed, asked bool) Terms {
	var t Terms
	for _, rule := range c.v.outputs {
		t.Output = t.Output.Stricter(rule)
	}
	t.Expires = c.expires(observed, asked)
	if !c.v.index.terms {
		return t
	}
	reads := true // of the rules that ask, each says that the call only reads
	var readers []int
	for i := range c.v.rules {
		r := &c.v.rules[i]
		switch {
		case r.observe && !observed:
		case r.decision == Allow && r.lifts && !r.terms.none() && c.perhaps(i) && (!r.keyed || c.coversOne(r)):
			surely := c.surely(i)
			t.add(r, c.req, surely)
			if r.terms.ReadOnly && surely {
				readers = append(readers, i)
			}
		case asked && r.decision != Allow && c.speaks(i):
			surely := c.surelyAllowed(i)
			t.add(r, c.req, surely)
			t.Operator = t.Operator || r.terms.Operator
			if reads = reads && r.terms.ReadOnly && surely; reads {
				readers = append(readers, i)
			}
		}
	}
	if t.Key == "" && t.Verify == nil && reads && readers != nil {
		covered, _ := c.coverAll(readers)
		t.ReadOnly = covered.rule != nil
	}
	return t
}

// add adds what one rule asks for. What makes a call milder is for rules to say that surely speak of it, and the key for those
// that lift a default.
func (t *Terms) add(r *placed, req *Request, surely bool) {
	t.Output = t.Output.Stricter(r.terms.Output)
	if isToolCall(req.Method) {
		for _, v := range r.terms.Verify {
			t.Verify = append(t.Verify, v.under(r.name))
		}
	}
	switch {
	case r.terms.Key == "" || !r.lifts:
	case t.Key == "":
		t.Key, t.Rule, t.Idempotent = r.terms.Key, r.name, r.terms.Idempotent && surely
	default:
		t.Idempotent = t.Idempotent && r.terms.Idempotent && surely
	}
}

// expires returns how long a person has to agree to a call.
func (c *call) expires(observed, asked bool) time.Duration {
	if !asked {
		return 0
	}
	shortest := time.Duration(0)
	for _, i := range c.v.index.strict {
		r := &c.v.rules[i]
		named := r.terms.Expires
		if named == 0 || r.observe && !observed || !c.speaks(i) {
			continue
		}
		if !r.lifts { // of a file that may only make calls stricter
			named = min(named, defaultExpiry)
		}
		if shortest == 0 || named < shortest {
			shortest = named
		}
	}
	if shortest == 0 {
		return defaultExpiry
	}
	return shortest
}

// asked reports whether the policy asks about the call.
func (c *call) asked() bool {
	if !c.v.index.asks {
		return false
	}
	c.scan()
	strict := c.strictest(false)
	if strict.rule != nil && strict.decision == Deny {
		return false
	}
	base := c.coverage(false)
	return base.decision == Ask || base.decision == Allow && strict.rule != nil
}

// perhaps reports whether a rule that allows speaks of the call, or may. Where another rule, or the default, allows a call of
// which that cannot be told, what this one asks for is not lost either.
func (c *call) perhaps(i int) bool { return !c.found[i].out && c.applies(i) != no }

// speaks reports whether a rule that denies or asks has to do with the call, or may have. What a rule asks for is not lost
// where it cannot be told: else a call that is large enough for a condition to fail would come off lighter.
func (c *call) speaks(i int) bool {
	return !c.found[i].out && c.byRule(i, &c.v.rules[i]).rule != nil
}

// surelyAllowed reports whether a rule that asks speaks of the call beyond doubt, as a rule that allows must, so that it may
// make the call milder.
func (c *call) surelyAllowed(i int) bool {
	r := &c.v.rules[i]
	return r.lifts && r.appliesTo(c, true) == yes && (!r.keyed || c.coversOne(r))
}

// ledgerTerms is what a file says of the ledger.
type ledgerTerms struct {
	kept  string // "required", "best_effort" or ""
	reads string // "durable", "batched" or ""
}

// stricter returns what holds where two files speak of the ledger.
func (l ledgerTerms) stricter(other ledgerTerms) ledgerTerms {
	if other.kept != "" && l.kept != "required" {
		l.kept = other.kept
	}
	if other.reads != "" && l.reads != "durable" {
		l.reads = other.reads
	}
	return l
}

// BatchedReads reports whether the record of a call that only reads may become durable up to 10 ms after its answer: a file
// says so, and none says otherwise.
func (p *Policy) BatchedReads() bool {
	v, ok := p.version2()
	return ok && v.ledger.reads == "batched"
}

// requireRule is the id under which a call is denied that lacks what the policy requires.
const requireRule = "require"

// requirement is what a policy requires of the rules that allow calls which are not read-only.
type requirement struct {
	key, verify bool
	observe     bool // it is not enforced
}

// required returns what is required by all files together: what is enforced, or what is only observed, too.
func (v *version2) required(observed bool) requirement {
	var sum requirement
	for _, q := range v.requires {
		if observed || !q.observe {
			sum.key, sum.verify = sum.key || q.key, sum.verify || q.verify
		}
	}
	return sum
}

func (q requirement) nothing() bool { return !q.key && !q.verify }

// metBy reports whether terms have what is required. What a hook looks for verifies nothing that the gate carries out.
func (q requirement) metBy(t Terms) bool {
	return t.ReadOnly || (!q.key || t.Key != "") && (!q.verify || t.verifies())
}

// unmet says what the rules that speak of a call lack of what is required. It is asked of calls that the gate carries out:
// who carries out a call of a hook's host has no key for it.
func (c *call) unmet(observed, asked bool) (why Why, missing bool) {
	if len(c.v.requires) == 0 || c.req.Method != toolCall && c.req.Method != "" {
		return Why{}, false
	}
	q := c.v.required(observed)
	if q.nothing() {
		return Why{}, false
	}
	t := c.terms(observed, asked)
	if q.metBy(t) {
		return Why{}, false
	}
	reason := "the policy requires a key by which a retry is known, and no rule that allows this call names one"
	if q.verify && !t.verifies() {
		reason = "the policy requires that what a call did is verified, and no rule that allows this call says how"
	}
	return Why{Rule: requireRule, Reason: reason, Hidden: !c.visible()}, true
}

// limitOf returns the rule's limit as it counts for a call.
func (r *placed) limitOf(req *Request) Limit {
	l := r.limit
	l.Rule, l.Bucket = r.name, r.name
	if len(r.limitBy) == 0 {
		return l
	}
	sum := sha256.New()
	for _, by := range r.limitBy {
		value := req.Principal
		switch {
		case by == "tenant":
			value = req.Tenant
		case by == "tool" && isToolCall(req.Method):
			value = req.Tool
		case by == "tool": // of URIs, whoever asks may think up any number
			value = req.Method
		}
		fmt.Fprintf(sum, "%s %d %s\n", by, len(value), value)
	}
	l.Bucket += "/" + strings.Join(r.limitBy, "+") + "/" + hex.EncodeToString(sum.Sum(nil)[:16])
	return l
}
