// Package arch holds the project to its own map: the table of packages in ARCHITECTURE.md.
package arch

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is a package of the table.
type row struct {
	mayImport []string // packages below internal/
	owns      []string // outside modules
}

var rowPattern = regexp.MustCompile("^\\| [0-9] \\| `([a-z/]+)` \\| [^|]* \\| ([^|]*) \\| ([^|]*) \\|$")

func readTable(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]row{}
	for line := range strings.Lines(string(text)) {
		if m := rowPattern.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			table[m[1]] = row{mayImport: list(m[2]), owns: list(m[3])}
		}
	}
	if len(table) < 10 {
		t.Fatalf("the table in ARCHITECTURE.md has only %d rows that can be read", len(table))
	}
	return table
}

// list reads names between commas; a dash is none.
func list(cell string) []string {
	var names []string
	for name := range strings.SplitSeq(cell, ",") {
		if name = strings.Trim(strings.TrimSpace(name), "`"); name != "" && name != "–" {
			names = append(names, name)
		}
	}
	return names
}

type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

func goList(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./internal/...", "./cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestImportsFollowTheTable fails on an arrow between packages that the table has not, on an
// outside module in a package that does not own it, and on a package that the table lacks or
// that is not there. Cycles the compiler refuses.
func TestImportsFollowTheTable(t *testing.T) {
	table := readTable(t)
	seen := map[string]bool{}
	for _, p := range goList(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "sallyport/internal/"), "sallyport/")
		row, ok := table[name]
		if !ok {
			t.Errorf("package %s is not in the table of ARCHITECTURE.md", name)
			continue
		}
		seen[name] = true
		for _, imported := range p.Imports {
			if why := forbidden(row, imported); why != "" {
				t.Errorf("%s imports %s: %s", name, imported, why)
			}
		}
	}
	for name := range table {
		if !seen[name] {
			t.Errorf("package %s is in the table of ARCHITECTURE.md, but not in the code", name)
		}
	}
}

func forbidden(r row, imported string) string {
	if own, ok := strings.CutPrefix(imported, "sallyport/internal/"); ok {
		if !slices.Contains(r.mayImport, own) && !slices.Contains(r.mayImport, "everything") {
			return "the table has no such arrow"
		}
		return ""
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, module := range r.owns {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			return ""
		}
	}
	return "the table gives that module to another package, or to none"
}

// TestOnlyCanonReadsMessages keeps encoding/json, whose keys match without case and whose last
// duplicate wins, away from everything that looks at a message.
func TestOnlyCanonReadsMessages(t *testing.T) {
	for _, p := range goList(t) {
		if slices.Contains(p.Imports, "encoding/json") {
			t.Errorf("%s imports encoding/json; package canon is the only reader of JSON", p.ImportPath)
		}
	}
}
