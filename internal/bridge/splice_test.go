package bridge

import (
	"bytes"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

func TestWithout(t *testing.T) {
	for _, c := range []struct {
		object, drop, want string
		left               int
	}{
		{`{}`, "a", `{}`, 0},
		{` { } `, "a", `{ }`, 0},
		{`{"a":1}`, "a", `{}`, 0},
		{`{ "a" : 1 }`, "a", `{ }`, 0},
		{`{"a":1,"b":2}`, "a", `{"b":2}`, 1},
		{`{ "a":1 , "b":2}`, "a", `{"b":2}`, 1},
		{`{"b":2, "a":1}`, "a", `{"b":2}`, 1},
		{`{"b":2,"a":1 ,"c":3 }`, "a", `{"b":2 ,"c":3 }`, 2},
		{`{"a":1,"a":2,"c":"a,}"}`, "a", `{"c":"a,}"}`, 1},
		{`{"\u0061":1,"c":1e400}`, "a", `{"c":1e400}`, 1},
		{`{"a":{"b":1},"b":{"a":1}}`, "a", `{"b":{"a":1}}`, 1},
		{`[1]`, "a", `{}`, 0},
	} {
		v, err := canon.Skim([]byte(c.object))
		if err != nil {
			t.Fatal(err)
		}
		got, left := Without(v, oneOf(c.drop))
		if string(got) != c.want || left != c.left {
			t.Errorf("Without(%s, %s) = %s, %d; want %s, %d", c.object, c.drop, got, left, c.want, c.left)
		}
	}
}

func TestWithFirst(t *testing.T) {
	for _, c := range []struct {
		object  string
		members []string
		want    string
	}{
		{`{}`, nil, `{}`},
		{`{"a":1}`, nil, `{"a":1}`},
		{`{}`, []string{`"b":2`}, `{"b":2}`},
		{`{ }`, []string{`"b":2`}, `{"b":2 }`},
		{`{ "a":1}`, []string{`"b":2`, `"c":3`}, `{"b":2,"c":3, "a":1}`},
	} {
		if got := string(WithFirst([]byte(c.object), c.members...)); got != c.want {
			t.Errorf("WithFirst(%s, %s) = %s, want %s", c.object, c.members, got, c.want)
		}
	}
}

// FuzzWithout holds without and withFirst to what they promise: what comes out is JSON, it has the members that are not
// dropped, byte for byte and in order, and none that is.
func FuzzWithout(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{ "b" : [1,{"a":2}] , "a":"}," }`, `{"a":1,"a":2}`, `{"\u0061":1e400,"b":"\ud800"}`, `{"a":1 ,"b":2,"a":3}`,
	} {
		f.Add(seed, "a")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		object, err := canon.Skim([]byte(text))
		if err != nil || object.Kind() != canon.Object {
			t.Skip()
		}
		rest, left := Without(object, oneOf(key))
		var want []string
		for k, v := range object.Members() {
			if k != key {
				want = append(want, k+"="+string(v.Bytes()))
			}
		}
		if got := members(t, rest); strings.Join(got, "\n") != strings.Join(want, "\n") || left != len(want) {
			t.Fatalf("Without(%s, %q) = %s, %d", text, key, rest, left)
		}
		longer := WithFirst(rest, member(key, []byte(`"new"`)))
		if got := members(t, longer); len(got) != len(want)+1 || !strings.HasSuffix(got[0], `="new"`) {
			t.Fatalf("WithFirst(%s) = %s", rest, longer)
		}
		if bytes.ContainsAny(longer, "\n") && !strings.Contains(text, "\n") {
			t.Fatalf("WithFirst(%s) made another line: %s", rest, longer)
		}
	})
}

func members(t *testing.T, text []byte) []string {
	t.Helper()
	v, err := canon.Skim(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var all []string
	for k, v := range v.Members() {
		all = append(all, k+"="+string(v.Bytes()))
	}
	return all
}
