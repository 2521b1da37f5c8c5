package canon_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func TestSkimTakesWhatIsJSON(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"a":2}`, `"\ud800"`, `"\udc00\ud800"`, `"\ud800\u0041"`, `"\ud800x"`, `{"\ud800":1,"x":"\udfff"}`, `1e999`,
		`{"k":[{"k":1,"k":{"\ud83d":"\ud83d\ude00"}}]}`,
	} {
		v, err := canon.Skim([]byte(" " + text + "\n"))
		if err != nil || string(v.Bytes()) != text {
			t.Errorf("%s: %q, %v", text, v.Bytes(), err)
		}
		walk(v)
	}
	for _, text := range []string{``, `{`, `{"a":}`, `[1,]`, `nul`, "\"\xff\"", `1 2`, "\"\n\""} {
		if v, err := canon.Skim([]byte(text)); err == nil {
			t.Errorf("%q: taken as %q", text, v.Bytes())
		}
	}
}

// walk looks at everything in a value, as a careless caller would.
func walk(v canon.Value) {
	v.Text()
	v.Int()
	v.Get("k")
	for _, member := range v.Members() {
		walk(member)
	}
	for element := range v.Elements() {
		walk(element)
	}
}

func TestHalfAPairIsReplaced(t *testing.T) {
	v, err := canon.Skim([]byte(`"a\ud83d\ude00b\ud800c\udc00\ud800\ud83d\ude00"`))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := v.Text()
	if want := "a😀b\uFFFDc\uFFFD\uFFFD😀"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSplice(t *testing.T) {
	text := []byte(`{"a": 1 ,"b":[2,"x"]}`)
	v, err := canon.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := canon.Splice(text, canon.Edit{Old: v.Get("b"), New: []byte(`null`)}, canon.Edit{Old: v.Get("a"), New: []byte(`1e400`)})
	if diff := cmp.Diff(`{"a": 1e400 ,"b":null}`, string(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(string(text), string(canon.Splice(text))); diff != "" {
		t.Error(diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("a value of another text was taken")
		}
	}()
	canon.Splice([]byte(`{"a": 1 ,"b":[2,"x"]}`), canon.Edit{Old: v.Get("a")})
}

func FuzzSkim(f *testing.F) {
	for _, seed := range []string{`{"\ud800":1}`, `["\udc00\ud800"]`, `{"a":1,"a":[1e999]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		skimmed, err := canon.Skim(text)
		parsed, parseErr := canon.Parse(text)
		if parseErr == nil && (err != nil || string(parsed.Bytes()) != string(skimmed.Bytes())) {
			t.Errorf("Parse takes it and Skim does not: %v", err)
		}
		if err == nil {
			walk(skimmed)
		}
	})
}
