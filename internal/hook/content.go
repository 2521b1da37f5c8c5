package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"sallyport/internal/canon"
)

// maxContent is how large a file may be whose content is held against a claim, in bytes. No claim is larger: it came in an
// event.
const maxContent = 32 << 20

// claim is what a call says that a file holds when it is done. Exactly one of the fields below the path counts, the first
// that is set.
type claim struct {
	path  string     // absolute
	gone  bool       // there is no such file
	whole []string   // what is in it, in any of these forms; the first is what is on record
	cell  *cell      // what a notebook has in it
	lines [][]string // runs of lines that are in it, in this order
	edits []edit     // that were made one after the other
}

// edit is a replacement of which what was there before is not known.
type edit struct {
	old, new string
	all      bool // wherever it stands
}

// cell is what a notebook must hold.
type cell struct {
	id     string // "" where it is not named
	source string
	gone   bool // no cell of that id
}

// lf returns a text with the line ends of Unix: hosts keep those that a file has.
func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// held returns what speaks against a claim, of a file that is there, or "".
func (c *claim) held(text string) string {
	ok := false
	switch {
	case c.whole != nil:
		for _, whole := range c.whole {
			ok = ok || text == whole || lf(text) == lf(whole)
		}
	case c.cell != nil:
		return c.cell.held(text)
	case c.lines != nil:
		ok = linesWithin(lf(text), c.lines)
	default:
		ok = editsWithin(lf(text), c.edits)
	}
	if ok {
		return ""
	}
	return "does not hold what the call wrote"
}

// linesWithin reports whether each run of lines stands in a text, in their order.
func linesWithin(text string, runs [][]string) bool {
	rest := "\n" + strings.TrimSuffix(text, "\n") + "\n"
	for _, run := range runs {
		block := "\n" + lf(strings.Join(run, "\n")) + "\n"
		at := strings.Index(rest, block)
		if at < 0 {
			return false
		}
		rest = rest[at+len(block)-1:]
	}
	return true
}

// editsWithin takes edits back, the last first, for as long as there is one way to do that, and reports whether each of them
// was there.
func editsWithin(text string, edits []edit) bool {
	for i := len(edits) - 1; i >= 0; i-- {
		old, made := lf(edits[i].old), lf(edits[i].new)
		if edits[i].all && old != "" && strings.Contains(without(text, made), old) {
			return false
		}
		if made == "" {
			return true // where it was taken away cannot be seen
		}
		first := strings.Index(text, made)
		if first < 0 {
			return false
		}
		if first != strings.LastIndex(text, made) {
			return true
		}
		text = text[:first] + old + text[first+len(made):]
	}
	return true
}

// without takes a text out of another one. What was left and right of it does not come together: no call has a NUL in it.
func without(text, part string) string {
	if part == "" {
		return text
	}
	return strings.ReplaceAll(text, part, "\x00")
}

// held returns what speaks against a claim about a notebook, or "".
func (c *cell) held(text string) string {
	v, err := canon.Parse([]byte(text))
	if err != nil || v.Get("cells").Kind() != canon.Array {
		return "is no notebook any more"
	}
	seen := false
	for at := range v.Get("cells").Elements() {
		id, _ := at.Get("id").Text()
		switch {
		case c.gone && id == c.id:
			return "still holds the cell that was deleted"
		case !c.gone && (c.id == "" || id == c.id):
			seen = seen || lf(sourceOf(at)) == lf(c.source)
		}
	}
	if c.gone || seen {
		return ""
	}
	return "does not hold the cell that was written"
}

// sourceOf returns what is in a cell: one text, or its lines.
func sourceOf(cell canon.Value) string {
	source := cell.Get("source")
	if text, ok := source.Text(); ok {
		return text
	}
	var b strings.Builder
	for line := range source.Elements() {
		text, _ := line.Text()
		b.WriteString(text)
	}
	return b.String()
}

// digest is the SHA-256 of what a claim says: of a whole file, that of its content.
func (c *claim) digest() string {
	if c.whole != nil {
		return digest([]byte(c.whole[0]))
	}
	h := sha256.New()
	put := func(words ...any) { fmt.Fprintln(h, words...) }
	switch {
	case c.gone:
		put("gone")
	case c.cell != nil:
		put("cell", c.cell.gone, len(c.cell.id), c.cell.id, len(c.cell.source), c.cell.source)
	}
	for _, run := range c.lines {
		text := strings.Join(run, "\n")
		put("lines", len(text), text)
	}
	for _, e := range c.edits {
		put("edit", e.all, len(e.old), e.old, len(e.new), e.new)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// finding is what came of looking at a file.
type finding struct {
	why      string // what speaks against the claim, in words that come after the file's name; "" if nothing does
	observed string // SHA-256 of what is in the file; "" where it could not be read
}

// look holds a claim against the disk. It waits for no pipe, and no longer than until; links are followed, as the host's own
// tools do.
func (c *claim) look(until time.Time) finding {
	text, err := readContent(c.path, until)
	switch {
	case isGone(err) && c.gone:
		return finding{observed: digest(nil)}
	case isGone(err):
		return finding{why: "is not there"}
	case c.gone:
		return finding{why: "is still there"}
	case err != nil:
		return finding{why: "cannot be read: " + err.Error()}
	}
	return finding{why: c.held(string(text)), observed: digest(text)}
}

var (
	errTooLarge = fmt.Errorf("it is larger than %d MiB", maxContent>>20)
	errNoFile   = errors.New("it is not a regular file")
	errTooSlow  = errors.New("there was not enough time")
)

// readContent reads a regular file. Its errors have no path in them.
func readContent(path string, until time.Time) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, bare(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, bare(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errNoFile
	case info.Size() > maxContent:
		return nil, errTooLarge
	}
	const piece = 1 << 20
	text := make([]byte, 0, info.Size()+1)
	for {
		if time.Now().After(until) {
			return nil, errTooSlow
		}
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		n, err := f.Read(text[len(text):min(cap(text), len(text)+piece)])
		text = text[:len(text)+n]
		switch {
		case len(text) > maxContent: // it grows
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, bare(err)
		}
	}
}

// bare is an error without the path that it is about.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
