package effects

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// maxLinks is how many links are followed in one path. Linux follows 40.
	maxLinks = 40

	// maxPath is the length up to which a path is read. Systems open paths of 4 KiB (Linux) or 32,767 characters (Windows);
	// what is longer could be any path to a tool that makes it clean first.
	maxPath = 64 << 10
)

// Resolve returns a path in all its forms; a relative one is in each of dirs, or in w.Dir. A folder "" is one that is
// not known.
//
// The path may be written as any host or shell would take it: with ~, as a file: URL, with the backslashes and drives of
// Windows, and with the bytes that stand for what is not known. Links are followed as far as files are there, and
// wildcards are looked up, within the world's budget; what cannot be looked at has its literal form alone. A file that
// is linked hard to another is not known to be that one, nor is a short name of Windows (SECRET~1).
func (w *World) Resolve(path string, dirs ...string) Path {
	if len(dirs) == 0 {
		dirs = []string{w.Dir}
	}
	if len(path) > maxPath {
		return Path{Text: path[:maxPath], Forms: []string{unknownText}, forms: []form{newForm(unknownText)}, vague: true}
	}
	r := resolver{disk: w.look(), dirs: dirs, path: Path{Text: path}}
	for _, spelling := range w.spellings(path, dirs) {
		r.add(spelling)
	}
	return r.path
}

// resolver collects the forms of one path.
type resolver struct {
	disk *disk
	dirs []string
	path Path
}

// add adds the forms of one spelling, which is absolute but not clean.
func (r *resolver) add(spelling string) {
	literal := clean(spelling)
	r.form(literal)
	r.form(trimmed(literal))
	if !isNative(spelling) {
		return
	}
	if spelling == literal && r.disk.isPlain([]byte(literal)) { // nothing more to say
		return
	}
	real := r.follow(spelling)
	if spelling != literal { // some tools make a path clean, others leave that to the system
		r.follow(literal)
	}
	if hasWildcards(literal) {
		r.expand("/", splitNames(literal))
		if hasWildcards(real) && real != literal {
			r.expand("/", splitNames(real))
		}
	}
}

// hasWildcards reports whether the disk can say what is not known of a path.
func hasWildcards(path string) bool {
	return hasUnknown(path) && !strings.Contains(path, unknownText)
}

// form adds a form.
func (r *resolver) form(path string) {
	for _, known := range r.path.Forms {
		if known == path {
			return
		}
	}
	r.path.Forms = append(r.path.Forms, path)
	r.path.forms = append(r.path.forms, newForm(path))
}

// follow adds what a native path is when its links are followed: each link in its turn, since any place on the way may
// be the one that a pattern knows. It returns the last place.
func (r *resolver) follow(path string) (real string) {
	places, all := r.disk.follow(path, r.dirs)
	for _, place := range places {
		r.form(place)
	}
	if !all {
		r.path.vague = true
	}
	return places[len(places)-1]
}

// isPlain reports whether a clean native path leads through no link and is none, as far as is known without following
// it: most paths of a call stand beside others.
func (d *disk) isPlain(path []byte) bool {
	slash := bytes.LastIndexByte(path, '/')
	if slash <= 0 || !d.plain[string(path[:slash])] || slices.ContainsFunc(path[slash:], func(b byte) bool { return b >= anyRune }) {
		return false
	}
	found, looked := d.at(path)
	return looked && found.kind != entryLink
}

// follow returns the places on the way of a native path, the last one behind all its links; all is false if the budget
// was spent before. Where nothing is there the rest of the path is taken as written.
func (d *disk) follow(path string, dirs []string) (places []string, all bool) {
	w := trail{disk: d, rest: []string{path}}
	for {
		name, more := w.next()
		if !more {
			d.learn(path, &w)
			return append(places, w.place()), true
		}
		switch w.step(name, dirs) {
		case stepLink:
			places = append(places, w.place())
		case stepSpent:
			return append(places, w.place()), false
		}
	}
}

