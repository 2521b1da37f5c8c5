package canon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"sallyport/internal/canon"
)

// FuzzCanonical checks that the canonical form is one: it is a fixed point, CheckObject takes it and nothing else, and
// it means what the text means.
func FuzzCanonical(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		canonical, err := canon.Canonical(text)
		checkAgreement(t, text)
		if !bytes.Equal(text, before) {
			t.Fatalf("the text %q has become %q", before, text)
		}
		if err != nil {
			checkError(t, text, err)
			return
		}
		again, err := canon.Canonical(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Errorf("Canonical(%q) = %q, but of that it is %q, %v", text, canonical, again, err)
		}
		checkAgreement(t, canonical)
		v, _ := canon.Parse(text)
		w, _ := canon.Parse(canonical)
		if !equal(v, w) {
			t.Errorf("Canonical(%q) = %q, which means something else", text, canonical)
		}
	})
}

// FuzzParse checks Parse against encoding/json, which takes more: duplicate keys, bad UTF-8, half surrogate pairs,
// numbers of any length, deeper nesting.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := canon.Parse(text)
		isJSON := json.Valid(text) && utf8.Valid(text)
		if err != nil {
			e := checkError(t, text, err)
			if depth := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")); depth > 10_000 {
				return // encoding/json gives up there
			}
			if e.Malformed() == isJSON {
				t.Errorf("Parse(%q) = %v, malformed %v, encoding/json says %v", text, err, e.Malformed(), isJSON)
			}
			return
		}
		if !isJSON {
			t.Fatalf("Parse(%q) takes what encoding/json does not", text)
		}
		if got, want := v.Bytes(), bytes.Trim(text, " \t\r\n"); !bytes.Equal(got, want) {
			t.Errorf("Parse(%q) has bytes %q, want %q", text, got, want)
		}
		var want any
		if err := json.Unmarshal(text, &want); err == nil {
			compare(t, v, want)
		}
	})
}

func addSeeds(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Text))
	}
	f.Add([]byte(sample))
	f.Add(records(1)[0])
	f.Add(manyKeys(40))
}

func checkError(t *testing.T, text []byte, err error) *canon.Error {
	t.Helper()
	e, ok := errors.AsType[*canon.Error](err)
	if !ok || e.Reason <= canon.NotCanonical || e.Reason > canon.Range || e.Detail == "" || e.Offset < 0 || e.Offset > len(text) {
		t.Fatalf("%q is refused with %#v", text, err)
	}
	return e
}

// equal reports whether two values mean the same.
func equal(v, w canon.Value) bool {
	if v.Kind() != w.Kind() {
		return false
	}
	switch v.Kind() {
	case canon.Number:
		return number(v) == number(w)
	case canon.String:
		a, _ := v.Text()
		b, _ := w.Text()
		return a == b
	case canon.Array:
		var rest []canon.Value
		for element := range w.Elements() {
			rest = append(rest, element)
		}
		for element := range v.Elements() {
			if len(rest) == 0 || !equal(element, rest[0]) {
				return false
			}
			rest = rest[1:]
		}
		return len(rest) == 0
	case canon.Object:
		members := make(map[string]canon.Value)
		for key, member := range w.Members() {
			members[key] = member
		}
		for key, member := range v.Members() {
			if !equal(member, members[key]) {
				return false
			}
			delete(members, key)
		}
		return len(members) == 0
	default:
		return bytes.Equal(v.Bytes(), w.Bytes())
	}
}

// number returns what identifies a number: its digits if it is an integer, the bits of its float otherwise.
func number(v canon.Value) string {
	raw := string(v.Bytes())
	if raw == "-0" {
		return "0"
	}
	if !bytes.ContainsAny(v.Bytes(), ".eE") {
		return raw
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return "infinite"
	}
	return "float " + strconv.FormatUint(math.Float64bits(f), 16)
}

// compare checks that v reads as encoding/json reads it.
func compare(t *testing.T, v canon.Value, want any) {
	t.Helper()
	switch want := want.(type) {
	case nil:
		if v.Kind() != canon.Null {
			t.Errorf("%s has kind %s", v.Bytes(), v.Kind())
		}
	case bool:
		if got, ok := v.Bool(); !ok || got != want {
			t.Errorf("Bool of %s = %v, %v", v.Bytes(), got, ok)
		}
	case string:
		if got, ok := v.Text(); !ok || got != want {
			t.Errorf("Text of %s = %q, %v, want %q", v.Bytes(), got, ok, want)
		}
	case float64:
		if got, ok := v.Int(); v.Kind() != canon.Number || ok && float64(got) != want {
			t.Errorf("Int of %s = %d, want %v", v.Bytes(), got, want)
		}
	case []any:
		i := 0
		for element := range v.Elements() {
			if i < len(want) {
				compare(t, element, want[i])
			}
			i++
		}
		if i != len(want) {
			t.Errorf("%s has %d elements, want %d", v.Bytes(), i, len(want))
		}
	case map[string]any:
		n := 0
		for key, member := range v.Members() {
			n++
			if got := v.Get(key); !bytes.Equal(got.Bytes(), member.Bytes()) {
				t.Errorf("Get(%q) of %s = %s, want %s", key, v.Bytes(), got.Bytes(), member.Bytes())
			}
			compare(t, member, want[key])
		}
		if n != len(want) {
			t.Errorf("%s has %d members, want %d", v.Bytes(), n, len(want))
		}
	}
}
