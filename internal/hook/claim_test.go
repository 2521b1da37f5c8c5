package hook

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// made does edits as hosts do; ok is false where one of them cannot be done.
func made(text string, edits ...edit) (result string, ok bool) {
	for _, e := range edits {
		count := strings.Count(text, e.old)
		if e.old == "" || count == 0 || !e.all && count > 1 {
			return "", false
		}
		text = strings.ReplaceAll(text, e.old, e.new)
	}
	return text, true
}

// FuzzEditsAreFound: what edits have left is never taken for something else, with what was there before and without. A text
// that is taken away wherever it stands may come together anew from what was around it: that alone is not known to be good.
func FuzzEditsAreFound(f *testing.F) {
	f.Add("abc", "b", "X", false, "c", "Y", true)
	f.Add("aab", "ab", "b", true, "b", "", false)
	f.Add("a\nb\na\n", "a", "aa", true, "aa", "b", true)
	f.Add("0", "0", "\f", false, "\f", "0", false) // a form in which the second edit cannot be made
	f.Add("xaax", "a", "aa", true, "x", "a", false)
	f.Fuzz(func(t *testing.T, text, old, text1 string, all bool, old2, text2 string, all2 bool) {
		edits := []edit{{old, text1, all}, {old2, text2, all2}}
		if strings.ContainsAny(text+old+text1+old2+text2, "\r\x00") {
			return
		}
		result, ok := made(text, edits...)
		if !ok {
			return
		}
		if forms := editedForms(text, edits); !slices.Contains(forms, result) {
			t.Errorf("%q by %+v is %q, which is not among %q", text, edits, result, forms)
		}
		for _, e := range edits {
			if e.all && e.new == "" {
				return
			}
		}
		if !editsWithin(result, edits) {
			t.Errorf("%q by %+v is %q, and the edits are not found in it", text, edits, result)
		}
	})
}

// FuzzClaims: whatever an event says, what it claims is about files with absolute paths, and can be compared and digested.
func FuzzClaims(f *testing.F) {
	for _, tool := range []string{"Write", "Edit", "MultiEdit", "NotebookEdit", "fs_write"} {
		f.Add(tool, `{"file_path":"a","content":"x","old_string":"a","new_string":"b","edits":[{"old_string":"","new_string":""}],"command":"create","file_text":"x"}`, `{"originalFile":"a"}`, "x")
	}
	f.Add("apply_patch", `{"command":`+quote(patchOfCodex)+`}`, `"Success. Updated"`, "x")
	world := &effects.World{Dir: "/w", Workspace: "/w", Homes: []string{"/h"}}
	f.Fuzz(func(t *testing.T, tool, input, answer, text string) {
		e := Event{Host: "claude", Tool: tool}
		var err error
		if e.Input, err = canon.Parse([]byte(input)); err != nil {
			return
		}
		e.Answer, _ = canon.Parse([]byte(answer))
		for _, c := range e.claims(world) {
			if !filepath.IsAbs(c.path) || len(c.digest()) != 64 {
				t.Errorf("a claim about %q with digest %q", c.path, c.digest())
			}
			kinds := 0
			for _, set := range []bool{c.gone, c.whole != nil, c.cell != nil, c.lines != nil, c.edits != nil} {
				if set {
					kinds++
				}
			}
			if kinds != 1 {
				t.Errorf("a claim of %d kinds: %+v", kinds, c)
			}
			if c.gone {
				continue
			}
			c.held(text)
			for _, whole := range c.whole {
				if why := c.held(whole); why != "" {
					t.Errorf("its own content %s", why)
				}
			}
		}
	})
}

// TestPatchesThatAreRefused claim nothing: what cannot be read cannot be compared.
func TestPatchesThatAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no beginning":       "*** Add File: a\n+x\n*** End Patch\n",
		"no end":             "*** Begin Patch\n*** Add File: a\n+x\n",
		"a line of no file":  "*** Begin Patch\n+x\n*** End Patch\n",
		"a line that is odd": "*** Begin Patch\n*** Add File: a\nx\n*** End Patch\n",
		"a move of nothing":  "*** Begin Patch\n*** Move to: a\n*** End Patch\n",
		"nothing":            "*** Begin Patch\n*** End Patch\n",
	} {
		e := Event{Tool: "apply_patch"}
		e.Input, _ = canon.Parse([]byte(`{"command":` + quote(text) + `}`))
		if got := e.claims(&effects.World{Dir: "/w"}); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
