package hook

import (
	"path/filepath"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// The keys under which hosts name a file, and what is written to it.
var (
	pathKeys    = []string{"file_path", "filePath", "path", "notebook_path", "target_file"}
	contentKeys = []string{"content", "contents", "file_text", "fileText"}
	oldKeys     = []string{"old_string", "oldString", "old_str", "oldStr"}
	newKeys     = []string{"new_string", "newString", "new_str", "newStr"}
	allKeys     = []string{"replace_all", "replaceAll", "allow_multiple"}
	editsKeys   = []string{"edits", "replacements"}
)

// claims returns what an event's call says that files hold when it is done; none where it says nothing of that, or not in
// a way that can be held against a file. Calls of MCP servers, and shells, claim nothing here.
func (e *Event) claims(world *effects.World) []claim {
	var all []claim
	switch e.Tool {
	case "Write", "write", "write_file", "create", "create_file", "createFile", "new_file":
		all = e.wholeClaim(contentKeys)
	case "fs_write":
		all = e.kiroClaim()
	case "Edit", "MultiEdit", "StrReplace", "replace", "edit", "str_replace", "replace_string_in_file", "multi_replace_string_in_file":
		all = e.editClaims()
	case "NotebookEdit":
		all = e.cellClaim()
	case "apply_patch":
		all = e.patchClaims()
	}
	kept := all[:0]
	for _, c := range all {
		if c.path = placed(c.path, world); c.path != "" {
			kept = append(kept, c)
		}
	}
	return kept
}

// placed returns where a path of a call is, as the host would take it; "" where that cannot be told.
func placed(path string, world *effects.World) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && len(world.Homes) > 0 {
		return filepath.Join(world.Homes[0], rest)
	}
	switch {
	case path == "":
		return ""
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case filepath.IsAbs(world.Dir):
		return filepath.Join(world.Dir, path)
	}
	return ""
}

// text returns the first of an object's members with one of the names that is a string.
func textAt(v canon.Value, keys []string) (string, bool) {
	for _, key := range keys {
		if text, ok := v.Get(key).Text(); ok {
			return text, true
		}
	}
	return "", false
}

// wholeClaim is that a file holds a content.
func (e *Event) wholeClaim(keys []string) []claim {
	path, named := textAt(e.Input, pathKeys)
	content, ok := textAt(e.Input, keys)
	if !named || !ok {
		return nil
	}
	if changed, _ := e.Answer.Get("userModified").Bool(); changed { // the person changed it before it was written
		if text, ok := e.Answer.Get("content").Text(); ok {
			content = text
		}
	}
	return []claim{{path: path, whole: []string{content}}}
}

// kiroClaim is that of Kiro's tool for all that is written to files. It ends a file with the end of a line.
func (e *Event) kiroClaim() []claim {
	path, _ := textAt(e.Input, pathKeys)
	text, hasText := textAt(e.Input, newKeys)
	switch command, _ := e.Input.Get("command").Text(); command {
	case "create":
		all := e.wholeClaim(contentKeys)
		for i := range all {
			all[i].whole = append(all[i].whole, all[i].whole[0]+"\n")
		}
		return all
	case "str_replace":
		return e.editClaims()
	case "insert", "append":
		if hasText && text != "" {
			return []claim{{path: path, edits: []edit{{new: text}}}}
		}
	}
	return nil
}

// editClaims is what becomes of files by replacements: exactly, where the host says what was there before.
func (e *Event) editClaims() []claim {
	path, _ := textAt(e.Input, pathKeys)
	byPath := map[string][]edit{}
	var paths []string
	add := func(of canon.Value, path string) bool {
		if own, ok := textAt(of, pathKeys); ok {
			path = own
		}
		old, hasOld := textAt(of, oldKeys)
		text, hasNew := textAt(of, newKeys)
		if !hasOld || !hasNew || path == "" {
			return false
		}
		made := edit{old: old, new: text}
		for _, key := range allKeys {
			if all, _ := of.Get(key).Bool(); all {
				made.all = true
			}
		}
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
		byPath[path] = append(byPath[path], made)
		return true
	}
	list := e.edits()
	if !list.Exists() && !add(e.changed(), path) {
		return nil
	}
	for of := range list.Elements() {
		if !add(of, path) {
			return nil
		}
	}
	var all []claim
	for _, path := range paths {
		if c, ok := e.editClaim(path, byPath[path], len(paths) == 1); ok {
			all = append(all, c)
		}
	}
	return all
}

