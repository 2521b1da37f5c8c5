package schema_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/schema"
)

// suite is where the language's official test suite is: the module of another validator has it with its tests.
func suite(t *testing.T, draft string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", draft)
}

// elsewhere are the suite's schemas that refer to documents of their own: nothing is fetched, so they must be refused.
func elsewhere(err error) bool {
	return err != nil && strings.Contains(err.Error(), "a reference to a schema elsewhere")
}

// TestOfficialSuite runs the official JSON Schema test suite.
func TestOfficialSuite(t *testing.T) {
	for draft, uri := range map[string]string{
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
		"draft7":       "http://json-schema.org/draft-07/schema#",
	} {
		t.Run(draft, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(suite(t, draft), "*.json"))
			if err != nil || len(files) < 30 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			tests, refused := 0, 0
			for _, file := range files {
				if filepath.Base(file) == "refRemote.json" {
					continue
				}
				ran, not := runFile(t, file, uri)
				tests, refused = tests+ran, refused+not
			}
			if tests < 700 || refused > 60 {
				t.Errorf("%d tests ran, %d were about other documents", tests, refused)
			}
			t.Logf("%d tests, %d about other documents", tests, refused)
		})
	}
}

func runFile(t *testing.T, file, uri string) (ran, refused int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		raw := g.Schema
		if raw[0] == '{' && !strings.Contains(string(raw), `"$schema"`) {
			raw = json.RawMessage(strings.Replace(string(raw), "{", `{"$schema":"`+uri+`",`, 1))
			raw = json.RawMessage(strings.Replace(string(raw), ",}", "}", 1))
		}
		s, err := schema.Compile(raw)
		if elsewhere(err) {
			refused += len(g.Tests)
			continue
		}
		if err != nil {
			t.Errorf("%s: %s: %v", filepath.Base(file), g.Description, err)
			continue
		}
		for _, test := range g.Tests {
			ran++
			v, err := canon.Parse(test.Data)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(v); (err == nil) != test.Valid {
				t.Errorf("%s: %s: %s: valid is %t, want %t (%v)", filepath.Base(file), g.Description, test.Description, err == nil, test.Valid, err)
			}
		}
	}
	return ran, refused
}
