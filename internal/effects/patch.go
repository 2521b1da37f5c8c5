package effects

import "strings"

// patchBegin is the first line of a patch for Codex's apply_patch.
const patchBegin = "*** Begin Patch"

// patchEffects returns what a patch changes: each file that its headers name, taken from one of dirs. A patch in the
// format of diff counts as well. A line of a file begins with a sign or a blank, so that none is taken for a header.
func patchEffects(text string, w *World, dirs ...string) []Effect {
	var found []Effect
	add := func(path string, deep bool) {
		found = append(found, Effect{Kind: Write, By: -1, Path: w.Resolve(path, dirs...), Deep: deep})
	}
	updates := false
	for line := range strings.Lines(text) {
		header := strings.TrimSpace(line)
		if updates && line[0] != '*' { // what stands in a file: a line of context begins with a blank
			continue
		}
		if path, kind := patchHeader(header); kind != noHeader {
			updates = kind == updateHeader
			add(path, kind == deleteHeader)
		}
	}
	if len(found) > 0 {
		return found
	}
	for line := range strings.Lines(text) {
		for _, path := range diffHeader(strings.TrimRight(line, "\r\n")) {
			add(path, false)
		}
	}
	if len(found) == 0 {
		return []Effect{{Kind: Write, By: -1, Opaque: "the patch names no file"}}
	}
	return found
}

type headerKind uint8

const (
	noHeader headerKind = iota
	updateHeader
	deleteHeader
	otherHeader
)

// patchHeader returns the file of a line such as "*** Update File: x", and what becomes of it.
func patchHeader(line string) (path string, kind headerKind) {
	header, path, found := strings.Cut(line, ":")
	if !found || !strings.HasPrefix(header, "***") {
		return "", noHeader
	}
	path = strings.TrimSpace(path)
	switch strings.ToLower(strings.Join(strings.Fields(header[3:]), " ")) {
	case "update file", "move to", "rename to":
		return path, updateHeader
	case "delete file", "remove file":
		return path, deleteHeader
	case "add file", "create file", "move file", "move file to":
		return path, otherHeader
	}
	return "", noHeader
}

// diffHeader returns the files of a line that names one in a diff, with and without the letter before them.
func diffHeader(line string) []string {
	for _, header := range [...]string{"--- ", "+++ ", "rename from ", "rename to "} {
		path, found := strings.CutPrefix(line, header)
		if !found {
			continue
		}
		path, _, _ = strings.Cut(path, "\t")
		path = strings.Trim(path, `"`)
		if path == "/dev/null" || path == "" {
			return nil
		}
		if rest, ok := strings.CutPrefix(path, "a/"); ok {
			return []string{rest}
		}
		if rest, ok := strings.CutPrefix(path, "b/"); ok {
			return []string{rest}
		}
		return []string{path}
	}
	return nil
}

// folderOfPatch returns the folder to which a text goes before the patch in it is applied: "cd DIR && apply_patch <<EOF".
// One that cannot be read is not known.
func folderOfPatch(text string) (dir string, ok bool) {
	before, _, _ := strings.Cut(text, patchBegin)
	before, ok = strings.CutPrefix(strings.TrimSpace(before), "cd ")
	if !ok {
		return "", false
	}
	dir = strings.TrimSpace(before)
	if end := strings.IndexAny(dir, ";&|\n"); end >= 0 {
		dir = strings.TrimSpace(dir[:end])
	}
	unread := "\"'`$*?[\\ "
	if len(dir) >= 2 && isQuote(dir[0]) && dir[len(dir)-1] == dir[0] {
		dir, unread = dir[1:len(dir)-1], "\"'`$\\"
	}
	if dir == "" || strings.ContainsAny(dir, unread) {
		return unknownText, true
	}
	return dir, true
}
