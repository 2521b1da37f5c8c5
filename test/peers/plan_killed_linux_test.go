//go:build peers

package peers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const planPolicy = `version: 2
default: deny
rules:
  - {id: look, decision: allow, tools: [read_ledger, fs__read_text_file], read_only: true}
  - {id: notes, decision: allow, tools: [write_note, erase_note]}
  - {id: files, decision: allow, tools: [fs__write_file], mutation: {key: sallyport/request_id}}
`

// threeSteps is a plan on two real servers. Its last step fails where there are notes that are not its own.
const threeSteps = `version: 1
steps:
  - id: announce
    call:    {tool: write_note, arguments: {request_id: "${run.id}-announce", text: "it begins"}}
    observe: {tool: read_ledger}
    expect:  'observation.notes.exists(n, n.request_id == args.request_id && n.text == args.text)'
    undo:    {tool: erase_note, arguments: {request_id: "${args.request_id}"}}
    undone:  '!observation.notes.exists(n, n.request_id == args.request_id)'
  - id: publish
    call:    {tool: fs__write_file, arguments: {path: "$FILES/${run.id}.txt", content: "said in ${steps.announce.result.request_id}"}}
    observe: {tool: fs__read_text_file, arguments: {path: "${args.path}"}}
    expect:  'observation.content == args.content'
    undo:    {tool: fs__write_file, arguments: {path: "${args.path}", content: ""}}
    undone:  'observation.content == ""'
  - id: close
    call:    {tool: write_note, arguments: {request_id: "${run.id}-close", text: "published: ${steps.publish.observation.content}"}}
    observe: {tool: read_ledger}
    expect:  'observation.notes.exists(n, n.request_id == args.request_id) && observation.notes.size() == 2'
    undo:    {tool: erase_note, arguments: {request_id: "${args.request_id}"}}
    undone:  '!observation.notes.exists(n, n.request_id == args.request_id)'
`

// stage is where a plan is run: two real servers, what they keep, and what the one from npm is sent.
type stage struct{ dir string }

func (s stage) path(name string) string { return filepath.Join(s.dir, name) }

