package effects

import (
	"io/fs"
	"strings"
	"unicode/utf8"
)

// maxExpanded is how many of the names that fit a path's wildcards are looked at.
const maxExpanded = 200

// expand adds what the wildcards in a path stand for on the disk: names below dir, a native folder.
func (r *resolver) expand(dir string, names []string) {
	for i, name := range names {
		if !hasUnknown(name) {
			continue
		}
		if i > 0 {
			dir = strings.TrimSuffix(dir, "/") + "/" + strings.Join(names[:i], "/")
		}
		entries, all := r.disk.list(dir)
		if !all {
			r.path.wide = true
		}
		for _, entry := range entries {
			if matchesWildcards(name, entry.Name()) {
				r.expanded(dir, entry, name, names[i+1:])
			}
		}
		return
	}
	path := strings.TrimSuffix(dir, "/") + "/" + strings.Join(names, "/")
	if found, looked := r.disk.at([]byte(path)); !looked || found.kind != entryAbsent {
		r.form(path)
		r.follow(path)
	}
}

// expanded adds an entry of a folder that fits a name with wildcards, or goes on below it.
func (r *resolver) expanded(dir string, entry fs.DirEntry, name string, rest []string) {
	if len(r.path.Forms)+len(r.path.folders) >= maxExpanded {
		r.path.wide = true
		return
	}
	path := strings.TrimSuffix(dir, "/") + "/" + entry.Name()
	isFile := entry.Type().IsRegular()
	switch {
	case len(rest) > 0:
		if !isFile {
			r.expand(path, rest)
		}
	case entry.IsDir() && isAllWild(name):
		// Every folder that is there fits *, and most commands pass over them; cp -r * is like cp -r . here.
		r.path.folders = append(r.path.folders, newForm(path))
	default:
		r.form(path)
		if !isFile {
			r.follow(path)
		}
	}
}

// isAllWild reports whether a name is nothing but wildcards.
func isAllWild(name string) bool {
	for i := 0; i < len(name); i++ {
		if name[i] < anyRune {
			return false
		}
	}
	return true
}

// matchesWildcards reports whether a name of the disk fits a name with wildcards, as in a shell: a dot at its start must
// be written.
func matchesWildcards(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	p, n := 0, 0
	starP, starN := -1, 0
	for n < len(name) {
		_, size := utf8.DecodeRuneInString(name[n:])
		switch {
		case p < len(pattern) && pattern[p] == anyName:
			starP, starN = p, n
			p++
		case p < len(pattern) && pattern[p] == anyRune:
			p++
			n += size
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case starP >= 0:
			_, size := utf8.DecodeRuneInString(name[starN:])
			starN += size
			p, n = starP+1, starN
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == anyName {
		p++
	}
	return p == len(pattern)
}
