package gateway

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func skim(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Skim([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestHeadersOfArguments(t *testing.T) {
	const schema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
		"n":{"type":"integer","x-mcp-header":"N"},"yes":{"type":"boolean","x-mcp-header":"Yes"},
		"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}},"plain":{"type":"string"}}}`
	headers, err := paramHeaders(skim(t, schema))
	if err != nil || len(headers) != 4 {
		t.Fatalf("paramHeaders: %v, %v", headers, err)
	}
	for name, tt := range map[string]struct {
		args string
		want map[string]string
	}{
		"all":             {`{"region":"é us","n":9007199254740991,"yes":false,"deep":{"er":"x"},"plain":"p"}`, map[string]string{"Region": "é us", "N": "9007199254740991", "Yes": "false", "Deeper": "x"}},
		"null and none":   {`{"region":null,"deep":{}}`, nil},
		"integers":        {`{"n":1.0}`, map[string]string{"N": "1"}},
		"exponent":        {`{"n":1e2}`, map[string]string{"N": "100"}},
		"no integer":      {`{"n":1.5}`, nil},
		"too large":       {`{"n":9007199254740993}`, nil},
		"infinite":        {`{"n":1e400}`, nil},
		"another kind":    {`{"region":["us"],"yes":{}}`, nil},
		"no arguments":    {`null`, nil},
		"not an object":   {`[1]`, nil},
		"empty string":    {`{"region":""}`, map[string]string{"Region": ""}},
		"line feed in it": {`{"region":"a\nb"}`, map[string]string{"Region": "a\nb"}}, // the transport encodes it
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, headerValues(headers, skim(t, tt.args))); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadersThatAreNotValid(t *testing.T) {
	property := func(text string) string { return `{"properties":{"a":` + text + `}}` }
	for name, schema := range map[string]string{
		"empty":         property(`{"type":"string","x-mcp-header":""}`),
		"no string":     property(`{"type":"string","x-mcp-header":1}`),
		"space":         property(`{"type":"string","x-mcp-header":"a b"}`),
		"colon":         property(`{"type":"string","x-mcp-header":"a:b"}`),
		"line feed":     property(`{"type":"string","x-mcp-header":"a\r\nSet-Cookie"}`),
		"not ASCII":     property(`{"type":"string","x-mcp-header":"é"}`),
		"number":        property(`{"type":"number","x-mcp-header":"A"}`),
		"object":        property(`{"type":"object","x-mcp-header":"A"}`),
		"several types": property(`{"type":["string","null"],"x-mcp-header":"A"}`),
		"twice":         `{"properties":{"a":{"type":"string","x-mcp-header":"Aa"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"aA"}}}}}`,
		"too many":      `{"properties":{` + strings.Repeat(`"a":{"properties":{"b":{"type":"string","x-mcp-header":"H"}}},`, 2) + `"z":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := paramHeaders(skim(t, schema)); err == nil {
				t.Errorf("got %v, want an error", got)
			}
		})
	}
}

func TestHeadersAreHeldAgainstTheArguments(t *testing.T) {
	headers, err := paramHeaders(skim(t, `{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args  string
		came  map[string]string
		agree bool
	}{
		"all":             {`{"region":"us","n":1}`, map[string]string{"region": "us", "n": "1"}, true},
		"as numbers":      {`{"n":1.0}`, map[string]string{"n": "1"}, true},
		"as numbers too":  {`{"n":1}`, map[string]string{"n": "1.0"}, true},
		"another value":   {`{"region":"us"}`, map[string]string{"region": "eu"}, false},
		"another case":    {`{"region":"us"}`, map[string]string{"region": "US"}, false},
		"another number":  {`{"n":1}`, map[string]string{"n": "2"}, false},
		"no argument":     {`{}`, map[string]string{"region": "us"}, false},
		"null":            {`{"region":null}`, map[string]string{"region": "null"}, false},
		"missing":         {`{"region":"us"}`, nil, false},
		"somebody else's": {`{}`, map[string]string{"other": "x"}, true},
		"none":            {`{}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := headersAgree(headers, skim(t, tt.args), tt.came); (err == nil) != tt.agree {
				t.Errorf("got %v, want agreement %v", err, tt.agree)
			}
		})
	}
}

func TestTemplatesFit(t *testing.T) {
	for _, tt := range []struct {
		template, uri string
		literal       int
		ok            bool
	}{
		{"db://{table}/rows", "db://t/rows", 10, true},
		{"db://{table}/rows", "db:///rows", 10, true},
		{"db://{table}/rows", "db://t/row", 0, false},
		{"db://{table}/rows", "xdb://t/rows", 0, false},
		{"file:///{+path}", "file:///a/b/c", 8, true},
		{"{x}", "anything", 0, true},
		{"a{x}b{y}c", "aXbYc", 3, true},
		{"a{x}b{y}c", "aXYc", 0, false},
		{"a{x}a", "a", 0, false},
		{"plain", "plain", 5, true},
		{"plain", "plainer", 0, false},
		{"broken{", "broken", 0, false},
		{"", "", 0, true},
		{"", "x", 0, false},
	} {
		if literal, ok := fits(tt.template, tt.uri); ok != tt.ok || ok && literal != tt.literal {
			t.Errorf("fits(%q, %q) = %d, %v, want %d, %v", tt.template, tt.uri, literal, ok, tt.literal, tt.ok)
		}
	}
}

// FuzzRow: a row that is taken can be read in one way only, its bytes are the ones that came, and nothing made of it
// panics.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"a","Name":"b"}`, `{"name":"","x":1}`, `{"name":"a","name":"b"}`,
		`null`, `[]`, `{"name":1}`, `{"name":"\ud800"}`, `{"uriTemplate":"{","name":"a"}`,
		`{"name":"a","inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":"H"}}}}`,
	} {
		f.Add(seed, `{"p":"x"}`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		for _, of := range []list{toolList, promptList, resourceList, templateList} {
			r, err := readRow(of, []byte(text))
			if err != nil {
				continue
			}
			strict, err := canon.Parse(r.raw)
			if err != nil {
				t.Fatalf("taken: %q: %v", r.raw, err)
			}
			if name, _ := strict.Get(of.key).Text(); name != r.name || !strings.Contains(text, string(r.raw)) {
				t.Errorf("%q is taken for %q of %q", text, r.name, r.raw)
			}
			fits(r.name, args)
			if v, err := canon.Skim([]byte(args)); err == nil {
				headers, _ := paramHeaders(member(strict, "inputSchema"))
				headersAgree(headers, v, headerValues(headers, v))
			}
			if renamed := renamed(r, "fs__"+r.name); !strings.Contains(string(renamed), "fs__") {
				t.Errorf("renamed to %q", renamed)
			}
		}
	})
}
