//go:build linux

package faults_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/ledger"
)

// folder is a ledger folder, as seen from outside any process that uses it.
type folder string

func (f folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

func (f folder) ledger() string { return f.path("ledger.jsonl") }
func (f folder) claims() string { return f.path("claims.log") }

func (f folder) noteFile(id string) string {
	sum := sha256.Sum256([]byte(id))
	return f.path("notes", hex.EncodeToString(sum[:])+".json")
}

// record is the part of a ledger's record that these tests look at.
type record struct {
	RequestID string `json:"request_id"`
	Name      string
	Decision  string
	Outcome   string
	Attempt   string
	Recovered bool
	TornFile  string `json:"torn_file"`
	TornBytes int64  `json:"torn_bytes"`
}

// records reads all whole lines of the ledger.
func (f folder) records() ([]record, error) {
	text, err := os.ReadFile(f.ledger())
	if err != nil {
		return nil, err
	}
	var all []record
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// outcomes counts the records of a request_id by their outcome.
func (f folder) outcomes(id string) (map[string]int, error) {
	all, err := f.records()
	if err != nil {
		return nil, err
	}
	by := map[string]int{}
	for _, r := range all {
		if r.RequestID == id {
			by[r.Outcome]++
		}
	}
	return by, nil
}

// verify fails if the chain is not whole to its last byte.
func (f folder) verify() error {
	file, err := os.Open(f.ledger())
	if err != nil {
		return err
	}
	defer file.Close()
	verdict, err := ledger.Verify(file)
	if err != nil {
		return err
	}
	if !verdict.OK {
		return fmt.Errorf("the ledger does not verify: line %d: %s", verdict.FirstBadLine, verdict.Kind)
	}
	return nil
}

// temps lists what is left of notes that were being written.
func (f folder) temps() ([]string, error) {
	return filepath.Glob(f.path("notes", ".tmp-*"))
}

// note is the text of a note, or an error where there is none or it is not canonical.
func (f folder) note(id string) (string, error) {
	payload, err := os.ReadFile(f.noteFile(id))
	if err != nil {
		return "", err
	}
	var n struct {
		RequestID string `json:"request_id"`
		Text      string `json:"text"`
	}
	if err := json.Unmarshal(payload, &n); err != nil {
		return "", err
	}
	if n.RequestID != id {
		return "", fmt.Errorf("the note of %s is that of %s", id, n.RequestID)
	}
	return n.Text, nil
}

// evidence holds a folder that no process uses to all that notes, claims and ledger promise:
// these notes and no others, nothing half written, one committed record for each, a whole chain.
func (f folder) evidence(notes map[string]string) error {
	if err := f.verify(); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.path("notes"))
	if err != nil {
		return err
	}
	var got, want []string
	for _, e := range entries {
		got = append(got, f.path("notes", e.Name()))
	}
	for id, text := range notes {
		want = append(want, f.noteFile(id))
		if has, err := f.note(id); err != nil {
			return err
		} else if has != text {
			return fmt.Errorf("the note of %s says %q, want %q", id, has, text)
		}
	}
	sort.Strings(want)
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("what is in notes/ (-want +got):\n%s", diff)
	}
	return f.committedOnce(notes)
}

// committedOnce fails unless each of the notes, and nothing else, has one committed record.
func (f folder) committedOnce(notes map[string]string) error {
	all, err := f.records()
	if err != nil {
		return err
	}
	got, want := map[string]int{}, map[string]int{}
	for _, r := range all {
		if r.Outcome == "committed" {
			got[r.RequestID]++
		}
	}
	for id := range notes {
		want[id] = 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("committed records by request_id (-want +got):\n%s", diff)
	}
	return nil
}

// tornAccounted fails if a side file of the ledger has no record, or a record no side file.
func (f folder) tornAccounted() error {
	files, err := filepath.Glob(f.ledger() + ".torn-*")
	if err != nil {
		return err
	}
	got, want := map[string]int64{}, map[string]int64{}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		got[filepath.Base(name)] = info.Size()
	}
	all, err := f.records()
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.TornFile != "" {
			want[r.TornFile] = r.TornBytes
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("side files of torn tails (-recorded +there):\n%s", diff)
	}
	return nil
}

// tornKept fails if torn bytes of the ledger are in no side file, or a record names none.
func (f folder) tornKept(bytes string) error {
	all, err := f.records()
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.TornFile != "" && !exists(f.path(r.TornFile)) {
			return fmt.Errorf("a record speaks of %s, which is not there", r.TornFile)
		}
	}
	asides, err := filepath.Glob(f.ledger() + ".torn-*")
	if err != nil {
		return err
	}
	for _, name := range asides {
		if text, err := os.ReadFile(name); err == nil && string(text) == bytes {
			return nil
		}
	}
	return fmt.Errorf("the torn end of the ledger is in none of %q", asides)
}

// copyTo copies the folder, which no process uses.
func (f folder) copyTo(t *testing.T, dir string) folder {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(string(f))); err != nil {
		t.Fatalf("copying a ledger folder: %v", err)
	}
	// CopyFS makes its folders for everybody, and a ledger folder must be the owner's alone.
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(name, 0o700)
		}
		return err
	})
	if err != nil {
		t.Fatalf("copying a ledger folder: %v", err)
	}
	return folder(dir)
}

// addTo appends to a file.
func addTo(name, text string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(text); err != nil {
		return err
	}
	return file.Close()
}

// read is a file's content, whose absence is a failure.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lines splits a text behind its newlines.
func lines(text string) []string { return strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") }

// look is what can be told of a file from outside: its content, size, time and mode.
func look(t *testing.T, name string) string {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	if info.Mode().IsRegular() {
		text = read(t, name)
	}
	return fmt.Sprintf("%q, %d bytes, %d, %v", text, info.Size(), info.ModTime().UnixNano(), info.Mode())
}

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
