package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lie is what a server of these tests does, named by this variable: each answers success to every write.
const lie = "HARNESS_TEST_LIE"

// binary is the freshly built sallyport.
var binary string

func TestMain(m *testing.M) {
	if how := os.Getenv(lie); how != "" {
		serve(how)
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "harness-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "sallyport")
	if out, err := exec.Command("go", "build", "-o", binary, "sallyport/cmd/sallyport").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building sallyport: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// serve is an MCP server that lies.
func serve(how string) {
	var stored []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			ID     int
			Params struct {
				Name      string
				Arguments note
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return
		}
		answer := `{"status":"committed"}`
		if n := request.Params.Arguments; request.Params.Name == "read_ledger" {
			answer = `{"notes":[` + strings.Join(stored, ",") + `]}`
			switch how {
			case "blind":
				fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":true}}`+"\n", request.ID)
				continue
			case "mumbles":
				answer = `{"notes":"all of them"}`
			case "dies":
				return
			}
		} else {
			text := map[string]string{"alters": "gate open", "honest": n.Text, "doubles": n.Text}[how]
			row, _ := json.Marshal(note{n.RequestID, text})
			for range map[string]int{"alters": 1, "honest": 1, "doubles": 2}[how] {
				stored = append(stored, string(row))
			}
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":%s}}`+"\n", request.ID, answer)
	}
}

// TestContinueWithTheRealServer runs the harness on sallyport itself, twice: the second time is a retry.
func TestContinueWithTheRealServer(t *testing.T) {
	command := []string{binary, "serve", "--ledger", filepath.Join(t.TempDir(), "ledger")}
	for range 2 {
		if err := run(command, note{"req-0001", "gate applied"}); err != nil {
			t.Errorf("STOP: %v", err)
		}
	}
	// The request_id stands for another text now: the tool says conflict, and what is there is not what we want.
	if err := run(command, note{"req-0001", "gate closed"}); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("got %v, want STOP", err)
	}
}

// TestStopWhereTheServerLies: each of these servers answers that the note was written.
func TestStopWhereTheServerLies(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]string{
		"honest":  "",
		"forgets": "is there 0 times",
		"alters":  "says something else",
		"doubles": "is there 2 times",
		"blind":   "the observation failed",
		"mumbles": "the observation cannot be read",
		"dies":    "no answer",
	} {
		t.Setenv(lie, how)
		err := run([]string{self}, note{"req-0001", "gate applied"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a server that %s: got %v, want %q", how, err, want)
		}
	}
}
