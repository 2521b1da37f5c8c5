package pretool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/pretool"
)

func hookSessions(t *testing.T) (*pretool.Sessions, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agent")
	return pretool.NewSessions(dir, func(string) string { return "" }, time.Now), dir
}

func jsonValue(t *testing.T, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestJudgeNamesTheCheck that holds a call back, in the order in which the checks are run.
func TestJudgeNamesTheCheck(t *testing.T) {
	sessions, _ := hookSessions(t)
	checks := pretool.New(pretool.Config{Sessions: sessions, Env: func(string) string { return "" }, Windows: true, Knowledge: pretool.BuiltinKnowledge()})
	judge := func(tool, input string) string {
		blocks, _ := checks.Judge("s", tool, jsonValue(t, input))
		var names []string
		for _, block := range blocks {
			if block.Reason == "" {
				t.Errorf("%s has no reason", block.Check)
			}
			names = append(names, block.Check)
		}
		return strings.Join(names, " ")
	}
	expect := func(tool, input, want string) {
		t.Helper()
		if got := judge(tool, input); got != want {
			t.Errorf("%s %s: held back by %q, want %q", tool, input, got, want)
		}
	}
	expect("Write", `{}`, "")
	expect("Bash", `{"command":"del a.txt"}`, "windows-command")
	expect("Write", `{"file_path":"a.py","content":"é"}`, "ascii")
	if err := sessions.AddSteps("s", []string{"LEVEL_1_CONTEXT"}, true); err != nil {
		t.Fatal(err)
	}
	expect("Write", `{}`, "trace")
	for _, flag := range []string{"skill-selection-pending", "task-breakdown-pending", "checkpoint-pending"} {
		if err := sessions.SetFlag("s", flag, "", ""); err != nil {
			t.Fatal(err)
		}
		expect("Edit", `{}`, strings.TrimSuffix(flag, "-pending"))
	}
	expect("Write", `{"file_path":"a.py","content":"é"}`, "checkpoint ascii")
	expect(" Read ", `{}`, "")
	if _, hints := checks.Judge("s", "Grep", jsonValue(t, `{"pattern":"x"}`)); len(hints) != 1 {
		t.Errorf("the hints are %q", hints)
	}
}

// TestFollowAndLeave keep the pointer to the current session, and write it only when it changes.
func TestFollowAndLeave(t *testing.T) {
	sessions, dir := hookSessions(t)
	pointer := filepath.Join(dir, ".current-session.json")
	follow := func(id string) {
		t.Helper()
		if err := sessions.Follow(id); err != nil {
			t.Fatal(err)
		}
		if got := sessions.Current(); got != id {
			t.Errorf("the session is %q, want %q", got, id)
		}
	}
	follow("one")
	before, err := os.Stat(pointer)
	if err != nil {
		t.Fatal(err)
	}
	follow("one")
	if after, err := os.Stat(pointer); err != nil || !os.SameFile(before, after) {
		t.Errorf("the pointer was written again: %v", err)
	}
	follow("two")
	if err := sessions.Leave("one"); err != nil || sessions.Current() != "two" {
		t.Errorf("the session is %q, %v", sessions.Current(), err)
	}
	if err := sessions.Leave("two"); err != nil || sessions.Current() != "" {
		t.Errorf("the session is %q, %v", sessions.Current(), err)
	}
	if err := sessions.Leave("two"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(pointer, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	follow("three")
	if err := sessions.Follow("../x"); err == nil {
		t.Error("a path was taken for a session")
	}
}

// TestProposalsAreBounded in number and in length.
func TestProposalsAreBounded(t *testing.T) {
	sessions, dir := hookSessions(t)
	long := strings.Repeat("é", 1000)
	for i := range 2000 {
		if err := sessions.Propose("s", pretool.Failure{Tool: "Bash", Error: fmt.Sprintf("%d %s", i, long), Host: "claude", ArgsDigest: "d"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "logs", "failure-proposals.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 257<<10 || len(text) < 200<<10 {
		t.Errorf("the proposals have %d bytes", len(text))
	}
	for line := range strings.Lines(string(text)) {
		v := jsonValue(t, line)
		if got, _ := v.Get("error").Text(); len(got) > 240 || got == "" {
			t.Fatalf("an error of %d bytes is kept", len(got))
		}
	}
}

// TestProposalsWithoutWords are none.
func TestProposalsWithoutWords(t *testing.T) {
	sessions, dir := hookSessions(t)
	for _, f := range []pretool.Failure{{}, {Tool: "Bash"}, {Tool: "Bash", Error: " \n\t"}, {Error: "x"}} {
		if err := sessions.Propose("s", f); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "logs")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

// TestProposalsTeachNothing by themselves.
func TestProposalsTeachNothing(t *testing.T) {
	sessions, _ := hookSessions(t)
	checks := pretool.New(pretool.Config{Sessions: sessions, Env: func(string) string { return "" }, Knowledge: pretool.BuiltinKnowledge()})
	input := jsonValue(t, `{"file_path":"a","old_string":"b","new_string":"c"}`)
	_, before := checks.Judge("s", "Edit", input)
	if err := sessions.Propose("s", pretool.Failure{Tool: "Edit", Error: "String to replace not found", Host: "claude"}); err != nil {
		t.Fatal(err)
	}
	_, after := checks.Judge("s", "Edit", input)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the hints changed (-before +after):\n%s", diff)
	}
}