// newStage makes a stage, or one whose ledger's folder is a copy of another's.
func newStage(t *testing.T, dir string, like *stage) stage {
	t.Helper()
	s := stage{dir}
	for _, name := range []string{"files", "sent"} {
		if err := os.MkdirAll(s.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if like != nil && exists(like.path("ledger")) {
		if out, err := exec.Command("cp", "-a", like.path("ledger"), s.path("ledger")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	record, err := filepath.Abs("record")
	if err != nil {
		t.Fatal(err)
	}
	server, err := filepath.Abs("node_modules/.bin/mcp-server-filesystem")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(object{"mcpServers": object{"fs": object{
		"command": record, "args": []string{s.path("sent"), node(t), server, s.path("files")},
		"env": object{"NODE_COMPILE_CACHE": filepath.Join(filepath.Dir(dir), "compiled")},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"servers.json": string(servers), "policy.yaml": planPolicy, "plan.yaml": strings.ReplaceAll(threeSteps, "$FILES", s.path("files")),
	} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// command is the command line of what is done with the plan there.
func (s stage) command(words ...string) []string {
	return slices.Concat([]string{sallyport, words[0], s.path("plan.yaml"), "--servers", s.path("servers.json"), "--builtin",
		"--policy", s.path("policy.yaml"), "--ledger", s.path("ledger")}, words[1:])
}

// wrote is what is in the ledger of what happened, and what was sent to the server from npm: how often each.
func (s stage) wrote(t *testing.T) map[string]int {
	t.Helper()
	happened := map[string]int{}
	place := place{ledger: s.path("ledger")}
	place.outcomes(t) // which verifies it
	for _, r := range records(t, place.ledger) {
		if r.Method == "tools/call" && r.Outcome != "observed" && r.Outcome != "replay" && r.Name != "fs__read_text_file" && !strings.HasPrefix(r.RequestID, "rehearsal-") {
			happened[r.Name+" "+r.Outcome+" "+ofRun(r.RequestID)]++
		}
	}
	for _, sent := range recordings(t, s.path("sent"), "in") {
		for line := range strings.Lines(sent) {
			var m struct {
				Params struct {
					Name      string
					Arguments struct{ Content string }
				}
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%v\n%s", err, line)
			}
			if m.Params.Name == "write_file" {
				happened[fmt.Sprintf("sent %q", ofRun(m.Params.Arguments.Content))]++
			}
		}
	}
	return happened
}

// remains is what is there in the end: notes and their texts, files and their contents.
func (s stage) remains(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	place := place{policy: s.path("policy.yaml"), ledger: s.path("ledger")}
	look := exec.Command(place.serve()[0], place.serve()[1:]...)
	look.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_ledger","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	said, err := look.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			StructuredContent struct {
				Notes []struct {
					RequestID string `json:"request_id"`
					Text      string
				}
			}
		}
	}
	if err := json.Unmarshal(said, &answer); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, note := range answer.Result.StructuredContent.Notes {
		found["note "+ofRun(note.RequestID)] = ofRun(note.Text)
	}
	files, err := os.ReadDir(s.path("files"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(s.path("files/" + file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found["file "+ofRun(file.Name())] = ofRun(string(text))
	}
	return found
}

// ofRun is a text with RUN in the place of the id of a run.
func ofRun(text string) string { return runID.ReplaceAllString(text, "RUN") }

var runID = regexp.MustCompile(`\d{8}T\d{9}-[0-9a-f]{16}`)

// killings are the two ends that the plan comes to, whoever is killed on the way.
func killings() []killing {
	done := map[string]int{
		"write_note committed RUN-announce": 1, "write_note committed RUN-close": 1,
		"fs__write_file committed RUN/publish/call": 1, `sent "said in RUN-announce"`: 1,
	}
	undone := maps.Clone(done)
	maps.Copy(undone, map[string]int{
		"write_note committed foreign":      1,
		"erase_note forwarded RUN-announce": 1, "erase_note forwarded RUN-close": 1,
		"fs__write_file committed RUN/publish/undo": 1, `sent ""`: 1,
	})
	return []killing{
		{name: "CONTINUE", code: 0, happened: done, remains: map[string]string{
			"note RUN-announce": "it begins", "note RUN-close": "published: said in RUN-announce", "file RUN.txt": "said in RUN-announce",
		}},
		{name: "ROLLBACK", code: 11, from: 20, prepare: rehearsedAndSpoilt, happened: undone, remains: map[string]string{
			"note foreign": "it was here first", "file RUN.txt": "",
		}},
	}
}

// A run that is killed at any write of its journal, and then gone on with, comes to the same end as one that nobody disturbs.
func TestPlanKilledAtEveryWriteOfItsJournal(t *testing.T) {
	for _, k := range killings() {
		t.Run(k.name, k.atEveryWrite)
	}
}

// So does a run of which each process is killed in its turn, soon after it has gone on.
func TestPlanKilledAgainAndAgain(t *testing.T) {
	for _, k := range killings() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			start := k.stage(t)
			s := newStage(t, filepath.Join(realDir(t), "stage"), &start)
			died, words := 0, []string{"run"}
			for {
				// At the sync of the third line: that it goes on is one, and two say what it did.
				e := dieAt(t, 7, s.command(words...))
				if over := e.code == 2 && died > 0 && isOver(e.stderr); !e.killed && !over && e.code != k.code {
					t.Errorf("after %d deaths: exit code %d, want %d\n%s", died, e.code, k.code, e.stderr)
				}
				if !e.killed {
					break
				}
				if died++; died > 30 {
					t.Fatal("it comes to no end")
				}
				words = []string{"run", "--resume"}
			}
			if died < 4 {
				t.Errorf("only %d processes were killed", died)
			}
			k.check(t, s)
		})
	}
}

// killing is a run that is killed, and what is to come of it all the same.
type killing struct {
	name     string
	code     int
	from     int // the points of death before are left out: there it is like another
	prepare  func(t *testing.T, s stage)
	remains  map[string]string
	happened map[string]int
}

// stage is a new one on which all is ready for the run.
func (k *killing) stage(t *testing.T) stage {
	t.Helper()
	s := newStage(t, filepath.Join(realDir(t), "stage"), nil)
	if k.prepare != nil {
		k.prepare(t, s)
	}
	return s
}

func (k *killing) atEveryWrite(t *testing.T) {
	dir, start := realDir(t), k.stage(t)
	whole := newStage(t, filepath.Join(dir, "whole"), &start)
	undisturbed := dieAt(t, 0, whole.command("run"))
	if undisturbed.code != k.code {
		t.Fatalf("exit code %d, want %d\n%s", undisturbed.code, k.code, undisturbed.stderr)
	}
	k.check(t, whole)
	// For each of three steps what is intended, what came of it and what was decided, or that it is undone; and the end.
	if got, want := strings.Count(strings.Join(undisturbed.points[k.from:], "\n"), "write of"), 3*3+1; got < want {
		t.Fatalf("%d writes, want %d at least: %q", got, want, undisturbed.points)
	}
	for i, point := range undisturbed.points {
		if i < k.from {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", i+1, point), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, filepath.Join(dir, fmt.Sprint(i+1)), &start)
			died := dieAt(t, i+1, s.command("run"))
			if !died.killed || !slices.Equal(died.points, undisturbed.points[:i+1]) {
				t.Fatalf("killed %t, after %q\n%s", died.killed, died.points, died.stderr)
			}
			said, code := run(t, s.command("run", "--resume"))
			switch none := code == 2 && isOver(said); {
			case none && i < slices.Index(undisturbed.points, "write of the journal"): // there was no journal yet
				said, code = run(t, s.command("run"))
			case none && i == len(undisturbed.points)-1: // it was over
				code = k.code
			}
			if code != k.code {
				t.Errorf("gone on with: exit code %d, want %d\n%s", code, k.code, said)
			}
			k.check(t, s)
		})
	}
}

// isOver reports whether that is what is said where there is no run to go on with.
func isOver(said string) bool { return strings.Contains(said, "hint: begin a new run") }

// run runs a command and returns what it said and its exit code.
func run(t *testing.T, command []string) (said string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || !cmd.ProcessState.Exited() {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (k *killing) check(t *testing.T, s stage) {
	t.Helper()
	diff(t, "what remains", s.remains(t), k.remains)
	diff(t, "what happened", s.wrote(t), k.happened)
}

// rehearsedAndSpoilt rehearses the plan, and then writes a note that its last step does not expect.
func rehearsedAndSpoilt(t *testing.T, s stage) {
	t.Helper()
	if out, err := exec.Command(sallyport, s.command("rehearse")[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("rehearsing: %v\n%s", err, out)
	}
	p := place{policy: s.path("policy.yaml"), ledger: s.path("ledger")}
	got := askWithGo(t, p.serve(), []byte(`[{"name":"write_note","arguments":{"request_id":"foreign","text":"it was here first"}}]`))
	diff(t, "the foreign note", got.Answers[0].(map[string]any)["structuredContent"], object{"request_id": "foreign", "status": "committed"})
}
