package policy

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"sallyport/internal/effects"
)

// index finds the rules that can have to do with an effect.
type index struct {
	strict   []int // the rules that deny and ask
	lenient  []int // the rules that can lift the default: those that allow first, then those that ask
	limited  []int // those that allow with a limit, and are enforced
	observes bool  // something is not enforced
	skips    bool  // some rule spares the host's prompt
	terms    bool  // some rule says how calls are to be carried out
	asks     bool  // a call may be asked about

	// The patterns of the strict rules.
	runs     []runEntry // by program; the first of them have none
	anyRun   int        // how many have none
	paths    [2][]pathEntry
	connects []hostEntry
	spawns   []spawnEntry
}

type runEntry struct {
	program string
	pattern *runPattern
	rule    int
	place   int // among all: of two that match alike, the first is told
}

type pathEntry struct {
	pattern *pathPattern
	rule    int
}

type hostEntry struct {
	pattern *hostPattern
	rule    int
}

type spawnEntry struct {
	pattern glob
	rule    int
}

// The two kinds of paths in an index.
const (
	readPaths = iota
	writePaths
)

func (v *version2) buildIndex() {
	x := &v.index
	for i := range v.rules {
		r := &v.rules[i]
		x.observes = x.observes || r.observe
		if r.decision == Allow {
			if r.lifts {
				x.lenient = append(x.lenient, i)
				if r.limit.Calls != 0 && !r.observe {
					x.limited = append(x.limited, i)
				}
				x.skips = x.skips || r.skipPrompt
				x.terms = x.terms || !r.terms.none()
			}
			continue
		}
		x.strict = append(x.strict, i)
		x.terms = x.terms || !r.terms.none()
		x.asks = x.asks || r.decision == Ask || r.keyed || r.when != nil // which may make an ask of a denial
		x.add(r.rule, i)
	}
	for _, i := range x.strict {
		if r := &v.rules[i]; r.decision == Ask && r.lifts {
			x.lenient = append(x.lenient, i)
		}
	}
	for _, f := range v.defaults {
		x.observes = x.observes || f.observe
		x.asks = x.asks || f.decision == Ask
	}
	for _, q := range v.requires {
		x.observes = x.observes || q.observe
	}
	slices.SortFunc(x.runs, func(a, b runEntry) int {
		return cmp.Or(strings.Compare(a.program, b.program), a.place-b.place)
	})
	for x.anyRun < len(x.runs) && x.runs[x.anyRun].program == "" {
		x.anyRun++
	}
}

func (x *index) add(r *rule, i int) {
	for _, p := range r.runs {
		x.runs = append(x.runs, runEntry{programOf(p), p, i, len(x.runs)})
	}
	for _, p := range r.reads {
		x.paths[readPaths] = append(x.paths[readPaths], pathEntry{p, i})
	}
	for _, p := range r.writes {
		x.paths[writePaths] = append(x.paths[writePaths], pathEntry{p, i})
	}
	for _, p := range r.connects {
		x.connects = append(x.connects, hostEntry{p, i})
	}
	for _, p := range r.spawns {
		x.spawns = append(x.spawns, spawnEntry{p, i})
	}
}

// scan finds what the rules that deny and ask have to do with each effect.
func (c *call) scan() {
	if c.scanned {
		return
	}
	c.scanned = true
	x := &c.v.index
	for i := range c.req.Effects {
		e := &c.req.Effects[i]
		if e.Opaque != "" {
			if c.opaque[e.Kind] == 0 {
				c.opaque[e.Kind] = i + 1
			}
			continue
		}
		switch e.Kind {
		case effects.Run:
			c.scanRun(i, e.Command)
		case effects.Read:
			c.scanPaths(x.paths[readPaths], i, e)
		case effects.Write:
			c.scanPaths(x.paths[writePaths], i, e)
		case effects.Connect:
			for j := range x.connects {
				if ref := &x.connects[j]; c.wants(ref.rule) {
					m := effects.Maybe
					if p, err := ref.pattern.get(); err == nil {
						m = p.Match(e.Host)
					}
					c.note(ref.rule, m, i, nil)
				}
			}
		case effects.Spawn:
			for j := range x.spawns {
				if ref := &x.spawns[j]; ref.pattern.match(e.Agent) {
					c.note(ref.rule, effects.Yes, i, nil)
				}
			}
		}
	}
}

func (c *call) scanRun(i int, cmd *effects.Command) {
	x := &c.v.index
	if cmd == nil {
		return
	}
	program := cmd.Program()
	if cmd.Code != "" || program == "" || known(program) != program {
		c.tryRuns(x.runs, i, cmd)
	} else {
		c.tryRuns(x.runs[:x.anyRun], i, cmd)
		rest := x.runs[x.anyRun:]
		from := sort.Search(len(rest), func(j int) bool { return rest[j].program >= program })
		to := from
		for to < len(rest) && rest[to].program == program {
			to++
		}
		c.tryRuns(rest[from:to], i, cmd)
	}
	if cmd.Code == "" {
		return
	}
	for kind := range x.paths {
		for j := range x.paths[kind] {
			ref := &x.paths[kind][j]
			if c.found[ref.rule].match != effects.No || !c.wants(ref.rule) {
				continue
			}
			if p, err := ref.pattern.get(); err != nil || p.In(cmd.Code, c.world()) {
				c.note(ref.rule, effects.Maybe, i, mention{ref.pattern})
			}
		}
	}
}

func (c *call) tryRuns(entries []runEntry, i int, cmd *effects.Command) {
	for j := range entries {
		ref := &entries[j]
		if !c.wants(ref.rule) {
			continue
		}
		m := effects.Maybe
		if p, err := ref.pattern.get(); err == nil {
			m = p.Match(cmd)
		}
		if m != effects.No && !c.v.rules[ref.rule].spares(cmd) {
			c.note(ref.rule, m, i, ref.pattern)
		}
	}
}

func (c *call) scanPaths(entries []pathEntry, i int, e *effects.Effect) {
	for j := range entries {
		if ref := &entries[j]; c.wants(ref.rule) {
			m := effects.Maybe
			if p, err := ref.pattern.get(); err == nil {
				m = p.Match(e.Path, e.Deep, c.world())
			}
			c.note(ref.rule, m, i, nil)
		}
	}
}

// wants reports whether a rule could still be found to match better.
func (c *call) wants(rule int) bool {
	f := &c.found[rule]
	return !f.out && f.match != effects.Yes
}

func (c *call) note(rule int, m effects.Match, effect int, p pattern) {
	if f := &c.found[rule]; m > f.match {
		f.match, f.effect, f.pattern = m, int32(effect), p
	}
}

// mention is a path that code in another language speaks of.
type mention struct{ path *pathPattern }

func (m mention) String() string { return m.path.String() }
