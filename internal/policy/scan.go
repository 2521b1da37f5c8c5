package policy

import (
	"cmp"
	"slices"
	"sort"

	"sallyport/internal/effects"
)

// index finds the rules that can have to do with an effect.
type index struct {
	strict   []int // the rules that deny and ask
	lenient  []int // the rules that can lift the default: those that allow first, then those that ask
	observes bool  // something is not enforced
	skips    bool  // some rule spares the host's prompt

	// The patterns of the strict rules.
	runs     []runEntry // by program; the first of them have none
	anyRun   int        // how many have none
	paths    [2][]pathEntry
	connects []hostEntry
	spawns   []spawnEntry
}

type runEntry struct {
	program string
	pattern *effects.RunPattern
	rule    int
}

type pathEntry struct {
	pattern *effects.PathPattern
	rule    int
}

type hostEntry struct {
	pattern *effects.HostPattern
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
				x.skips = x.skips || r.skipPrompt
			}
			continue
		}
		x.strict = append(x.strict, i)
		x.add(r.rule, i)
	}
	for _, i := range x.strict {
		if r := &v.rules[i]; r.decision == Ask && r.lifts {
			x.lenient = append(x.lenient, i)
		}
	}
	for _, f := range v.defaults {
		x.observes = x.observes || f.observe
	}
	slices.SortStableFunc(x.runs, func(a, b runEntry) int { return cmp.Compare(a.program, b.program) })
	for x.anyRun < len(x.runs) && x.runs[x.anyRun].program == "" {
		x.anyRun++
	}
}

func (x *index) add(r *rule, i int) {
	for _, p := range r.runs {
		x.runs = append(x.runs, runEntry{p.Program(), p, i})
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
					c.note(ref.rule, ref.pattern.Match(e.Host), i, nil)
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
			if ref := &x.paths[kind][j]; c.found[ref.rule].match == effects.No && c.wants(ref.rule) && ref.pattern.In(cmd.Code, c.world()) {
				c.note(ref.rule, effects.Maybe, i, mention{ref.pattern, kind})
			}
		}
	}
}

func (c *call) tryRuns(entries []runEntry, i int, cmd *effects.Command) {
	for j := range entries {
		if ref := &entries[j]; c.wants(ref.rule) {
			if m := ref.pattern.Match(cmd); m != effects.No {
				c.note(ref.rule, m, i, ref.pattern)
			}
		}
	}
}

func (c *call) scanPaths(entries []pathEntry, i int, e *effects.Effect) {
	for j := range entries {
		if ref := &entries[j]; c.wants(ref.rule) {
			c.note(ref.rule, ref.pattern.Match(e.Path, e.Deep, c.world()), i, nil)
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
type mention struct {
	path *effects.PathPattern
	kind int
}

func (m mention) String() string { return m.path.String() }
