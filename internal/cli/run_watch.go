package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"sallyport/internal/plan"
)

// watcher shows what happens in a run.
type watcher interface {
	see(plan.Event)
	end() // nothing more is shown
}

// newWatcher returns the one that suits where the output goes: a live table at a terminal, plain lines at one that cannot
// move its cursor, and a JSON object a line elsewhere.
func newWatcher(w io.Writer, asJSON bool, steps []string) watcher {
	switch {
	case asJSON || !isTerminal(w):
		return &jsonLines{w: w}
	case os.Getenv("TERM") == "" || os.Getenv("TERM") == "dumb":
		return &plainLines{w: w}
	}
	t := newLiveTable(w, steps)
	t.wait.Go(t.tick)
	return t
}

// isTerminal reports whether somebody may be looking.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

type jsonLines struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (j *jsonLines) see(e plan.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.w, "%s\n", printableJSON(e.JSON())) // the run goes on, whoever reads
}

func (j *jsonLines) end() {}

type plainLines struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (p *plainLines) see(e plan.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	where := e.Step
	if where == "" {
		where = e.Run
	}
	what, why := words(e)
	if len(e.Earlier) > 0 {
		why = "CONTINUE earlier: " + printable(strings.Join(e.Earlier, ", "))
	}
	line := fmt.Sprintf("%s  %s  %s", e.Time.Format(time.TimeOnly), printable(where), what)
	if e.Tool != "" {
		line += " " + printable(e.Tool)
	}
	if why != "" {
		line += ": " + why
	}
	fmt.Fprintln(p.w, line)
}

func (p *plainLines) end() {}

// words says in a word what an event is, and why.
func words(e plan.Event) (what, why string) {
	why = printable(e.Reason)
	switch e.What {
	case "call":
		return "calls", why
	case "observe":
		return "looks", why
	case "undo":
		return "undoes", why
	case "ask":
		return "waits", why
	}
	if e.Verdict != "" {
		return printable(e.Verdict), why
	}
	return printable(e.What), why
}

// liveTable is drawn again in place whenever something happens.
type liveTable struct {
	now  func() time.Time
	stop chan struct{}
	wait sync.WaitGroup

	mu    sync.Mutex // guards what follows
	w     io.Writer
	run   string
	rows  []tableRow
	at    int // the row that is next to be seen
	drawn int // lines that stand there
	ended bool
}

// tableRow is a step.
type tableRow struct {
	step, tool, what, why string
	began                 time.Time
	took                  time.Duration
	busy                  bool
}

func newLiveTable(w io.Writer, steps []string) *liveTable {
	t := &liveTable{w: w, now: time.Now, stop: make(chan struct{})}
	for _, step := range steps {
		t.rows = append(t.rows, tableRow{step: step})
	}
	return t
}

// mostRows is how many steps stand there at once while the run goes on: a table that is longer than the terminal cannot be
// drawn again in place. At the end it is drawn whole.
const mostRows = 12

func (t *liveTable) see(e plan.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = e.Run
	for _, step := range e.Earlier {
		if row := t.rowOf(step); row != nil {
			row.what = plan.Continue + " earlier"
		}
	}
	if e.Step == "" {
		t.draw()
		return
	}
	row := t.rowOf(e.Step)
	if row == nil {
		return
	}
	if row.began.IsZero() {
		row.began = e.Time
	}
	row.what, row.why = words(e)
	if e.Tool != "" {
		row.tool = printable(e.Tool)
	}
	row.busy = e.Verdict == "" && e.What != "undone"
	row.took = e.Time.Sub(row.began)
	t.draw()
}

// rowOf returns the row of a step, which alone is busy from now on; nil if there is none.
func (t *liveTable) rowOf(step string) (row *tableRow) {
	for i := range t.rows {
		t.rows[i].busy = false
		if t.rows[i].step == step {
			row, t.at = &t.rows[i], i
		}
	}
	return row
}

// tick draws the table each second while a step is busy, so that its time runs.
func (t *liveTable) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-ticker.C:
			t.mu.Lock()
			for i := range t.rows {
				if t.rows[i].busy {
					t.rows[i].took = t.now().Sub(t.rows[i].began)
				}
			}
			t.draw()
			t.mu.Unlock()
		}
	}
}

func (t *liveTable) end() {
	close(t.stop)
	t.wait.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended = true; t.run != "" { // else it never began
		t.draw()
	}
}

// draw writes the table over the one before it, in one write: long lines are cut by the terminal, not wrapped. The caller
// has the lock.
func (t *liveTable) draw() {
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", t.drawn)
	}
	body := t.body()
	fmt.Fprintf(&b, "\x1b[J\x1b[?7l%s\x1b[?7h", body)
	t.drawn = strings.Count(body, "\n")
	io.WriteString(t.w, b.String()) // the run goes on, whoever reads
}

func (t *liveTable) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s\n", printable(t.run))
	first, last := 0, len(t.rows)
	if last > mostRows && !t.ended {
		first = min(max(0, t.at-mostRows/2), last-mostRows)
		last = first + mostRows
	}
	if first > 0 {
		fmt.Fprintf(&b, "… %d steps before\n", first)
	}
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range t.rows[first:last] {
		took := ""
		if !row.began.IsZero() {
			took = fmt.Sprintf("%.1fs", row.took.Seconds())
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", printable(row.step), row.tool, took, row.what, row.why)
	}
	tw.Flush()
	if more := len(t.rows) - last; more > 0 {
		fmt.Fprintf(&b, "… %d steps to come\n", more)
	}
	return b.String()
}
