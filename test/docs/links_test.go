//go:build unix

package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linkPattern = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codePattern = regexp.MustCompile("`[^`]*`")
)

// links are the targets of the links in a line.
func (l line) links() []string {
	var targets []string
	for _, m := range linkPattern.FindAllStringSubmatch(codePattern.ReplaceAllString(l.text, ""), -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// TestLinksResolve follows every link between the project's own files, to the heading where it names one.
func TestLinksResolve(t *testing.T) {
	pages := readPages(t)
	byName := map[string]page{}
	for _, p := range pages {
		byName[p.name] = p
	}
	followed := 0
	for _, p := range pages {
		for _, l := range p.lines {
			for _, target := range l.links() {
				link, err := url.Parse(target)
				if err != nil {
					t.Errorf("%s:%d: %v", p.name, l.number, err)
					continue
				}
				if link.IsAbs() {
					continue
				}
				followed++
				name := p.name
				if link.Path != "" {
					name = path.Join(path.Dir(p.name), link.Path)
				}
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
					t.Errorf("%s:%d: the link %s leads nowhere", p.name, l.number, target)
				} else if link.Fragment != "" && !byName[name].anchors()[link.Fragment] {
					t.Errorf("%s:%d: %s has no heading %q", p.name, l.number, name, link.Fragment)
				}
			}
		}
	}
	if followed < 20 {
		t.Errorf("only %d links were found on %d pages", followed, len(pages))
	}
}

// TestIndexNamesEveryPage keeps a page from being written and never found.
func TestIndexNamesEveryPage(t *testing.T) {
	listed := map[string]bool{}
	for _, l := range readPage(t, filepath.Join(root, "docs", "README.md")).lines {
		for _, target := range l.links() {
			listed[path.Join("docs", target)] = true
		}
	}
	for _, p := range readPages(t) {
		if strings.HasPrefix(p.name, "docs/") && p.name != "docs/README.md" && !listed[p.name] {
			t.Errorf("docs/README.md does not link to %s", p.name)
		}
	}
}
