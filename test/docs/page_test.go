//go:build unix

package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is a Markdown file, as far as these tests look at one.
type page struct {
	name   string // from the module's folder, with slashes
	text   string
	blocks []block
	lines  []line // what is in no block
}

// block is a fenced block.
type block struct {
	info string // behind the opening fence
	line int    // of the opening fence
	text string
}

// isRun reports whether a block is run with its page.
func (b block) isRun() bool { return b.info == "sh" || b.info == "sh person" }

// line is a line of a page's prose.
type line struct {
	number int
	text   string
}

func parsePage(name, text string) page {
	p := page{name: name, text: text}
	var open *block
	number := 0
	for row := range strings.Lines(text) {
		number++
		info, fence := strings.CutPrefix(strings.TrimSpace(row), "```")
		switch {
		case fence && open != nil:
			p.blocks = append(p.blocks, *open)
			open = nil
		case fence:
			open = &block{info: info, line: number}
		case open != nil:
			open.text += row
		default:
			p.lines = append(p.lines, line{number, strings.TrimRight(row, "\n")})
		}
	}
	if open != nil {
		open.info += " (never closed)"
		p.blocks = append(p.blocks, *open)
	}
	return p
}

var headingPattern = regexp.MustCompile(`^(#+) +(.*)$`)

// anchors are the names of a page's headings, as GitHub makes them.
func (p page) anchors() map[string]bool {
	dropped := regexp.MustCompile(`[^\pL\pN _-]`)
	names := map[string]bool{}
	for _, l := range p.lines {
		if m := headingPattern.FindStringSubmatch(l.text); m != nil {
			name := dropped.ReplaceAllString(strings.ToLower(m[2]), "")
			names[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return names
}

// section returns the page's text from one heading to the next of the same or a higher rank, "" if it has no such heading.
func (p page) section(heading string) string {
	rank := len(heading) - len(strings.TrimLeft(heading, "#"))
	var section strings.Builder
	inside, fenced := false, false
	for row := range strings.Lines(p.text) {
		if strings.HasPrefix(row, "```") {
			fenced = !fenced
		}
		if m := headingPattern.FindStringSubmatch(strings.TrimRight(row, "\n")); m != nil && !fenced && len(m[1]) <= rank {
			inside = m[0] == heading
		}
		if inside {
			section.WriteString(row)
		}
	}
	return section.String()
}

const sample = "# A page, or two\n\nProse.\n\n```sh\necho one\n```\n\nIt says:\n\n```output\none\n```\n## End\n```json\n{}\n"

func TestParsePageFindsBlocks(t *testing.T) {
	p := parsePage("sample.md", sample)
	want := []block{
		{info: "sh", line: 5, text: "echo one\n"},
		{info: "output", line: 11, text: "one\n"},
		{info: "json (never closed)", line: 15, text: "{}\n"},
	}
	if diff := cmp.Diff(want, p.blocks, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"a-page-or-two": true, "end": true}, p.anchors()); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
	if got, want := p.section("## End"), "## End\n```json\n{}\n"; got != want {
		t.Errorf("section: got %q, want %q", got, want)
	}
}

// TestBlocksAreOfAKnownKind keeps a misspelt info string from leaving a block out.
func TestBlocksAreOfAKnownKind(t *testing.T) {
	kinds := map[string]bool{"sh": true, "sh install": true, "sh person": true, "output": true, "console": true, "json": true, "yaml": true, "text": true}
	for _, p := range readPages(t) {
		for i, b := range p.blocks {
			if !kinds[b.info] {
				t.Errorf("%s:%d: blocks of kind %q are not known", p.name, b.line, b.info)
			}
			if b.info == "output" && (i == 0 || !p.blocks[i-1].isRun()) {
				t.Errorf("%s:%d: output must follow the sh block that prints it", p.name, b.line)
			}
		}
	}
}
