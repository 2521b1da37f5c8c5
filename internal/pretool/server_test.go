package pretool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/pretool"
)

func TestServerListsWhatThePolicyAllows(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.json")
	write(t, policy, `{"version":1,"allow":["validate_tool_call","get_enforcer_state"]}`)
	replies := serve(t, "--policy "+policy+" --ledger "+filepath.Join(dir, "ledger"), dir, nil,
		modern(1, "tools/list", ""),
		modern(2, "tools/call", `"name":"reset_enforcer_flags","arguments":{},`),
		modern(3, "tools/call", `"name":"get_enforcer_state","arguments":{},`))
	for _, r := range replies {
		switch r.ID {
		case 1:
			var names []string
			for _, tool := range r.Result.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"validate_tool_call", "get_enforcer_state"}, names); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
		case 2:
			if r.Error == nil || r.Error.Message != "tool denied: reset_enforcer_flags" {
				t.Errorf("reset_enforcer_flags: got %+v, want a denial", r)
			}
		case 3:
			if r.Error != nil {
				t.Errorf("get_enforcer_state: %+v", r.Error)
			}
		}
	}
	if len(replies) != 3 {
		t.Errorf("%d replies, want 3", len(replies))
	}
}

func TestServerListsAllNine(t *testing.T) {
	dir := t.TempDir()
	replies := serve(t, "--ledger "+dir, dir, nil, modern(1, "tools/list", ""))
	var names []string
	for _, tool := range replies[0].Result.Tools {
		names = append(names, tool.Name)
	}
	want := []string{"validate_tool_call", "check_task_breakdown", "check_skill_selected", "check_level_completion", "get_enforcer_state",
		"check_failure_patterns", "get_dynamic_skill_hint", "reset_enforcer_flags", "validate_agent_dispatch"}
	if !slices.Equal(names[len(names)-len(want):], want) {
		t.Errorf("the tools end with %v, want %v", names, want)
	}
}

// TestServerAnswersInOneLine has a flag file that somebody laid out nicely.
func TestServerAnswersInOneLine(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "logs", "sessions", "S", "flags", "task-breakdown-pending.json"), "{\r\n  \"n\": 1.50,\n  \"é\": \"a\\nb\"\n}\n")
	replies := serve(t, "--ledger "+dir, dir, []string{"CLAUDE_SESSION_ID=S"}, modern(1, "tools/call", `"name":"check_task_breakdown","arguments":{},`))
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	want := `"flag_data":{    "n": 1.50,   "é": "a\nb" }`
	if got := string(replies[0].Result.StructuredContent); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

func TestServerLimitsCalls(t *testing.T) {
	var lines []string
	for id := range 103 {
		lines = append(lines, modern(id, "tools/call", `"name":"get_enforcer_state","arguments":{},`))
	}
	for _, limited := range []bool{true, false} {
		dir := t.TempDir()
		env := []string{"ENABLE_RATE_LIMITING=0"}
		if limited {
			env = []string{"ENABLE_RATE_LIMITING=1"}
		}
		refused := 0
		for _, r := range serve(t, "--ledger "+dir, dir, env, lines...) {
			if r.Error != nil {
				t.Fatalf("error %+v", r.Error)
			}
			var answer map[string]any
			if err := json.Unmarshal(r.Result.StructuredContent, &answer); err != nil {
				t.Fatal(err)
			}
			wait, ok := answer["retry_after"].(float64)
			if ok != (answer["success"] == false) || ok != r.Result.IsError || ok && wait < 1 {
				t.Errorf("got %s", r.Result.StructuredContent)
			}
			if ok {
				refused++
			}
		}
		// The bucket fills while the calls run: at 100 a minute, by one or two.
		if limited && (refused < 1 || refused > 3) || !limited && refused > 0 {
			t.Errorf("limited %t: %d of %d calls were refused", limited, refused, len(lines))
		}
	}
}

// TestServersExpireAndResetTheSameFlags has servers race for the files of one session, while a writer sets them anew.
func TestServersExpireAndResetTheSameFlags(t *testing.T) {
	const servers, rounds = 3, 60
	dir := t.TempDir()
	var lines []string
	for id := range rounds {
		for i, call := range []string{
			`"name":"check_task_breakdown","arguments":{},`,
			`"name":"reset_enforcer_flags","arguments":{},`,
			`"name":"validate_tool_call","arguments":{"tool_name":"Write"},`,
		} {
			lines = append(lines, modern(3*id+i, "tools/call", call))
		}
	}
	stop := make(chan struct{})
	var writer, group sync.WaitGroup
	writer.Go(func() {
		flag := filepath.Join(dir, "logs", "sessions", "S", "flags", "task-breakdown-pending.json")
		legacy := filepath.Join(dir, ".task-breakdown-pending-S.json")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{flag, legacy} {
				temp := fmt.Sprintf("%s.%d", filepath.Join(dir, "temp"), i)
				write(t, temp, `{"created_at":"2001-01-01T00:00:00Z"}`)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Error(err)
				}
				if err := os.Rename(temp, name); err != nil {
					t.Error(err)
				}
			}
		}
	})
	cleared := make([]int, servers)
	for i := range servers {
		group.Go(func() {
			for _, r := range serve(t, "--ledger "+filepath.Join(dir, fmt.Sprint("ledger", i)), dir, []string{"CLAUDE_SESSION_ID=S"}, lines...) {
				var answer struct {
					Success, Allowed *bool
					Pending          bool
					Count            int
				}
				if r.Error != nil {
					t.Errorf("error %+v", r.Error)
				} else if err := json.Unmarshal(r.Result.StructuredContent, &answer); err != nil {
					t.Error(err)
				}
				if answer.Success != nil && !*answer.Success || answer.Allowed != nil && !*answer.Allowed || answer.Pending {
					t.Errorf("got %s", r.Result.StructuredContent)
				}
				cleared[i] += answer.Count
			}
		})
	}
	group.Wait()
	close(stop)
	writer.Wait()
	if slices.Max(cleared) == 0 {
		t.Error("no flag was ever reset: the servers did not race")
	}
}

// TestSessionsNeverMeet has sessions at work at once in one folder, and looks at each one's files alone.
func TestSessionsNeverMeet(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for _, id := range []string{"A", "A-B", "A.", "B"} {
		group.Go(func() {
			env := func(key string) string {
				if key == "CLAUDE_SESSION_ID" {
					return id
				}
				return ""
			}
			sessions := pretool.NewSessions(dir, env, time.Now)
			checks := pretool.New(pretool.Config{Sessions: sessions, Env: env, Knowledge: pretool.BuiltinKnowledge()})
			for range 50 {
				if got := ask(t, checks, "check_skill_selected", nil); got["pending"] != false || got["session_id"] != id {
					t.Errorf("%s: another session's flag: %v", id, got)
				}
				if err := sessions.SetFlag(id, "skill-selection-pending", "skill-of-"+id, ""); err != nil {
					t.Error(err)
				}
				if got := ask(t, checks, "check_skill_selected", nil); got["required_skill"] != "skill-of-"+id {
					t.Errorf("%s: its flag is gone, or another's: %v", id, got)
				}
				if got := ask(t, checks, "reset_enforcer_flags", nil); got["count"] != 1.0 {
					t.Errorf("%s: reset %v", id, got)
				}
			}
		})
	}
	group.Wait()
}
