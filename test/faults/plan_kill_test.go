//go:build linux

package faults_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// planRules allow what the plans here call.
const planRules = "version: 2\ndefault: deny\nrules:\n" +
	"  - {id: look, decision: allow, tools: [read_ledger], read_only: true}\n" +
	"  - {id: notes, decision: allow, tools: [write_note, erase_note]}\n"

// planText is a plan of three notes. last is what the last of them expects.
func planText(last string) string {
	text := "version: 1\nsteps:\n"
	for i, id := range []string{"one", "two", "three"} {
		expect := "observation.notes.exists(n, n.request_id == args.request_id && n.text == args.text)"
		if i == 2 && last != "" {
			expect = last
		}
		text += "  - id: " + id + "\n" +
			"    call:    {tool: write_note, arguments: {request_id: \"${run.id}-" + id + "\", text: \"" + id + "\"}}\n" +
			"    observe: {tool: read_ledger}\n    expect:  '" + expect + "'\n" +
			"    undo:    {tool: erase_note, arguments: {request_id: \"${args.request_id}\"}}\n" +
			"    undone:  '!observation.notes.exists(n, n.request_id == args.request_id)'\n"
	}
	return text
}

// planner is a plan with the ledger that it is run on.
type planner struct {
	t            *testing.T
	dir          folder
	plan, policy string
}

func newPlanner(t *testing.T, last string) *planner {
	t.Helper()
	dir := t.TempDir()
	p := &planner{t: t, dir: folder(filepath.Join(dir, "ledger")), plan: filepath.Join(dir, "plan.yaml"), policy: filepath.Join(dir, "policy.yaml")}
	must(t, os.WriteFile(p.plan, []byte(planText(last)), 0o600))
	must(t, os.WriteFile(p.policy, []byte(planRules), 0o600))
	return p
}

