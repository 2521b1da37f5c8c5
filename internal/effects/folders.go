package effects

import (
	"slices"
	"strings"
)

// maxFolders is how many folders are told apart in which a command may stand.
const maxFolders = 4

// folders are those in which a shell may stand. What is not known of them is the byte for any text.
type folders struct {
	now    []string // as far as the last command succeeded; none where what follows cannot be reached
	failed []string // if it failed
	last   []string // the last ones that were some
	before []string // those before the last cd: cd -
}

// here returns the folders in which the next command may stand.
func (f *folders) here() []string {
	if len(f.now) == 0 {
		return f.last
	}
	return f.now
}

// stay says that a command did not move the shell, however it ended.
func (f *folders) stay() {
	f.now = f.here()
	f.failed = f.now
}

// settle says that it does not matter any more how the last command ended.
func (f *folders) settle() {
	f.set(eitherFolders(f.now, f.failed))
}

// set moves the shell, whatever happened.
func (f *folders) set(to []string) {
	f.now, f.failed = to, to
	if len(to) > 0 {
		f.last = to
	}
}

// eitherFolders returns the folders of both.
func eitherFolders(a, b []string) []string {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	union := slices.Clip(a)
	for _, folder := range b {
		if !slices.Contains(a, folder) {
			union = append(union, folder)
		}
	}
	if len(union) > maxFolders {
		return []string{unknownText}
	}
	return union
}

// in returns where a folder is that is named from others.
func (s *shell) in(from []string, name string) []string {
	switch {
	case name == "" || name == ".":
		return from
	case strings.HasPrefix(name, "~") && (len(name) == 1 || name[1] == '/'):
		var found []string
		for _, home := range s.world.Homes {
			found = eitherFolders(found, []string{clean(home + name[1:])})
		}
		if found == nil {
			return []string{unknownText}
		}
		return found
	case isAbsolute(name):
		return []string{clean(name)}
	}
	var found []string
	for _, dir := range from {
		found = eitherFolders(found, []string{clean(dir + "/" + name)})
	}
	return found
}

// isAbsolute reports whether a path does not depend on the folder; one whose beginning is not known may not.
func isAbsolute(path string) bool {
	return path != "" && (path[0] == '/' || path[0] == anyText || path[0] == '\\') || len(path) > 1 && isDrive(path[:2])
}

// moves judges cd and its like, which move the shell itself; handled is false for other programs.
func (s *shell) moves(program string, words []Word) (handled bool) {
	f := &s.folders
	here := f.here()
	var to []string
	switch program {
	case "cd", "pushd", "chdir":
		name, given := folderOf(words)
		switch {
		case !given && program == "pushd":
			to = []string{unknownText}
		case !given:
			to = s.in(here, "~")
		case name == "-":
			to = f.before
		case name[0] == '+' && program == "pushd", strings.HasPrefix(name, "-"):
			to = []string{unknownText}
		default:
			to = s.in(here, name)
			if paths, set := s.vars.get("CDPATH"); set && isBare(name) {
				for _, c := range paths {
					for folder := range strings.SplitSeq(c.text, ":") {
						to = eitherFolders(to, s.in(s.in(here, folder), name))
					}
				}
			}
		}
	case "popd":
		to = []string{unknownText}
	case "exit", "logout":
		f.now, f.failed = nil, nil
		return true
	default:
		return false
	}
	if len(to) == 0 {
		to = []string{unknownText}
	}
	f.before = here
	f.set(to)
	f.failed = here
	return true
}

// folderOf returns the word of cd that names the folder.
func folderOf(words []Word) (name string, given bool) {
	for _, word := range words[1:] {
		switch text := word.Text; {
		case text == "--", len(text) > 1 && text[0] == '-' && strings.Trim(text[1:], "LPe@n") == "":
		case text == "":
		default:
			return text, true
		}
	}
	return "", false
}

// resolve returns a path in all its forms, from the folders in which it may be meant.
func (s *shell) resolve(path string, from []string) Path {
	if isAbsolute(path) || len(from) == 1 && from[0] == s.world.Dir {
		return s.world.Resolve(path)
	}
	known := make([]string, len(from))
	for i, dir := range from {
		if known[i] = dir; dir == unknownText {
			known[i] = ""
		}
	}
	return s.world.Resolve(path, known...)
}
