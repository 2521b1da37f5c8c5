package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"sallyport/internal/output"
)

// MetaKey, as the key of a mutation, names the member of a request's _meta, rather than an argument.
const MetaKey = "sallyport/request_id"

// Terms are what the rules that allow a call say of how it is to be carried out.
type Terms struct {
	// ReadOnly says that the call has no effect: rules that allow it and say so cover all of it, and none says that it is
	// a mutation.
	ReadOnly bool

	// Key is the argument that names the mutation, or MetaKey; "" if no rule names one. Where two rules name different
	// ones the first in the file counts.
	Key  string
	Rule string // the id of the rule that names the key

	// Idempotent says that the upstream takes the same mutation twice without harm, by the operator's own word: one whose
	// outcome is not known may be sent again. All rules that allow the call and name a key say so.
	Idempotent bool

	// Output is what is asked of the call's result, by the files and by all rules that allow the call together.
	Output output.Rule
}

// Terms returns the terms of a call that is allowed. Of version 1 they are the zero Terms.
func (p *Policy) Terms(r Request) Terms {
	v, ok := p.version2()
	if !ok {
		return Terms{}
	}
	return v.newCall(&r).terms(false)
}

// terms returns the terms of a call by the rules that are enforced, or by the observed ones too.
func (c *call) terms(observed bool) Terms {
	var t Terms
	for _, rule := range c.v.outputs {
		t.Output = t.Output.Stricter(rule)
	}
	if !c.v.index.terms {
		return t
	}
	var readers []int
	for _, i := range c.v.index.lenient {
		r := &c.v.rules[i]
		if r.decision != Allow || r.terms == (Terms{}) || r.observe && !observed || !c.surely(i) || r.keyed && !c.coversOne(r) {
			continue
		}
		t.Output = t.Output.Stricter(r.terms.Output)
		switch {
		case r.terms.ReadOnly:
			readers = append(readers, i)
		case r.terms.Key == "":
		case t.Key == "":
			t.Key, t.Rule, t.Idempotent = r.terms.Key, r.name, r.terms.Idempotent
		default:
			t.Idempotent = t.Idempotent && r.terms.Idempotent
		}
	}
	if t.Key == "" && readers != nil {
		covered, _ := c.coverAll(readers)
		t.ReadOnly = covered.rule != nil
	}
	return t
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

// metBy reports whether terms have what is required. Nothing can be verified yet.
func (q requirement) metBy(t Terms) bool {
	return t.ReadOnly || !q.verify && (!q.key || t.Key != "")
}

// unmet says what the rules that allow a call lack of what is required. It is asked of calls that the gate carries out: who
// carries out a call of a hook's host has no key for it.
func (c *call) unmet(observed bool) (why Why, missing bool) {
	if len(c.v.requires) == 0 || c.req.Method != toolCall && c.req.Method != "" {
		return Why{}, false
	}
	q := c.v.required(observed)
	if q.nothing() || q.metBy(c.terms(observed)) {
		return Why{}, false
	}
	reason := "the policy requires a key by which a retry is known, and no rule that allows this call names one"
	if q.verify {
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
