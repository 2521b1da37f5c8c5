package effects

import "strings"

// maxRouteLooks is how many looks at the disk one pattern has at least, whatever the call has used.
const maxRouteLooks = 200

// Match says whether the pattern speaks of a path in any of its forms, for rules that deny or ask. Case does not count.
// deep says that the call moves or deletes everything below the path too. ~ and ${workspace} are those of the world.
//
// A path whose unknown parts leave no doubt is matched surely: of "$d/.env" the last name is known. One that could be
// meant is matched as Maybe if its own characters say so where the pattern has its last name: .e* could be .env, and
// "$f", * and *.yaml alone are no reason for an alarm. Nor is a common name in a folder that is not known, where the
// pattern begins in one that is: "$d/config.json" is hardly ~/config.json.
func (p *PathPattern) Match(path Path, deep bool, w *World) Match {
	routes := p.in(w)
	best := No
	if path.vague || len(path.Forms) == 0 {
		best = Maybe
	}
	for _, f := range path.split() {
		for i := range routes {
			if best = max(best, routes[i].match(&f, deep, path.wide)); best == Yes {
				return Yes
			}
		}
	}
	for _, f := range path.folders {
		for i := range routes {
			if deep && routes[i].match(&f, true, false) == Yes {
				return Yes
			}
		}
	}
	return best
}

// Covers reports whether every form of a path is surely one that the pattern allows, its case being that of the pattern.
// Where a link leads is not what the pattern says, but for the workspace and the home folder themselves.
func (p *PathPattern) Covers(path Path, w *World) bool {
	if path.vague || path.wide || len(path.Forms) == 0 {
		return false
	}
	routes := p.in(w)
	for _, f := range path.split() {
		if !covered(&f, routes) {
			return false
		}
	}
	for _, f := range path.folders {
		if !covered(&f, routes) {
			return false
		}
	}
	return true
}

func covered(f *form, routes []route) bool {
	if f.unknown {
		for _, name := range f.names { // .* may be ..
			if strings.Contains(name, unknownText) || name[0] == '.' && hasUnknown(name) {
				return false
			}
		}
	}
	for i := range routes {
		r := &routes[i]
		if !r.byLink && !r.guessed && r.means(f.names, false) {
			return true
		}
	}
	return false
}

// match matches one form. wide says that what its wildcards stand for was not all looked at.
func (r *route) match(f *form, deep, wide bool) Match {
	switch {
	case r.means(f.folded, true), deep && r.above(f):
		return Yes
	case !f.unknown:
		return No
	}
	decisive := r.lastText()
	if wide {
		decisive = -1
	}
	elements := f.split()
	if decisive >= 0 && !r.at(decisive).meetsAny(elements) {
		return No
	}
	if r.couldMean(elements, decisive) {
		return Maybe
	}
	return No
}

// means reports whether the names of a path are surely ones of which the route speaks.
func (r *route) means(names []string, folded bool) bool {
	if len(names) < len(r.base) || !lastCouldMatch(r.segments, names[len(r.base):], folded) {
		return false
	}
	for i := range r.base {
		if !r.base[i].matches(names[i], folded) {
			return false
		}
	}
	return matchSegments(r.segments, names[len(r.base):], folded)
}

// at returns a segment, those of the folder in which the route begins being the first.
func (r *route) at(i int) *segment {
	if i < len(r.base) {
		return &r.base[i]
	}
	return &r.segments[i-len(r.base)]
}

// length returns how many segments there are.
func (r *route) length() int { return len(r.base) + len(r.segments) }

// lastText returns the last segment that has characters of its own, or -1.
func (r *route) lastText() int { return len(r.base) + r.decisive }

// meetsAny reports whether any element of a path could be the name that the segment means, and says so itself.
func (s *segment) meetsAny(elements []element) bool {
	for i := range elements {
		e := &elements[i]
		if !e.any && s.meets(e.name, true) || e.joined != "" && s.meets(e.joined, true) {
			return true
		}
	}
	return false
}

// above reports whether a form is a folder above what the pattern speaks of. Patterns that begin with ** are not asked:
// any folder could be above what they mean.
func (r *route) above(f *form) bool {
	if r.root == anywhere || len(f.folded) > len(r.base)+r.fixed {
		return false
	}
	for i, name := range f.folded {
		if !r.at(i).matches(name, true) {
			return false
		}
	}
	return true
}

// lastCouldMatch reports whether the last name is one that the last segment means: the quick answer for most paths.
func lastCouldMatch(segments []segment, names []string, folded bool) bool {
	if len(names) == 0 || len(segments) == 0 {
		return true
	}
	last, name := &segments[len(segments)-1], names[len(names)-1]
	return last.folders || last.matches(name, folded) || last.endsWith(name, folded)
}

