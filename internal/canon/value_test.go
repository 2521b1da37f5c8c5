package canon_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

const sample = ` { "text" : "a\n\u00e9\ud83d\ude00\"" , "n":-42, "big":9223372036854775808,"float":1.0 ,
	"yes":true,"no":false,"null":null,"list":[ 1 , [2,"]"] , {"}":[]} ,"" ],"o":{"k\u0065y":"v","{":"}"},
	"empty":{ },"none":[ ],"Text":"other","escaped\"\\":"here" } `

func parse(t *testing.T, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return v
}

func TestGetFindsExactlyTheKey(t *testing.T) {
	v := parse(t, sample)
	tests := []struct{ key, want string }{
		{"text", `"a\n\u00e9\ud83d\ude00\""`},
		{"Text", `"other"`},
		{"TEXT", ""},
		{"tex", ""},
		{"text ", ""},
		{"", ""},
		{"n", "-42"},
		{"null", "null"},
		{"list", `[ 1 , [2,"]"] , {"}":[]} ,"" ]`},
		{"o", `{"k\u0065y":"v","{":"}"}`},
		{"empty", "{ }"},
		{`escaped"\`, `"here"`},
		{`escaped\"\\`, ""},
		{"key", ""}, // not at this depth
	}
	for _, test := range tests {
		if got := string(v.Get(test.key).Bytes()); got != test.want {
			t.Errorf("Get(%q) = %q, want %q", test.key, got, test.want)
		}
	}
	if got := string(v.Get("o").Get("key").Bytes()); got != `"v"` {
		t.Errorf(`Get("o").Get("key") = %q, want "v"`, got)
	}
	for _, none := range []canon.Value{v.Get("list"), v.Get("text"), v.Get("absent"), {}} {
		if got := none.Get("text"); got.Exists() {
			t.Errorf("Get on %s = %s, want it absent", none.Kind(), got.Bytes())
		}
	}
}

func TestValuesByKind(t *testing.T) {
	v := parse(t, sample)
	type reading struct {
		Kind                     string
		Text                     string
		IsText, IsInt            bool
		Int                      int64
		Bool, IsBool, Exists     bool
		Members, Elements, Bytes int
	}
	tests := []struct {
		key  string
		want reading
	}{
		{"text", reading{Kind: "string", Text: "a\né😀\"", IsText: true, Exists: true, Bytes: 25}},
		{"n", reading{Kind: "number", Int: -42, IsInt: true, Exists: true, Bytes: 3}},
		{"big", reading{Kind: "number", Exists: true, Bytes: 19}},
		{"float", reading{Kind: "number", Exists: true, Bytes: 3}},
		{"yes", reading{Kind: "boolean", Bool: true, IsBool: true, Exists: true, Bytes: 4}},
		{"no", reading{Kind: "boolean", IsBool: true, Exists: true, Bytes: 5}},
		{"null", reading{Kind: "null", Exists: true, Bytes: 4}},
		{"list", reading{Kind: "array", Elements: 4, Exists: true, Bytes: 30}},
		{"o", reading{Kind: "object", Members: 2, Exists: true, Bytes: 24}},
		{"empty", reading{Kind: "object", Exists: true, Bytes: 3}},
		{"none", reading{Kind: "array", Exists: true, Bytes: 3}},
		{"absent", reading{Kind: "absent"}},
	}
	for _, test := range tests {
		v := v.Get(test.key)
		got := reading{Kind: v.Kind().String(), Exists: v.Exists(), Bytes: len(v.Bytes())}
		got.Text, got.IsText = v.Text()
		got.Int, got.IsInt = v.Int()
		got.Bool, got.IsBool = v.Bool()
		for range v.Members() {
			got.Members++
		}
		for range v.Elements() {
			got.Elements++
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.key, diff)
		}
	}
}

func TestMembersAndElementsInTextOrder(t *testing.T) {
	v := parse(t, sample)
	var keys, elements []string
	for key, member := range v.Members() {
		keys = append(keys, key)
		if key == "escaped\"\\" {
			break
		}
		if got := v.Get(key).Bytes(); string(got) != string(member.Bytes()) {
			t.Errorf("member %q is %s, Get gives %s", key, member.Bytes(), got)
		}
	}
	wantKeys := []string{"text", "n", "big", "float", "yes", "no", "null", "list", "o", "empty", "none", "Text", `escaped"\`}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for element := range v.Get("list").Elements() {
		elements = append(elements, string(element.Bytes()))
	}
	if diff := cmp.Diff([]string{"1", `[2,"]"]`, `{"}":[]}`, `""`}, elements); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	for element := range v.Get("list").Elements() {
		if string(element.Bytes()) != "1" {
			t.Errorf("iteration went on to %s", element.Bytes())
		}
		break
	}
}

func TestIntTakesExactIntegersOnly(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-0", 0, true},
		{"9223372036854775807", 9223372036854775807, true},
		{"-9223372036854775808", -9223372036854775808, true},
		{"9223372036854775808", 0, false},
		{"-9223372036854775809", 0, false},
		{"1e2", 0, false},
		{"1.0", 0, false},
		{`"1"`, 0, false},
	}
	for _, test := range tests {
		if got, ok := parse(t, test.text).Int(); got != test.want || ok != test.ok {
			t.Errorf("Int of %s = %d, %v, want %d, %v", test.text, got, ok, test.want, test.ok)
		}
	}
}

// Appending to what a Value gives must not write into the text behind it.
func TestBytesHaveNoRoomToGrow(t *testing.T) {
	const before = `{"a":[1],"b":2} `
	text := []byte(before)
	v, err := canon.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(v.Bytes(), 'X')
	_ = append(v.Get("a").Bytes(), 'X')
	for element := range v.Get("a").Elements() {
		_ = append(element.Bytes(), 'X')
	}
	err = canon.CheckObject(text[:len(text)-1], func(key, value []byte, _, _ int) {
		_, _ = append(key, 'X'), append(value, 'X')
	})
	if got := string(text); got != before || err != nil {
		t.Errorf("the text is now %s, error %v", got, err)
	}
}

func TestMembersBehindLongStrings(t *testing.T) {
	for _, filler := range []string{"a", `\n`, `\"`, `\\`, `\\\"`, `é`, `\u0022`} {
		for n := 1; n < 400; n++ {
			text := `{"long":"` + strings.Repeat(filler, n) + `","next":7}`
			v, err := canon.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if next, ok := v.Get("next").Int(); !ok || next != 7 {
				t.Fatalf("behind %d times %s the next member is %d, %v", n, filler, next, ok)
			}
		}
	}
}
