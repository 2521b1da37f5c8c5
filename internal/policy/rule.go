package policy

import (
	"fmt"
	"strings"

	"sallyport/internal/effects"
)

// rule is one rule of a policy, compiled. Where a rule says nothing, it means any.
type rule struct {
	id       string
	decision Decision
	observe  bool // not enforced

	// Which calls it speaks of.
	methods, tools, hosts, principals, tenants []glob
	args                                       []argument
	when                                       *condition
	broken                                     *argRule // version 1: calls that break this rule

	// Which effects of such a call it speaks of.
	keyed         bool                        // some, rather than the call as it is
	harmless      func(*effects.Command) bool // of a built-in rule: these commands are none of those that it speaks of
	runs          []*runPattern
	reads, writes []*pathPattern
	connects      []*hostPattern
	spawns        []glob

	limit      Limit    // of an Allow; zero if it has none
	limitBy    []string // what is counted apart: limitBy reads it
	skipPrompt bool
	terms      Terms // of an Allow or Ask: without Rule
	reason     string
}

// speaksOf reports whether the rule speaks of a kind of effect.
func (r *rule) speaksOf(kind effects.Kind) bool {
	switch kind {
	case effects.Run:
		return len(r.runs) > 0
	case effects.Read:
		return len(r.reads) > 0
	case effects.Write:
		return len(r.writes) > 0
	case effects.Connect:
		return len(r.connects) > 0
	default:
		return len(r.spawns) > 0
	}
}

// inScope reports whether the rule speaks of requests of that method, of calls of that tool, by that principal, from that
// host.
func (r *rule) inScope(req *Request) bool {
	return r.speaksOfMethod(req.Method) && (matchesAny(r.tools, req.Tool) || !isToolCall(req.Method)) &&
		matchesAny(r.hosts, req.Host) && matchesAny(r.principals, req.Principal) && matchesAny(r.tenants, req.Tenant)
}

// blanket reports whether the rule speaks of all calls of its tools, and all requests of its methods, whoever makes them
// and whatever they do.
func (r *rule) blanket() bool {
	return r.principals == nil && r.tenants == nil && r.blanketButFor()
}

// blanketButFor is blanket for those of whom the rule speaks.
func (r *rule) blanketButFor() bool {
	return !r.keyed && r.hosts == nil && r.args == nil && r.when == nil && r.broken == nil
}

// answer is how surely something is so.
type answer uint8

const (
	no      answer = iota
	perhaps        // it cannot be told before the call runs
	failed         // it cannot be told at all
	yes
)

// applies says whether the rule's arguments and its condition fit the call.
func (r *rule) applies(c *call) answer { return r.appliesTo(c, r.decision == Allow) }

// appliesTo is applies for a rule that allows, or for any other.
func (r *rule) appliesTo(c *call, allows bool) answer {
	if r.broken != nil {
		if _, ok := r.broken.check(c.req.Args); ok {
			return no
		}
		return yes
	}
	worst := yes
	for i := range r.args {
		switch r.args[i].check(c, allows) {
		case no:
			return no
		case failed, perhaps:
			worst = failed
		}
	}
	if r.when == nil {
		return worst
	}
	return min(worst, r.when.check(c, allows))
}

// spares reports whether a command is none of those that a built-in rule means.
func (r *rule) spares(cmd *effects.Command) bool { return r.harmless != nil && r.harmless(cmd) }

// covers reports whether an effect is surely one that the rule allows.
func (r *rule) covers(e *effects.Effect, program string, w *effects.World) bool {
	switch {
	case !r.keyed:
		return true
	case e.Opaque != "":
		return false
	}
	switch e.Kind {
	case effects.Run:
		for _, l := range r.runs {
			if known := programOf(l); known == "" || known == program {
				if p, err := l.get(); err == nil && p.Covers(e.Command) {
					return true
				}
			}
		}
	case effects.Read:
		return coversPath(r.reads, e, w)
	case effects.Write:
		return coversPath(r.writes, e, w)
	case effects.Connect:
		for _, l := range r.connects {
			if p, err := l.get(); err == nil && p.Match(e.Host) == effects.Yes {
				return true
			}
		}
	case effects.Spawn:
		return r.spawns != nil && matchesAny(r.spawns, e.Agent)
	}
	return false
}

// coversPath: what is moved or deleted with all that is below it must be in a folder of which the pattern allows all.
func coversPath(patterns []*pathPattern, e *effects.Effect, w *effects.World) bool {
	for _, l := range patterns {
		if p, err := l.get(); err == nil && p.Covers(e.Path, w) && (!e.Deep || endsInAnyFolders(p.String())) {
			return true
		}
	}
	return false
}

// endsInAnyFolders reports whether a pattern speaks of all that is below what it speaks of.
func endsInAnyFolders(pattern string) bool {
	return pattern == "**" || strings.HasSuffix(pattern, "/**") || strings.HasSuffix(pattern, "/")
}

// pattern is what all patterns have.
type pattern interface{ String() string }

// sentence says what a rule makes of something.
func (r *placed) sentence(d Decision, what string) string {
	if d == Deny {
		return "rule " + r.name + " denies " + what
	}
	return "rule " + r.name + " asks first about " + what
}

// describe names an effect in words. A command is named by the policy's own pattern, since its words may hold anything.
func describe(e *effects.Effect, p pattern) string {
	switch e.Kind {
	case effects.Read:
		return "reading " + quoted(e.Path.Text)
	case effects.Write:
		if e.Deep {
			return "changing or deleting all of " + quoted(e.Path.Text)
		}
		return "writing " + quoted(e.Path.Text)
	case effects.Connect:
		return "connecting to " + quoted(e.Host)
	case effects.Spawn:
		return "starting an agent " + quoted(e.Agent)
	}
	switch p := p.(type) {
	case mention:
		return "code that speaks of " + quoted(p.String())
	case pattern:
		return quoted(p.String())
	}
	switch {
	case e.Command != nil:
		return "running " + quoted(e.Command.Program())
	}
	return "running a command"
}

// quoted quotes a text for a sentence and cuts a long one short.
func quoted(text string) string {
	const most = 120
	cut := ""
	if len(text) > most {
		text, cut = strings.ToValidUTF8(text[:most], ""), "..."
	}
	return fmt.Sprintf("%q", strings.ReplaceAll(known(text), "\uFFFD", "…")) + cut
}
