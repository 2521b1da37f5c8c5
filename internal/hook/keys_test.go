package hook

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

// TestTwofold finds what two readers could read differently, in small objects and in large ones.
func TestTwofold(t *testing.T) {
	var padding strings.Builder
	for i := range 40 {
		fmt.Fprintf(&padding, `,"pad%d":%d`, i, i)
	}
	for _, c := range []struct {
		object  string
		twofold bool
	}{
		{`{"command":1,"Command":1}`, true},
		{`{"command":1,"commandS":1}`, false},
		{`{"permission":1,"permiſſion":1}`, true},
		{`{"k":1,"K":1}`, true},
		{`{"file_path":"a","filePath":"a"}`, false},
		{`{"file_path":"a","filePath":"b"}`, true},
		{`{"file_path":{"a":1,"b":2},"filePath":{"b":2 ,"a":1}}`, false},
		{`{"_id":1,"id":2}`, false},
		{`{"id_":1,"id":2}`, false},
		{`{"-A":1,"-B":1,"-i":1}`, false},
		{`{"straße":1,"strasse":2}`, false},
		{`{"":1,"_":2}`, false},
		{`{"Σ":1,"ς":2}`, true},
	} {
		for _, text := range []string{c.object, strings.TrimSuffix(c.object, "}") + padding.String() + "}"} {
			v, err := canon.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if why := twofold(members(v)); (why != "") != c.twofold {
				t.Errorf("%s: twofold is %q, want %t", c.object, why, c.twofold)
			}
		}
	}
}

// TestHoldsNUL tells an escaped NUL from an escaped backslash.
func TestHoldsNUL(t *testing.T) {
	for text, want := range map[string]bool{
		`"\u0000"`: true, `"\\u0000"`: false, `"\\\u0000"`: true, `"\\\\u0000"`: false, `"u0000"`: false, `"\u00000"`: true,
		`"\\u0000 \u0000"`: true, ``: false, `"\u0001"`: false,
	} {
		if got := holdsNUL([]byte(text)); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
}