// matchSegments matches the names of a path, of which the last ** alone is ever tried again. What is not known of a name
// is only what a wildcard means.
func matchSegments(segments []segment, names []string, folded bool) bool {
	s, n := 0, 0
	againS, againN := -1, 0
	for n < len(names) {
		switch {
		case s < len(segments) && segments[s].folders:
			s++
			if s == len(segments) {
				return true
			}
			againS, againN = s, n
		case s < len(segments) && (segments[s].matches(names[n], folded) || s == againS && segments[s].endsWith(names[n], folded)):
			s++
			n++
		case againS >= 0:
			againN++
			s, n = againS, againN
		default:
			return false
		}
	}
	return s == len(segments) || s == len(segments)-1 && segments[s].folders
}

// endsWith reports whether a name that holds unknown text, slashes too, surely ends in one that the segment means, which
// stands behind ** and begins with *.
func (s *segment) endsWith(name string, folded bool) bool {
	i := strings.LastIndexByte(name, anyText)
	if i < 0 || s.tokens == nil || s.tokens[0].kind != tokenAny {
		return false
	}
	return matchTokens(s.tokens, string([]byte{anyName})+name[i+1:], folded)
}

// split returns the elements of a form.
func (f *form) split() []element {
	if f.elements != nil {
		return f.elements
	}
	return elementsOf(f.folded)
}

// element is a name of a path, or what an unknown text may be: any names, and parts of names at its ends.
type element struct {
	any    bool
	name   string
	joined string // what this element and the two behind it are if the text between holds no slash
}

// elementsOf splits names at what may hold slashes.
func elementsOf(names []string) []element {
	elements := make([]element, 0, len(names)+2)
	for _, name := range names {
		first := strings.IndexByte(name, anyText)
		if first < 0 {
			elements = append(elements, element{name: name})
			continue
		}
		last := strings.LastIndexByte(name, anyText)
		if first > 0 {
			before := element{name: name[:first+1]}
			if last < len(name)-1 {
				before.joined = name
			}
			elements = append(elements, before)
		}
		elements = append(elements, element{any: true})
		if last < len(name)-1 {
			elements = append(elements, element{name: name[last:]})
		}
	}
	return elements
}

const (
	reached = 1 << iota // the segments before can have come so far
	placed              // what stands directly before is no text that is not known
)

// couldMean reports whether a path with unknown parts could be one of which the route speaks, the decisive segment being
// supported by characters of the path. Row s of the table says how far in the path the segments before s can have come.
func (r *route) couldMean(elements []element, decisive int) bool {
	var space [64]uint8
	table := space[:]
	if need := 2 * (len(elements) + 1); need > len(table) {
		table = make([]uint8, need)
	}
	row, next := table[:len(elements)+1], table[len(elements)+1:2*(len(elements)+1)]
	row[0] = reached | placed
	for s := range r.length() {
		clear(next)
		for e, state := range row {
			if state != 0 {
				r.advance(s, s == decisive, elements, e, row, next)
			}
		}
		row, next = next, row
	}
	for e, element := range elements { // what is left may be nothing
		if element.any {
			row[e+1] |= row[e]
		}
	}
	return row[len(elements)] != 0
}

// advance goes on from an element: by a segment, into the next row, or by the element alone.
func (r *route) advance(index int, decisive bool, elements []element, e int, row, next []uint8) {
	s := r.at(index)
	if s.folders {
		next[e] |= reached | placed
		if e < len(elements) {
			row[e+1] |= reached
		}
		return
	}
	if e == len(elements) {
		return
	}
	element := &elements[e]
	if element.any {
		row[e+1] |= reached
		if !decisive {
			next[e] |= reached
		}
		return
	}
	if decisive && row[e]&placed == 0 && !r.speaks(index, elements, e) {
		return
	}
	if s.meets(element.name, decisive) {
		next[e+1] |= reached | placed
	}
	if element.joined != "" && s.meets(element.joined, decisive) {
		next[e+3] |= reached | placed
	}
}

// speaks reports whether a name in a folder that is not known says by itself that it is the one of a segment: always
// where the pattern knows no folder either, and otherwise a hidden name, or one with another below it that the pattern
// means too.
func (r *route) speaks(index int, elements []element, e int) bool {
	if r.root == anywhere || r.at(index).isHidden() {
		return true
	}
	return index+1 < r.length() && r.at(index+1).folders && e+1 < len(elements) && !elements[e+1].any
}

