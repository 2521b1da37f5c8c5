//go:build unix

// Package docs_test holds the documentation to what the program does: it runs the commands on each page and compares
// what they print, follows the links, and compares the reference with --help and with the errors in the code.
//
// A fenced block is run where its info string is sh, or "sh person": then the page has a terminal, and whoever sits there says
// yes to each question. One page is one shell (sh -e) in a fresh folder, with sallyport on PATH. A block output says what the sh block before it prints, on stdout and stderr together: … stands for any text
// within a line, and a line that is only … for any lines. Other blocks are for looking at.
package docs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module's folder, and binDir that of the freshly built sallyport.
var root, binDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	fail := func(what string, err error) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		return 1
	}
	var err error
	if root, err = moduleRoot(); err != nil {
		return fail("looking for the module", err)
	}
	if binDir, err = os.MkdirTemp("", "docs-"); err != nil {
		return fail("making a folder for the program", err)
	}
	defer os.RemoveAll(binDir)
	build := exec.Command("go", "build", "-o", binDir, "./cmd/sallyport")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		return fail("building the program", fmt.Errorf("%w\n%s", err, out))
	}
	return m.Run()
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the tests")
		}
		dir = parent
	}
}

// sallyport is the program's path.
func sallyport() string { return filepath.Join(binDir, "sallyport") }

// need skips the test where a tool is missing, or fails it where SALLYPORT_FULL=1 promises that every test is run.
func need(t *testing.T, tool string) {
	t.Helper()
	_, err := exec.LookPath(tool)
	switch {
	case err == nil:
	case os.Getenv("SALLYPORT_FULL") == "1":
		t.Fatalf("SALLYPORT_FULL=1 asks for every test, and this one needs %s: %v", tool, err)
	default:
		t.Skipf("this test needs %s: %v", tool, err)
	}
}

// readPages reads every Markdown file of the project that a user may read, by name.
func readPages(t *testing.T) []page {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var pages []page
	for _, name := range names {
		pages = append(pages, readPage(t, name))
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "docs/README.md"} {
		if !slices.ContainsFunc(pages, func(p page) bool { return p.name == name }) {
			t.Fatalf("%s is not among the pages", name)
		}
	}
	return pages
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	short, err := filepath.Rel(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return parsePage(filepath.ToSlash(short), string(text))
}
