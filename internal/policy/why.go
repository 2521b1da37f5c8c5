package policy

import (
	"strings"

	"sallyport/internal/effects"
)

// whyStrict explains the decision of a rule that denies or asks.
func (c *call) whyStrict(v verdict) Why {
	why := Why{Rule: v.rule.name, Hidden: v.decision == Deny && !c.visible()}
	if v.rule.broken != nil {
		broken, _ := v.rule.broken.check(c.req.Args)
		why.Reason = broken.Reason
		return why
	}
	reason := v.rule.reason
	switch {
	case v.match == effects.Maybe && reason != "" && v.effect >= 0 && c.req.Effects[v.effect].Opaque == "":
		why.Reason = ended(reason) + " Here perhaps, which cannot be told before the call runs: " + c.seen(v)
	case v.match == effects.Maybe && reason != "" && v.effect < 0:
		why.Reason = ended(reason) + " Whether this is such a call cannot be told before it runs."
	case v.match == effects.Maybe:
		why.Reason = c.doubt(v)
	case v.aside:
		why.Reason = "this would take sallyport's own files along: " + c.seen(v)
	case reason != "" && v.effect < 0:
		why.Reason = reason
	case reason != "": // which part of a long call it is about, the rule's own words do not say
		why.Reason = ended(reason) + " Here: " + c.seen(v)
	case v.effect < 0:
		why.Reason = v.rule.sentence(v.decision, "this call")
	default:
		why.Reason = v.rule.sentence(v.decision, describe(&c.req.Effects[v.effect], v.pattern))
	}
	return why
}

// seen names the effect that a rule is about.
func (c *call) seen(v verdict) string {
	what := describe(&c.req.Effects[v.effect], v.pattern)
	if _, ok := v.pattern.(*runPattern); ok {
		return "running " + what
	}
	return what
}

// ended returns a sentence with its full stop.
func ended(sentence string) string {
	if strings.HasSuffix(sentence, ".") || strings.HasSuffix(sentence, "!") || strings.HasSuffix(sentence, "?") {
		return sentence
	}
	return sentence + "."
}

// doubt says what cannot be told before the call runs.
func (c *call) doubt(v verdict) string {
	if v.effect < 0 {
		return v.rule.sentence(v.rule.decision, "calls like this one") + ", and whether this is one cannot be told before it runs"
	}
	e := &c.req.Effects[v.effect]
	if e.Opaque != "" {
		return c.unread(e)
	}
	return v.rule.sentence(v.rule.decision, describe(e, v.pattern)) + ", and whether this call does that cannot be told before it runs"
}

// unread says what of a call cannot be read, what that has to do with the policy, and what would help.
func (c *call) unread(e *effects.Effect) string {
	reason := "what this call does cannot be read: " + e.Opaque + "; the policy has rules about " + kindInWords(e.Kind)
	switch {
	case strings.HasPrefix(e.Opaque, "the program "), strings.HasPrefix(e.Opaque, "the command "):
		reason += ". Write the name of the program out"
	case strings.HasPrefix(e.Opaque, "code "):
		reason += ". Write the code out, or save it in a file, read that, and run it then"
	}
	return reason
}

func kindInWords(kind effects.Kind) string {
	switch kind {
	case effects.Run:
		return "commands"
	case effects.Read:
		return "reading of files"
	case effects.Write:
		return "writing of files"
	case effects.Connect:
		return "connections"
	default:
		return "agents"
	}
}

// whyDefault explains a decision of the default.
func (c *call) whyDefault(v verdict) Why {
	why := Why{Rule: defaultRule}
	switch {
	case v.decision == Allow:
		why.Reason = "no rule of the policy speaks against it"
	case v.effect >= 0:
		what := c.left(v.effect)
		if why.Reason = "no rule of the policy allows " + what; v.decision == Ask {
			why.Reason = "the policy asks first about what no rule allows: " + what
		}
	case v.decision == Ask:
		why.Reason = "the policy asks first about what no rule allows"
	default:
		if !c.visible() {
			return c.unlisted()
		}
		why.Reason = "no rule of the policy allows this call"
	}
	why.Hidden = v.decision == Deny && !c.visible()
	return why
}

// visible reports whether another request like this one by the same caller, with other arguments, could be allowed.
func (c *call) visible() bool {
	who := Who{Principal: c.req.Principal, Tenant: c.req.Tenant}
	if isToolCall(c.req.Method) {
		return c.v.visible(&who, c.req.Tool)
	}
	return c.v.methodVisible(&who, c.req.Method)
}

// unlisted is the answer where no rule speaks of such a request.
func (c *call) unlisted() Why {
	if isToolCall(c.req.Method) {
		return unlisted
	}
	return unlistedMethod
}

// left names an effect that no rule covers.
func (c *call) left(i int) string {
	e := &c.req.Effects[i]
	if e.Opaque != "" {
		return "what cannot be read: " + e.Opaque
	}
	return describe(e, nil)
}
