package cli

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/plan"
)

// screen is what a terminal shows that was written to: it knows the sequences of liveTable and nothing else.
type screen struct {
	t     *testing.T
	lines []string
	row   int
}

var sequence = regexp.MustCompile(`^\x1b\[(\??)([0-9]*)([A-Za-z])`)

func (s *screen) Write(p []byte) (int, error) {
	for text := string(p); text != ""; {
		if m := sequence.FindStringSubmatch(text); m != nil {
			s.control(m)
			text = text[len(m[0]):]
			continue
		}
		switch c := text[0]; c {
		case '\n':
			s.row++
		case '\r':
		default:
			if c < ' ' {
				s.t.Errorf("the control character %q reached the terminal", c)
			}
			for len(s.lines) <= s.row {
				s.lines = append(s.lines, "")
			}
			s.lines[s.row] += text[:1]
		}
		text = text[1:]
	}
	return len(p), nil
}

func (s *screen) control(m []string) {
	switch m[1] + m[3] {
	case "A":
		up := 0
		fmt.Sscan(m[2], &up)
		if s.row -= up; s.row < 0 {
			s.t.Errorf("the cursor went up %d lines too many", -s.row)
		}
	case "J":
		s.lines = s.lines[:min(s.row, len(s.lines))]
	case "?l", "?h":
	default:
		s.t.Errorf("the sequence %q reached the terminal", m[0])
	}
}

func at(seconds int, e plan.Event) plan.Event {
	e.Time, e.Run = time.Unix(int64(1000+seconds), 0).UTC(), "r1"
	return e
}

var events = []plan.Event{
	at(0, plan.Event{What: "start"}),
	at(0, plan.Event{What: "call", Step: "first", Tool: "write_note"}),
	at(1, plan.Event{What: "observe", Step: "first", Tool: "read_ledger"}),
	at(2, plan.Event{What: "decide", Step: "first", Tool: "write_note", Verdict: "CONTINUE"}),
	at(2, plan.Event{What: "call", Step: "second", Tool: "write_note"}),
	at(5, plan.Event{What: "decide", Step: "second", Tool: "write_note", Verdict: "STOP", Reason: "\x1b[2Jcut\noff"}),
	at(5, plan.Event{What: "end", Verdict: "STOP"}),
}

// TestLiveTableIsDrawnInPlace follows what stands on the screen.
func TestLiveTableIsDrawnInPlace(t *testing.T) {
	s := &screen{t: t}
	table := newLiveTable(s, []string{"first", "second", "third"})
	for i, e := range events {
		table.see(e)
		if want := 4; len(s.lines) != want {
			t.Fatalf("after event %d there are %d lines, want %d: %q", i, len(s.lines), want, s.lines)
		}
	}
	table.end()
	want := []string{
		"run r1",
		"first   write_note  2.0s  CONTINUE  ",
		`second  write_note  3.0s  STOP      \x1b[2Jcut\noff`,
		"third                               ",
	}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("on the screen (-want +got):\n%s", diff)
	}
}

// TestLiveTableOfAResumedRun shows what was decided earlier, and what waits for a person.
func TestLiveTableOfAResumedRun(t *testing.T) {
	s := &screen{t: t}
	table := newLiveTable(s, []string{"first", "second"})
	table.see(at(0, plan.Event{What: "start", Earlier: []string{"first"}}))
	table.see(at(0, plan.Event{What: "call", Step: "second", Tool: "write_note"}))
	table.see(at(1, plan.Event{What: "ask", Step: "second", Tool: "write_note", Approval: "a1", Reason: "approve a1"}))
	want := []string{
		"run r1",
		"first                     CONTINUE earlier  ",
		"second  write_note  1.0s  waits             approve a1",
	}
	if diff := cmp.Diff(want, s.lines); diff != "" || !table.rows[1].busy {
		t.Errorf("busy %t, on the screen (-want +got):\n%s", table.rows[1].busy, diff)
	}
	var b bytes.Buffer
	lines := &plainLines{w: &b}
	lines.see(at(0, plan.Event{What: "start", Earlier: []string{"first"}}))
	if got, want := b.String(), "00:16:40  r1  start: CONTINUE earlier: first\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLiveTableOfARunThatNeverBegan is none.
func TestLiveTableOfARunThatNeverBegan(t *testing.T) {
	s := &screen{t: t}
	table := newLiveTable(s, []string{"first"})
	table.end()
	if len(s.lines) > 0 {
		t.Errorf("on the screen: %q", s.lines)
	}
}

// TestLiveTableOfManySteps shows those around the one that goes on, and at the end all.
func TestLiveTableOfManySteps(t *testing.T) {
	var steps []string
	for i := range 40 {
		steps = append(steps, fmt.Sprintf("s%d", i))
	}
	s := &screen{t: t}
	table := newLiveTable(s, steps)
	for i, step := range steps {
		table.see(at(i, plan.Event{What: "call", Step: step, Tool: "deploy"}))
		if !strings.Contains(strings.Join(s.lines, "\n"), "\n"+step+" ") || len(s.lines) > mostRows+3 {
			t.Fatalf("at %s the screen shows %q", step, s.lines)
		}
	}
	table.end()
	if len(s.lines) != 41 {
		t.Errorf("at the end there are %d lines, want 41", len(s.lines))
	}
}

// TestPlainLinesAreOneForEachEvent is for terminals that cannot move their cursor.
func TestPlainLinesAreOneForEachEvent(t *testing.T) {
	var b bytes.Buffer
	lines := &plainLines{w: &b}
	for _, e := range events {
		lines.see(e)
	}
	want := `00:16:40  r1  start
00:16:40  first  calls write_note
00:16:41  first  looks read_ledger
00:16:42  first  CONTINUE write_note
00:16:42  second  calls write_note
00:16:45  second  STOP write_note: \x1b[2Jcut\noff
00:16:45  r1  STOP
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestJSONLinesWhereNobodyLooks: a file, a pipe and the null device are no terminals.
func TestJSONLinesWhereNobodyLooks(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []interface{ Write([]byte) (int, error) }{&bytes.Buffer{}, null, file} {
		if _, ok := newWatcher(w, false, nil).(*jsonLines); !ok {
			t.Errorf("%T: no JSON lines", w)
		}
	}
	var b bytes.Buffer
	watcher := newWatcher(&b, false, nil)
	for _, e := range events {
		watcher.see(e)
	}
	watcher.end()
	if got := strings.Split(strings.TrimSpace(b.String()), "\n"); len(got) != len(events) || !strings.HasPrefix(got[0], "{") {
		t.Errorf("got %q, want one object a line", got)
	}
}