// edits are the replacements of a call that makes several.
func (e *Event) edits() canon.Value {
	for _, v := range []canon.Value{e.Input, e.Answer} {
		for _, key := range editsKeys {
			if v.Get(key).Kind() == canon.Array {
				return v.Get(key)
			}
		}
	}
	return canon.Value{}
}

// changed is where a single replacement stands: in the answer, if the person changed it before it was made.
func (e *Event) changed() canon.Value {
	if changed, _ := e.Answer.Get("userModified").Bool(); changed && e.Answer.Get("newString").Exists() {
		return compose(
			member{"file_path", e.Answer.Get("filePath")}, member{"old_string", e.Answer.Get("oldString")},
			member{"new_string", e.Answer.Get("newString")}, member{"replace_all", e.Answer.Get("replaceAll")},
		)
	}
	return e.Input
}

// editClaim is what becomes of one file. Without what was there before, a text that was only taken away leaves nothing to
// look for.
func (e *Event) editClaim(path string, edits []edit, alone bool) (claim, bool) {
	if original, ok := e.original(edits); ok && alone {
		if whole := editedForms(original, edits); whole != nil {
			return claim{path: path, whole: whole}, true
		}
	}
	last := edits[len(edits)-1]
	if last.new == "" && (!last.all || last.old == "") {
		return claim{}, false
	}
	return claim{path: path, edits: edits}, true
}

// original is what was in the file before the call, if the host says that. Of a file that was not there it is "".
func (e *Event) original(edits []edit) (string, bool) {
	for _, key := range []string{"originalFile", "originalFileContents", "original_file"} {
		switch v := e.Answer.Get(key); v.Kind() {
		case canon.String:
			return v.Text()
		case canon.Null:
			return "", v.Exists() && edits[0].old == ""
		}
	}
	return "", false
}

// editedForms returns what edits make of a text; nil where that cannot be told. Claude Code takes blanks away from the ends
// of lines that it writes, and with a text that is taken away the end of its line: that makes several forms.
func editedForms(original string, edits []edit) []string {
	var forms []string
	for _, bare := range []bool{false, true} {
		for _, wholeLines := range []bool{false, true} {
			if text, ok := edited(lf(original), edits, bare, wholeLines); ok && !slices.Contains(forms, text) {
				forms = append(forms, text)
			}
		}
	}
	return forms
}

// edited makes edits one after the other. Each text that is replaced must be there, and once, unless all are meant.
func edited(text string, edits []edit, bare, wholeLines bool) (string, bool) {
	for _, e := range edits {
		old, made := lf(e.old), lf(e.new)
		if bare {
			made = withoutBlanks(made)
		}
		if old == "" {
			if text != "" {
				return "", false
			}
			text = made
			continue
		}
		if wholeLines && made == "" && !strings.HasSuffix(old, "\n") && strings.Contains(text, old+"\n") {
			old += "\n"
		}
		count := strings.Count(text, old)
		if count == 0 || count > 1 && !e.all {
			return "", false
		}
		text = strings.ReplaceAll(text, old, made)
	}
	return text, true
}

// withoutBlanks takes blanks away from the ends of lines.
func withoutBlanks(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r\f\v")
	}
	return strings.Join(lines, "\n")
}

// cellClaim is what becomes of a notebook.
func (e *Event) cellClaim() []claim {
	path, _ := textAt(e.Input, pathKeys)
	mode, _ := e.Input.Get("edit_mode").Text()
	id, _ := e.Input.Get("cell_id").Text()
	source, ok := e.Input.Get("new_source").Text()
	switch {
	case mode == "delete" && id != "" && !isCellNumber(id):
		return []claim{{path: path, cell: &cell{id: id, gone: true}}}
	case mode == "delete" || !ok:
		return nil
	case mode == "insert" || isCellNumber(id): // the id is that of the cell before it, or a number that notebooks do not hold
		id = ""
	}
	return []claim{{path: path, cell: &cell{id: id, source: source}}}
}

// isCellNumber reports whether a cell is named by its place: "cell-3", of notebooks whose cells have no ids.
func isCellNumber(id string) bool {
	number, ok := strings.CutPrefix(id, "cell-")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}
