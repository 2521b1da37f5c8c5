package policy

// Judgment is what a policy makes of one request. It is for whoever asks for more than the decision: what it is made of is found
// out once. It should not be kept for longer than the request is judged.
type Judgment struct {
	Decision Decision
	Why      Why

	call *call // nil by a policy that is not of version 2
}

// Judge decides a request, as Evaluate does.
func (p *Policy) Judge(r Request) Judgment {
	v, ok := p.version2()
	if !ok {
		decision, why := p.Evaluate(r)
		return Judgment{Decision: decision, Why: why}
	}
	c := v.newCall(&r)
	decision, why := c.decide()
	return Judgment{decision, why, c}
}

// Terms returns the terms of a call that is allowed, or that the policy asks about. Of version 1 they are the zero Terms.
func (j Judgment) Terms() Terms {
	if j.call == nil {
		return Terms{}
	}
	return j.call.terms(false, j.call.asked())
}

// Limits returns the limits of the rules that allow the call. Whoever carries it out takes a token of each first.
func (j Judgment) Limits() []Limit {
	if j.call == nil {
		return nil
	}
	return j.call.limits()
}
