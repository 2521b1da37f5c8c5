package canon_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

// refusedVectors are the vectors of canonical.jsonl that we do not take. Python takes those that are refused by design.
var refusedVectors = map[string]canon.Reason{
	// By design: the result would not be JSON, could be read in two ways, or is nested too deep.
	"literal_NaN":                    canon.Syntax,
	"literal_Infinity":               canon.Syntax,
	"literal_neg_Infinity":           canon.Syntax,
	"float_overflow_to_inf":          canon.Range,
	"float_neg_overflow":             canon.Range,
	"obj_duplicate_last_wins":        canon.Duplicate,
	"obj_duplicate_escaped_key":      canon.Duplicate,
	"obj_duplicate_nested":           canon.Duplicate,
	"nest_deep_900":                  canon.Depth,
	"nest_deep_1500_recursion_limit": canon.Depth,

	// Python refuses these too.
	"int_4301_digits":         canon.Range,
	"str_lone_high_surrogate": canon.Surrogate,
	"str_lone_low_surrogate":  canon.Surrogate,
	"str_reversed_surrogates": canon.Surrogate,
	"str_high_then_char":      canon.Surrogate,
	"key_lone_surrogate":      canon.Surrogate,
	"str_raw_tab_invalid":     canon.Syntax,
	"str_raw_newline_invalid": canon.Syntax,
	"err_trailing_comma":      canon.Syntax,
	"err_single_quotes":       canon.Syntax,
	"err_leading_zero":        canon.Syntax,
	"err_plus_sign":           canon.Syntax,
	"err_bare_dot":            canon.Syntax,
	"err_trailing_dot":        canon.Syntax,
	"err_truncated":           canon.Syntax,
	"err_bad_escape":          canon.Syntax,
	"err_bom_prefix":          canon.Syntax,
	"err_trailing_garbage":    canon.Syntax,
	"err_empty":               canon.Syntax,
	"err_comment":             canon.Syntax,
	"err_hex":                 canon.Syntax,
	"err_true_case":           canon.Syntax,
}

func TestCanonicalOfConformanceVectors(t *testing.T) {
	unseen := make(map[string]bool)
	for name := range refusedVectors {
		unseen[name] = true
	}
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			got, err := canon.Canonical([]byte(v.Text))
			if reason, refused := refusedVectors[v.Name]; refused {
				delete(unseen, v.Name)
				if got := reasonOf(t, err); got != reason {
					t.Errorf("refused for reason %d, want %d", got, reason)
				}
				return
			}
			want, hexErr := hex.DecodeString(v.CanonicalHex)
			if hexErr != nil || len(want) == 0 {
				t.Fatalf("the vector has no canonical form (error %q) and is not in refusedVectors", v.Error)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("canonical form (-want +got):\n%s", diff)
			}
		})
	}
	if len(unseen) > 0 {
		t.Errorf("no such vectors: %v", unseen)
	}
}

func TestCheckObjectOfConformanceVectors(t *testing.T) {
	objects := 0
	for _, v := range vectors(t) {
		text := []byte(v.Text)
		checkAgreement(t, text)
		canonical, err := canon.Canonical(text)
		if err != nil {
			continue
		}
		checkAgreement(t, canonical)
		if canonical[0] == '{' {
			objects++
			if err := canon.CheckObject(canonical, nil); err != nil {
				t.Errorf("%s: CheckObject(%s) = %v", v.Name, canonical, err)
			}
		}
	}
	if objects < 10 {
		t.Errorf("only %d vectors are objects", objects)
	}
}

func TestCheckObjectOfChains(t *testing.T) {
	const dir = "../../testdata/conformance/chains/"
	files, err := filepath.Glob(dir + "*.jsonl")
	if err != nil || len(files) < 24 {
		t.Fatalf("found %d chains, error %v", len(files), err)
	}
	// In all the other files each line is canonical; what is wrong with them is for the ledger to find.
	refused := map[string]map[int]canon.Reason{
		"t04-truncated-last-line.jsonl":    {10: canon.Syntax},
		"t09-appended-garbage.jsonl":       {11: canon.Syntax},
		"t10-blank-line-inserted.jsonl":    {6: canon.Syntax},
		"t11-whitespace-inside-line.jsonl": {5: canon.NotCanonical},
		"x16-nul-tail.jsonl":               {11: canon.Syntax},
		"x17-duplicate-key.jsonl":          {5: canon.Duplicate},
		"x18-crlf-line.jsonl":              {5: canon.NotCanonical},
		"x20-bom.jsonl":                    {1: canon.Syntax},
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "expected.jsonl" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got map[int]canon.Reason
		for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
			if len(text) == 0 {
				break
			}
			checkAgreement(t, line)
			if err := canon.CheckObject(line, nil); err != nil {
				if got == nil {
					got = make(map[int]canon.Reason)
				}
				got[i+1] = reasonOf(t, err)
			}
		}
		if diff := cmp.Diff(refused[name], got); diff != "" {
			t.Errorf("%s: lines refused (-want +got):\n%s", name, diff)
		}
	}
}

// checkAgreement checks what CheckObject promises of text against Parse and Canonical: it takes text if and only if
// that is an object and its own canonical form, and refuses with Parse's error what Parse refuses.
func checkAgreement(t *testing.T, text []byte) {
	t.Helper()
	var members [][]byte
	err := canon.CheckObject(text, func(key, value []byte, start, end int) {
		if got, want := string(text[start:end]), `"`+string(key)+`":`+string(value); got != want {
			t.Errorf("CheckObject(%q) visits %q at %q", text, want, got)
		}
		members = append(members, text[start:end])
	})
	v, parseErr := canon.Parse(text)
	if parseErr != nil {
		if diff := cmp.Diff(parseErr, err); diff != "" {
			t.Errorf("CheckObject(%q), error (-Parse +got):\n%s", text, diff)
		}
		return
	}
	canonical, canonicalErr := canon.Canonical(text)
	want := v.Kind() == canon.Object && canonicalErr == nil && bytes.Equal(canonical, text)
	if got := err == nil; got != want {
		t.Errorf("CheckObject(%q) = %v; canonical form %q, error %v", text, err, canonical, canonicalErr)
	}
	if err == nil {
		joined := "{" + string(bytes.Join(members, []byte(","))) + "}"
		if joined != string(text) {
			t.Errorf("CheckObject(%q) visits %q", text, joined)
		}
	} else if r := reasonOf(t, err); r != canon.NotCanonical && (r != canon.Range || canonicalErr == nil) {
		t.Errorf("CheckObject(%q) = %v, reason %d; Parse takes it", text, err, r)
	}
}

type vector struct {
	Name         string
	Text         string `json:"input_json"`
	CanonicalHex string `json:"canonical_hex"`
	Error        string
}

func vectors(tb testing.TB) []vector {
	tb.Helper()
	text, err := os.ReadFile("../../testdata/conformance/canonical.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	var all []vector
	for line := range bytes.Lines(text) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	if len(all) < 135 {
		tb.Fatalf("read %d vectors, want 135 at least", len(all))
	}
	return all
}

// reasonOf returns the reason of an error, which must be an *Error.
func reasonOf(tb testing.TB, err error) canon.Reason {
	tb.Helper()
	refused, ok := errors.AsType[*canon.Error](err)
	if !ok {
		tb.Fatalf("error is %#v, want an *Error", err)
	}
	return refused.Reason
}
