//go:build unix && peers

package peers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// record makes a server keep what goes in and out, in a folder.
func record(t *testing.T, server []string) (folder string, command []string) {
	t.Helper()
	folder = t.TempDir()
	t.Cleanup(func() {
		if t.Failed() {
			for _, kept := range recordings(t, folder, "*") {
				t.Logf("messages: %s", kept)
			}
		}
	})
	script, err := filepath.Abs("record")
	if err != nil {
		t.Fatal(err)
	}
	return folder, append([]string{script, folder}, server...)
}

// recordings returns what went one way, a text for each process.
func recordings(t *testing.T, folder, ending string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*."+ending))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// checkEra sees whether all that was sent to the servers was of the era of a version, and of that version.
func checkEra(t *testing.T, folder, version string) {
	t.Helper()
	sessions := recordings(t, folder, "in")
	if len(sessions) == 0 {
		t.Fatal("no server was started")
	}
	for _, session := range sessions {
		for i, line := range slices.Collect(strings.Lines(session)) {
			var message struct {
				Method string
				Params struct {
					ProtocolVersion string
					Meta            object `json:"_meta"`
				}
			}
			if err := json.Unmarshal([]byte(line), &message); err != nil {
				t.Fatal(err)
			}
			named, _ := message.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string)
			switch {
			case version == modern && named != modern:
				t.Errorf("%s names version %q, want %q", message.Method, named, modern)
			case version == legacy && named != "":
				t.Errorf("%s names version %q, want none", message.Method, named)
			case version == legacy && i == 0 && message.Method != "initialize":
				t.Errorf("the session began with %s, want initialize", message.Method)
			case version == legacy && i == 0 && message.Params.ProtocolVersion != legacy:
				t.Errorf("initialize asks for version %q, want %q", message.Params.ProtocolVersion, legacy)
			}
		}
	}
}