// meets reports whether a folded name is, or could be, one that the segment means.
func (s *segment) meets(name string, supported bool) bool {
	if !hasUnknown(name) {
		return s.matches(name, true)
	}
	if supported {
		return s.could(name, startSupport)
	}
	return s.could(name, noSupport)
}

// in returns the routes of a pattern in a world, their roots written out, and those to which links in it lead.
func (p *PathPattern) in(w *World) []route {
	if !p.rooted {
		return p.routes
	}
	if w == nil {
		w = &World{}
	}
	d := w.look()
	if routes, ok := d.routes[p]; ok {
		return routes
	}
	looks := d.looks
	d.looks = max(looks, maxRouteLooks)
	routes := make([]route, 0, len(p.routes)*max(1, len(w.Homes)))
	for i := range p.routes {
		routes = p.routes[i].rooted(w, d, routes)
	}
	d.looks = min(looks, d.looks)
	if d.routes == nil {
		d.routes = make(map[*PathPattern][]route, 32)
	}
	d.routes[p] = routes
	return routes
}

// rooted appends a route in each folder that its root may be.
func (r *route) rooted(w *World, d *disk, routes []route) []route {
	if r.root == anywhere {
		return append(routes, *r)
	}
	bases := d.bases(r.root, w)
	if len(bases) == 0 {
		guessed := route{root: anywhere, guessed: true, segments: append([]segment{{folders: true}}, r.segments...)}
		return append(routes, guessed.measured())
	}
	for i := range bases {
		routes = r.from(&bases[i], d, routes)
	}
	return routes
}

// base is a folder in which patterns begin.
type base struct {
	path     string // native, or "" if links in it are not to be followed
	segments []segment
}

// bases returns the folders that a root may be: those of the world, what they are with their links followed, and on the
// drives of Windows.
func (d *disk) bases(root root, w *World) []base {
	known := &d.roots[root]
	if known.found {
		return known.bases
	}
	known.found = true
	var dirs []string
	switch root {
	case fromSlash:
		dirs = []string{"/"}
	case fromHome:
		dirs = w.Homes
	case fromWorkspace:
		if w.Workspace != "" {
			dirs = []string{w.Workspace}
		}
	}
	for _, dir := range dirs {
		dir = slashed(dir)
		known.bases = appendBase(known.bases, clean(dir))
		if isNative(dir) && root != fromSlash && !d.isPlain([]byte(dir)) {
			places, _ := d.follow(dir, []string{""})
			known.bases = appendBase(known.bases, places[len(places)-1])
		}
	}
	return known.bases
}

// appendBase appends a folder, and what it is on a drive of Windows, unless it is there already.
func appendBase(bases []base, path string) []base {
	for i := range bases {
		if bases[i].path == path {
			return bases
		}
	}
	bases = append(bases, base{path: path, segments: literals(path)})
	if drive, ok := driveOf(path); ok {
		bases = append(bases, base{segments: literals(drive)})
	}
	return bases
}

// from appends a route that begins in a folder, and what is behind the links in its literal names.
func (r *route) from(b *base, d *disk, routes []route) []route {
	here := *r
	here.base = b.segments
	routes = append(routes, here)
	if r.literal == 0 || !isNative(b.path) {
		return routes
	}
	d.path = append(d.path[:0], strings.TrimSuffix(b.path, "/")...)
	d.path = r.appendLiterals(d.path)
	if d.isPlain(d.path) {
		return routes
	}
	places, _ := d.follow(string(d.path), []string{""})
	for _, place := range places {
		linked := route{root: r.root, byLink: true, base: literals(place), segments: r.segments[r.literal:]}
		routes = appendRoute(routes, linked.measured())
	}
	return routes
}

// appendLiterals appends the path of the names without wildcards at the start of the route.
func (r *route) appendLiterals(path []byte) []byte {
	for i := range r.segments[:r.literal] {
		path = append(append(path, '/'), r.segments[i].name...)
	}
	return path
}

// literals returns the segments of a clean path.
func literals(path string) []segment {
	names := splitNames(path)
	segments := make([]segment, len(names))
	for i, name := range names {
		segments[i] = literalSegment(name)
	}
	return segments
}

// appendRoute appends a route unless the same is there already.
func appendRoute(routes []route, r route) []route {
	for i := range routes {
		if routes[i].sameAs(&r) {
			return routes
		}
	}
	return append(routes, r)
}

func (r *route) sameAs(other *route) bool {
	if r.length() != other.length() {
		return false
	}
	for i := range r.length() {
		a, b := r.at(i), other.at(i)
		if a.name != b.name || a.folders != b.folders || (a.tokens == nil) != (b.tokens == nil) ||
			a.tokens != nil && &a.tokens[0] != &b.tokens[0] {
			return false
		}
	}
	return true
}
