package canon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func TestAppendString(t *testing.T) {
	tests := []struct{ s, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{"\"\\/", `"\"\\/"`},
		{"\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"\x00\x1f\x7f", "\"\\u0000\\u001f\x7f\""},
		{"<>&\u2028\u2029\uFEFF", "\"<>&\u2028\u2029\uFEFF\""},
		{"é漢😀", `"é漢😀"`},
		{"a\xffb\xed\xa0\x80", "\"a\uFFFDb\uFFFD\uFFFD\uFFFD\""},
	}
	for _, test := range tests {
		got := string(canon.AppendString([]byte("before"), test.s))
		if diff := cmp.Diff("before"+test.want, got); diff != "" {
			t.Errorf("AppendString(%q) (-want +got):\n%s", test.s, diff)
		}
	}
}

func TestCanonicalDoesNotDependOnTheSpelling(t *testing.T) {
	const want = `{"":[],"a":{"é\n":-0.0,"😀":"/"},"b":[1,1.0,1e-05,1e+16,0]}`
	for _, text := range []string{
		want,
		` { "b" : [ 1 , 1.0 , 0.00001 , 1E16 , -0 ] , "a" : { "😀" : "\/" , "é\n" : -0.0 } , "" : [ ] } `,
		`{"\u0061":{"\uD83D\ude00":"\u002f","\u00E9\u000A":-0e9},"b":[1,10e-1,1.0e-5,10000000000000000.0,0],"":[]}`,
	} {
		got, err := canon.Canonical([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("Canonical(%s) (-want +got):\n%s", text, diff)
		}
	}
}

func TestAppendCanonicalOfPartOfAText(t *testing.T) {
	v := parse(t, ` {"z":{"b":1,"a":[ ]},"y":2} `).Get("z")
	got, err := v.AppendCanonical([]byte("before "))
	if err != nil {
		t.Fatal(err)
	}
	if want := `before {"a":[],"b":1}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDigestIsThatOfTheCanonicalBytes(t *testing.T) {
	sum := sha256.Sum256([]byte(`{"a":"é","b":1.0}`))
	want := hex.EncodeToString(sum[:])
	for _, text := range []string{`{"a":"é","b":1.0}`, `{ "b":10e-1, "a":"\u00e9" }`} {
		if got, err := parse(t, text).Digest(); got != want || err != nil {
			t.Errorf("Digest of %s = %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestNoCanonicalFormOfInfinityOrNothing(t *testing.T) {
	tests := []struct {
		v    canon.Value
		want canon.Error
	}{
		{canon.Value{}, canon.Error{Reason: canon.Syntax, Offset: 0, Detail: "no value"}},
		{parse(t, ` {"a":-1e400}`), canon.Error{Reason: canon.Range, Offset: 5, Detail: "number too large for a float"}},
		{parse(t, "[1.8e308]"), canon.Error{Reason: canon.Range, Offset: 1, Detail: "number too large for a float"}},
	}
	for _, test := range tests {
		dst, err := test.v.AppendCanonical([]byte("before"))
		digest, digestErr := test.v.Digest()
		for _, err := range []error{err, digestErr} {
			got, ok := errors.AsType[*canon.Error](err)
			if !ok || *got != test.want {
				t.Errorf("%q: error %v, want %v", test.v.Bytes(), err, &test.want)
			}
		}
		if string(dst) != "before" || digest != "" {
			t.Errorf("%q: appended %q, digest %q", test.v.Bytes(), dst, digest)
		}
	}
	_, err := canon.Canonical([]byte(` {"a":-1e400}`))
	if e, ok := errors.AsType[*canon.Error](err); !ok || e.Offset != 6 {
		t.Errorf("Canonical: error %v, want one at byte 6", err)
	}
}

// awkwardKeys are keys whose order differs between their spelling and their code points, or UTF-16 and UTF-8.
var awkwardKeys = []string{
	"", "\x00", "\x00\x00", "\x1f", "\n", " ", "!", "\"", "#", "[", "\\", "]", "a", "a\x00", "a\n", "a ", "a!", "a\"", "a#",
	"a\"b", "a\\", "a\\b", "a]", "aa", "aaaaaaa", "aaaaaaaa", "aaaaaaaa\x00", "aaaaaaaa\n", "aaaaaaaa!", "aaaaaaaa\"",
	"aaaaaaaaa", "aaaaaaab", "u0000", "\x7f", "é", "e\u0301", "\u2028", "\ue000", "\ufb33", "\uffff", "😀", "\U0010FFFF",
	strings.Repeat("\n", 99), strings.Repeat("\n", 99) + "a", strings.Repeat("\n", 99) + "b",
}

// Keys are in the order of their code points, whatever their spelling: each pair of awkward keys, in both orders.
func TestKeyOrder(t *testing.T) {
	for _, a := range awkwardKeys {
		for _, b := range awkwardKeys {
			line := append([]byte(`{`), canon.AppendString(nil, a)...)
			line = append(canon.AppendString(append(line, ":0,"...), b), ":1}"...)
			err := canon.CheckObject(line, nil)
			if got, want := err == nil, a < b; got != want {
				t.Errorf("CheckObject(%q) = %v", line, err)
			}
			nestedErr := canon.CheckObject(slices.Concat([]byte(`{"":[`), line, []byte(`]}`)), nil)
			if got, want := nestedErr == nil, a < b; got != want {
				t.Errorf("CheckObject([%q]) = %v", line, nestedErr)
			}
			canonical, err := canon.Canonical(line)
			if a == b {
				if reasonOf(t, err) != canon.Duplicate {
					t.Errorf("Canonical(%q) = %v, want a duplicate", line, err)
				}
				continue
			}
			want := fmt.Sprintf("{%s:0,%s:1}", canon.AppendString(nil, a), canon.AppendString(nil, b))
			if b < a {
				want = fmt.Sprintf("{%s:1,%s:0}", canon.AppendString(nil, b), canon.AppendString(nil, a))
			}
			if err != nil || string(canonical) != want {
				t.Errorf("Canonical(%q) = %q, %v, want %q", line, canonical, err, want)
			}
		}
	}
}
