package effects

import "strings"

// maxRouteLooks is how many looks at the disk one pattern has at least, whatever the call has used.
const maxRouteLooks = 200

// Match says whether the pattern speaks of a path in any of its forms, for rules that deny or ask. Case does not count.
// deep says that the call moves or deletes everything below the path too. ~ and ${workspace} are those of the world.
//
// A path whose unknown parts leave no doubt is matched surely: of "$d/.env" the last name is known. One that could be
// meant is matched as Maybe if a character of its own says so where the pattern has its last name: .e* could be .env,
// and "$f" or * alone are no reason for an alarm.
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
		if !r.byLink && !r.guessed && matchSegments(r.segments, f.names, false) {
			return true
		}
	}
	return false
}

// match matches one form. wide says that what its wildcards stand for was not all looked at.
func (r *route) match(f *form, deep, wide bool) Match {
	switch {
	case matchSegments(r.segments, f.folded, true), deep && r.above(f):
		return Yes
	case !f.unknown:
		return No
	}
	decisive := r.decisive
	if wide {
		decisive = -1
	}
	elements := f.split()
	if decisive >= 0 && !r.segments[decisive].meetsAny(elements) {
		return No
	}
	if couldMatch(r.segments, elements, decisive) {
		return Maybe
	}
	return No
}

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
	if r.root == anywhere || len(f.folded) > r.fixed {
		return false
	}
	for i, name := range f.folded {
		if !r.segments[i].matches(name, true) {
			return false
		}
	}
	return true
}

// matchSegments matches the names of a path, of which the last ** alone is ever tried again. What is not known of a name
// is only what a wildcard means.
func matchSegments(segments []segment, names []string, folded bool) bool {
	if len(names) > 0 && len(segments) > 0 { // the quick answer for most
		last, name := &segments[len(segments)-1], names[len(names)-1]
		if !last.folders && !last.matches(name, folded) && !last.endsWith(name, folded) {
			return false
		}
	}
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

// couldMatch reports whether a path with unknown parts could be one that the segments mean, the decisive one being
// supported by characters of the path. Row s of the table says how far in the path the segments before s can have come.
func couldMatch(segments []segment, elements []element, decisive int) bool {
	row := make([]bool, len(elements)+1)
	next := make([]bool, len(elements)+1)
	row[0] = true
	for s := range segments {
		clear(next)
		for e, reached := range row {
			if reached {
				segments[s].advance(elements, e, s == decisive, row, next)
			}
		}
		row, next = next, row
	}
	for e, element := range elements { // what is left may be nothing
		row[e+1] = row[e+1] || row[e] && element.any
	}
	return row[len(elements)]
}

// advance goes on from an element: by the segment, into the next row, or by the element alone.
func (s *segment) advance(elements []element, e int, decisive bool, row, next []bool) {
	if s.folders {
		next[e] = true
		if e < len(elements) {
			row[e+1] = true
		}
		return
	}
	if e == len(elements) {
		return
	}
	element := &elements[e]
	if element.any {
		row[e+1] = true
		next[e] = next[e] || !decisive
		return
	}
	if s.meets(element.name, decisive) {
		next[e+1] = true
	}
	if element.joined != "" && s.meets(element.joined, decisive) {
		next[e+3] = true
	}
}

// meets reports whether a folded name is, or could be, one that the segment means.
func (s *segment) meets(name string, supported bool) bool {
	if !hasUnknown(name) {
		return s.matches(name, true)
	}
	return s.could(name, supported)
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
	for _, r := range p.routes {
		routes = r.rooted(w, d, routes)
	}
	d.looks = min(looks, d.looks)
	if d.routes == nil {
		d.routes = make(map[*PathPattern][]route)
	}
	d.routes[p] = routes
	return routes
}

// rooted appends a route in each folder that its root may be.
func (r route) rooted(w *World, d *disk, routes []route) []route {
	var dirs []string
	switch r.root {
	case anywhere:
		return append(routes, r)
	case fromSlash:
		dirs = []string{"/"}
	case fromHome:
		dirs = w.Homes
	case fromWorkspace:
		if w.Workspace != "" {
			dirs = []string{w.Workspace}
		}
	}
	if len(dirs) == 0 {
		return append(routes, r.below([]segment{{folders: true}}, route{root: anywhere, guessed: true}))
	}
	for _, dir := range dirs {
		dir = slashed(dir)
		bases := []string{clean(dir)}
		if isNative(dir) && r.root != fromSlash && !d.isPlain(dir) {
			places, _ := d.follow(dir, []string{""})
			bases = append(bases, places[len(places)-1])
		}
		for _, base := range bases {
			routes = r.from(base, d, routes)
		}
	}
	return routes
}

// from appends a route that begins in a folder, and what is behind the links in its literal names.
func (r route) from(base string, d *disk, routes []route) []route {
	routes = appendRoute(routes, r.below(d.literals(base), route{root: r.root}))
	if drive, ok := driveOf(base); ok {
		routes = appendRoute(routes, r.below(literals(drive), route{root: r.root}))
	}
	if r.literal == 0 || !isNative(base) {
		return routes
	}
	path := strings.TrimSuffix(base, "/") + r.literals()
	if d.isPlain(path) {
		return routes
	}
	places, _ := d.follow(path, []string{""})
	for _, place := range places {
		linked := route{root: r.root, segments: r.segments[r.literal:]}
		routes = appendRoute(routes, linked.below(literals(place), route{root: r.root, byLink: true}))
	}
	return routes
}

// literals returns the path of the names without wildcards at the start of the route.
func (r *route) literals() string {
	if r.literal == 1 {
		return "/" + r.segments[0].name
	}
	var b strings.Builder
	for _, s := range r.segments[:r.literal] {
		b.WriteByte('/')
		b.WriteString(s.name)
	}
	return b.String()
}

// below returns a route with the segments of r behind those given.
func (r *route) below(segments []segment, as route) route {
	as.segments = append(append(make([]segment, 0, len(segments)+len(r.segments)), segments...), r.segments...)
	return as.measured()
}

// literals returns the segments of a folder in which patterns begin.
func (d *disk) literals(path string) []segment {
	if d.rootPath != path || d.rootSegments == nil {
		d.rootPath, d.rootSegments = path, literals(path)
	}
	return d.rootSegments
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
	if len(r.segments) != len(other.segments) {
		return false
	}
	for i := range r.segments {
		a, b := &r.segments[i], &other.segments[i]
		if a.name != b.name || a.folders != b.folders || (a.tokens == nil) != (b.tokens == nil) ||
			a.tokens != nil && &a.tokens[0] != &b.tokens[0] {
			return false
		}
	}
	return true
}
