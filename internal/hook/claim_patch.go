package hook

import "strings"

// patchClaims is what becomes of files by a patch for apply_patch: files that are added hold what stands there, those that
// are deleted are gone, and in those that are changed the added lines stand, run by run. What is around them is not looked
// at: the tool takes context that is nearly the same. None of a patch that cannot be read, or of which the answer does
// not say that it was applied.
func (e *Event) patchClaims() []claim {
	text, ok := textAt(e.Input, []string{"command", "input", "patch"})
	if !ok || e.Answer.Exists() && !strings.Contains(string(e.Answer.Bytes()), "Success. Updated") {
		return nil
	}
	_, text, ok = strings.Cut(lf(text), "*** Begin Patch\n")
	if !ok {
		return nil
	}
	p := patch{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.TrimSpace(line) == "*** End Patch" {
			p.finish()
			return p.claims
		}
		if !p.line(line) {
			return nil
		}
	}
	return nil // it has no end
}

// patch is a patch that is being read.
type patch struct {
	claims []claim
	kind   string   // of the file at hand: "Add", "Update" or "Delete"; "" before the first
	path   string   // where it is
	run    []string // the added lines that stand together
	runs   [][]string
	moved  bool
}

// line reads one line, and reports whether it belongs there.
func (p *patch) line(line string) bool {
	for _, kind := range []string{"Add", "Update", "Delete"} {
		if path, ok := strings.CutPrefix(line, "*** "+kind+" File: "); ok {
			p.finish()
			p.kind, p.path = kind, strings.TrimSpace(path)
			return true
		}
	}
	if path, ok := strings.CutPrefix(line, "*** Move to: "); ok && p.kind == "Update" {
		p.claims = append(p.claims, claim{path: p.path, gone: true})
		p.path, p.moved = strings.TrimSpace(path), true
		return true
	}
	if added, ok := strings.CutPrefix(line, "+"); ok && (p.kind == "Add" || p.kind == "Update") {
		p.run = append(p.run, added)
		return true
	}
	p.endRun()
	context := line == "" || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-") || strings.HasPrefix(line, "@@") || line == "*** End of File"
	return p.kind == "Update" && context
}

func (p *patch) endRun() {
	if p.run != nil {
		p.runs, p.run = append(p.runs, p.run), nil
	}
}

// finish ends the file at hand.
func (p *patch) finish() {
	p.endRun()
	switch {
	case p.kind == "Delete":
		p.claims = append(p.claims, claim{path: p.path, gone: true})
	case p.kind == "Add":
		content := ""
		for _, run := range p.runs {
			content += strings.Join(run, "\n") + "\n"
		}
		p.claims = append(p.claims, claim{path: p.path, whole: []string{content}})
	case p.runs != nil || p.moved:
		p.claims = append(p.claims, claim{path: p.path, lines: append([][]string{}, p.runs...)})
	}
	p.kind, p.path, p.runs, p.moved = "", "", nil, false
}