// learn remembers the folder of a clean path that has led through no link.
func (d *disk) learn(path string, w *trail) {
	slash := strings.LastIndexByte(path, '/')
	if w.links > 0 || w.unsure || slash <= 0 || string(w.done) != path {
		return
	}
	if d.plain == nil {
		d.plain = make(map[string]bool)
	}
	d.plain[path[:slash]] = true
}

// trail is a way through the folders of the disk.
type trail struct {
	disk    *disk
	done    []byte   // the real path so far, clean and without a slash at its end
	rest    []string // what follows, the next last
	links   int
	literal bool // nothing more is looked up
	unsure  bool // there were links of a process, or names that cannot be looked up
}

type stepped uint8

const (
	stepName stepped = iota
	stepLink
	stepSpent
)

// next takes the next name of the rest.
func (w *trail) next() (name string, more bool) {
	for len(w.rest) > 0 {
		last := len(w.rest) - 1
		name, rest, found := strings.Cut(w.rest[last], "/")
		if found {
			w.rest[last] = rest
		} else {
			w.rest = w.rest[:last]
		}
		if name != "" && name != "." {
			return name, true
		}
	}
	return "", false
}

// step goes on by one name.
func (w *trail) step(name string, dirs []string) stepped {
	if name == ".." {
		w.up()
		return stepName
	}
	w.done = append(w.done, '/')
	if len(w.done) == 1 && isDrive(name) {
		w.done = w.done[:0]
	}
	w.done = append(w.done, name...)
	if link, ok := w.atProcessLink(name); ok {
		w.literal, w.unsure = false, true
		w.up()
		w.enter(processTarget(link, dirs))
		return stepLink
	}
	if hasUnknown(name) || len(w.done) >= maxNative ||
		string(w.done) == "/proc/self" || string(w.done) == "/proc/thread-self" { // another's, when the path is used
		w.literal, w.unsure = true, true
	}
	if w.literal {
		return stepName
	}
	found, looked := w.disk.at(w.done)
	switch {
	case !looked:
		w.literal = true
		return stepSpent
	case found.kind == entryAbsent:
		w.literal = true
	case found.kind == entryLink:
		if w.links++; w.links > maxLinks { // nothing can be opened here
			w.literal = true
			return stepName
		}
		w.up()
		w.enter(found.target)
		return stepLink
	}
	return stepName
}

// atProcessLink reports whether the trail has come to a link that each process has of its own.
func (w *trail) atProcessLink(name string) (link string, ok bool) {
	if name != "cwd" && name != "root" || len(w.done) > 100 {
		return "", false
	}
	link, _, ok = processLink(string(w.done))
	return link, ok
}

// up goes to the parent folder: the physical one, where links were followed.
func (w *trail) up() {
	slash := bytes.LastIndexByte(w.done, '/')
	switch {
	case bytes.IndexByte(w.done[slash+1:], anyText) >= 0: // it may be several names, and some of them remain
		w.done = append(w.done[:slash+1], anyText)
	case slash >= 0:
		w.done = w.done[:slash]
	}
}

// enter goes on with the target of a link.
func (w *trail) enter(target string) {
	if isNative(target) {
		w.done = w.done[:0]
	}
	w.rest = append(w.rest, target)
	if strings.HasPrefix(target, unknownText) {
		w.done, w.literal = w.done[:0], true
	}
}

// place returns where the trail would end if nothing more were a link.
func (w *trail) place() string {
	names := splitNames(string(w.done))
	for i := len(w.rest) - 1; i >= 0; i-- {
		for name := range strings.SplitSeq(w.rest[i], "/") {
			names = step(names, name)
		}
	}
	return joinNames(names)
}

// processTarget is what a process's own link leads to. It may run in any of the folders; the first is the likely one,
// and the spellings name the others.
func processTarget(link string, dirs []string) string {
	if link == "root" {
		return "/"
	}
	if dirs[0] == "" {
		return unknownText
	}
	return slashed(dirs[0])
}