// copied is a planner on a copy of its ledger's folder.
func (p *planner) copied(t *testing.T) *planner {
	t.Helper()
	c := *p
	c.t, c.dir = t, folder(filepath.Join(t.TempDir(), "ledger"))
	out, err := exec.Command("cp", "-a", string(p.dir), string(c.dir)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return &c
}

func (p *planner) args(command string, more ...string) []string {
	return append([]string{command, p.plan, "--policy", p.policy, "--ledger", string(p.dir)}, more...)
}

// foreign writes a note that no plan knows of.
func (p *planner) foreign() {
	p.t.Helper()
	s := start(p.t, p.dir, launch{})
	s.mustWrite("foreign", "text")
	if err := s.stop(); err != nil {
		p.t.Fatal(err)
	}
}

// died runs a command that strace kills, and reports whether it was killed.
func (p *planner) died(path, call string, n int, args []string) (killed bool, out string) {
	p.t.Helper()
	strace := append(killedAt(path, call, n), binary)
	cmd := exec.Command(strace[0], append(strace[1:], args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	text, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return err != nil && ok && (status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == 128+int(syscall.SIGKILL)), string(text)
}

// begun begins a run that dies when its journal is there, and nothing else, and returns the journal's path.
func (p *planner) begun() string {
	p.t.Helper()
	must(p.t, os.MkdirAll(p.dir.path("runs"), 0o700))
	for range 3 { // the first death may be at the name of the lock
		if killed, out := p.died(p.dir.path("runs"), "fsync", 1, p.args("run")); !killed {
			p.t.Fatalf("the run was not killed: the test tests nothing\n%s", out)
		}
		found, err := filepath.Glob(p.dir.path("runs/*.jsonl"))
		must(p.t, err)
		if len(found) == 1 {
			return found[0]
		}
	}
	p.t.Fatal("no journal is begun")
	return ""
}

// checkEnd holds what remains to what should: these notes, each committed once, and a whole ledger.
func (p *planner) checkEnd(what string, ids ...string) {
	p.t.Helper()
	restart(p.t, p.dir) // which brings into the ledger what a death kept out of it
	records, err := os.ReadFile(p.dir.ledger())
	must(p.t, err)
	for _, id := range ids {
		n := 0
		for line := range strings.Lines(string(records)) {
			if strings.Contains(line, id+`"`) && strings.Contains(line, `"name":"write_note"`) && strings.Contains(line, `"outcome":"committed"`) {
				n++
			}
		}
		if n != 1 {
			p.t.Errorf("%s: %s was committed %d times", what, id, n)
		}
	}
	if n := p.notes(); n != len(ids) {
		p.t.Errorf("%s: %d notes remain, want those of %q", what, n, ids)
	}
	mustVerify(p.t, p.dir)
}

// notes is how many notes there are that were not erased.
func (p *planner) notes() (n int) {
	written, err := filepath.Glob(p.dir.path("notes/*.json"))
	must(p.t, err)
	for _, name := range written {
		if text, err := os.ReadFile(name); err == nil && !strings.Contains(string(text), `"erased":true`) {
			n++
		}
	}
	return n
}

// runID is the run that a journal is of.
func runID(journal string) string { return strings.TrimSuffix(filepath.Base(journal), ".jsonl") }

// A run of three steps, forward and back, dies at each write and sync of its journal, and at each sync of the claims and of the
// ledger, and is gone on with: the end is right, and each note was written once.
func TestRunDiesAtEachWriteOfItsJournal(t *testing.T) {
	needStrace(t)
	t.Parallel()
	for _, way := range []string{"forward", "back"} {
		last, code := "", 0
		if way == "back" {
			last, code = "observation.notes.exists(n, n.request_id == args.request_id) && observation.notes.size() == 3", 11
		}
		template := newPlanner(t, last)
		if out, code := command(t, template.args("rehearse")...); code != 0 {
			t.Fatalf("the rehearsal: %d\n%s", code, out)
		}
		if way == "back" {
			template.foreign()
		}
		journal := template.begun()
		for _, file := range []string{"runs/" + filepath.Base(journal), "claims.log", "ledger.jsonl"} {
			for _, call := range []string{"pwrite64", "fdatasync", "io_submit"} {
				switch {
				case call == "pwrite64" && !strings.HasPrefix(file, "runs/"):
					continue // a death before a sync is one behind a write
				case call == "io_submit" && file != "claims.log":
					continue
				}
				t.Run(way+" "+call+" of "+strings.Split(file, "/")[0], func(t *testing.T) {
					t.Parallel()
					killed := 0
					for n := 1; !t.Failed(); n++ {
						p := template.copied(t)
						dead, _ := p.died(p.dir.path(file), call, n, p.args("run", "--resume"))
						if dead {
							killed++
							if out, got := command(t, p.args("run", "--resume")...); got != code && !alreadyOver(p, got, code) {
								t.Errorf("#%d: resumed it ends with %d, want %d\n%s", n, got, code, out)
							}
						}
						switch run := runID(journal); way {
						case "forward":
							p.checkEnd(fmt.Sprintf("#%d", n), run+"-one", run+"-two", run+"-three")
						case "back":
							p.checkEnd(fmt.Sprintf("#%d", n), "foreign")
							p.checkErased(run)
						}
						if !dead {
							break
						}
					}
					if killed == 0 {
						t.Error("the run was never killed: the test tests nothing")
					}
					t.Logf("killed at %d steps", killed)
				})
			}
		}
	}
}

// alreadyOver reports whether a run that cannot be resumed has come to its end, by its journal.
func alreadyOver(p *planner, got, code int) bool {
	found, _ := filepath.Glob(p.dir.path("runs/*.jsonl"))
	if got != 2 || len(found) != 1 {
		return false
	}
	text, err := os.ReadFile(found[0])
	verdict := map[int]string{0: `"CONTINUE"`, 11: `"ROLLBACK"`}[code]
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return err == nil && strings.Contains(lines[len(lines)-1], verdict)
}

// checkErased: each of a run's notes was written once and erased.
func (p *planner) checkErased(run string) {
	p.t.Helper()
	records, err := os.ReadFile(p.dir.ledger())
	must(p.t, err)
	for _, id := range []string{"-one", "-two", "-three"} {
		written, erased := 0, 0
		for line := range strings.Lines(string(records)) {
			switch {
			case !strings.Contains(line, run+id+`"`) || !strings.Contains(line, `"method":"tools/call"`):
			case strings.Contains(line, `"name":"write_note"`) && strings.Contains(line, `"outcome":"committed"`):
				written++
			case strings.Contains(line, `"name":"erase_note"`):
				erased++
			}
		}
		if written != 1 || erased < 1 {
			p.t.Errorf("%s was written %d times and erased %d times", id, written, erased)
		}
	}
}

// Two sittings of one run at once, and a run beside a run: one is at work, the others say so, and each note is written once.
func TestTwoSittingsOfOneRun(t *testing.T) {
	t.Parallel()
	template := newPlanner(t, "")
	needStrace(t)
	journal := template.begun()
	for round := range 4 {
		p := template.copied(t)
		codes, outs := make([]int, 4), make([]string, 4)
		var wg sync.WaitGroup
		for i := range codes {
			wg.Go(func() {
				if i == 3 {
					outs[i], codes[i] = command(t, p.args("run")...) // a new one, while the old one is not over
					return
				}
				outs[i], codes[i] = command(t, p.args("run", "--resume")...)
			})
		}
		wg.Wait()
		done := 0
		for i, code := range codes {
			switch {
			case code == 0:
				done++
			case code != 2 || !strings.Contains(outs[i], "hint: "):
				t.Errorf("round %d: sitting %d ended with %d\n%s", round, i, code, outs[i])
			}
		}
		if run := runID(journal); done == 1 {
			p.checkEnd(fmt.Sprint("round ", round), run+"-one", run+"-two", run+"-three")
		} else if codes[3] != 0 || done != 2 { // the new one may have come when the old one was over
			t.Errorf("round %d: the sittings ended with %v", round, codes)
		}
	}
}

// A run is at work, and waits: nobody else gets at it, and its death lets the next one at it.
func TestARunBesideARunAtWork(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, "observation.notes.size() == 4") // of which somebody else writes one
	text, err := os.ReadFile(p.plan)
	must(t, err)
	must(t, os.WriteFile(p.plan, append(text, "    retry_observe_for: 10m\n"...), 0o600))
	first := exec.Command(binary, p.args("run")...)
	must(t, first.Start())
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	waitFor(t, "the third step", func() bool {
		return p.notes() == 3
	})
	for name, args := range map[string][]string{"run": p.args("run"), "resume": p.args("run", "--resume"), "abandon": p.args("run", "--abandon", "--reason", "x")} {
		begun := time.Now()
		out, code := command(t, args...)
		if code != 2 || !strings.Contains(out, "hint: ") {
			t.Errorf("%s beside a run at work: %d\n%s", name, code, out)
		}
		if took := time.Since(begun); took > atOnce/2 {
			t.Errorf("%s beside a run at work took %v", name, took)
		}
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	s := start(t, p.dir, launch{})
	s.mustWrite("foreign", "text")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if out, code := command(t, p.args("run", "--resume")...); code != 0 {
		t.Errorf("resumed after its death: %d\n%s", code, out)
	}
	if n := p.notes(); n != 4 {
		t.Errorf("there are %d notes", n)
	}
}

// Whatever stands in the place of the folder of runs, of a journal or of the lock: no run is begun or gone on with, nothing
// outside is touched, nothing hangs.
func TestTrapsForRuns(t *testing.T) {
	needStrace(t)
	t.Parallel()
	for _, trap := range []trap{
		{"runs is a link", link("runs", "."), true},
		{"runs is a dangling link", link("runs", "new"), true},
		{"runs is a pipe", pipe("runs"), true},
		{"runs is a file", func(t *testing.T, dir folder, victims string) {
			must(t, os.RemoveAll(dir.path("runs")))
			must(t, os.Link(victims+"/file", dir.path("runs")))
		}, true},
		{"everybody may write to runs", func(t *testing.T, dir folder, _ string) { must(t, os.Chmod(dir.path("runs"), 0o777)) }, true},
		{"the lock is a link", link("runs/.lock", "file"), true},
		{"the lock is a pipe", pipe("runs/.lock"), true},
		{"the lock is a folder", mkdir("runs/.lock"), true},
		{"the lock is a device", device("runs/.lock"), true},
		{"the journal is a link", journalIs(func(n string) setter { return link(n, "file") }), true},
		{"the journal is a dangling link", journalIs(func(n string) setter { return link(n, "new") }), true},
		{"the journal is a pipe", journalIs(pipe), true},
		{"the journal is a folder", journalIs(mkdir), true},
		{"the journal is a device", journalIs(device), true},
		{"the journal is garbage", journalIs(func(n string) setter {
			return func(t *testing.T, dir folder, _ string) {
				must(t, os.WriteFile(dir.path(n), []byte("garbage\n"), 0o600))
			}
		}), true},
		{"the journal is empty", journalIs(func(n string) setter {
			return func(t *testing.T, dir folder, _ string) { must(t, os.WriteFile(dir.path(n), nil, 0o600)) }
		}), true},
	} {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			p := newPlanner(t, "")
			p.begun()
			victims := filepath.Join(t.TempDir(), "victims")
			must(t, os.Mkdir(victims, 0o700))
			must(t, os.WriteFile(filepath.Join(victims, "file"), []byte("precious"), 0o600))
			trap.set(t, p.dir, victims)
			was := survey(t, victims)
			for _, args := range [][]string{p.args("run", "--resume"), p.args("run")} {
				out, code := command(t, args...)
				if code != 2 || !strings.HasPrefix(out, "sallyport: ") || strings.Contains(out, "panic") {
					t.Errorf("%q ends with %d\n%s", args[1:], code, out)
				}
			}
			if n := p.notes(); n > 0 {
				t.Errorf("%d notes were written", n)
			}
			if is := survey(t, victims); is != was {
				t.Errorf("outside the ledger folder:\n%s\nbefore:\n%s", is, was)
			}
		})
	}
}

// journalIs sets a trap in the place of the one journal.
func journalIs(set func(name string) setter) setter {
	return func(t *testing.T, dir folder, victims string) {
		found, err := filepath.Glob(dir.path("runs/*.jsonl"))
		must(t, err)
		set("runs/"+filepath.Base(found[0]))(t, dir, victims)
	}
}
