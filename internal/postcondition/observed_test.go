package postcondition

import (
	"errors"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

func TestObserved(t *testing.T) {
	for _, tc := range []struct{ name, result, want string }{
		{"structured", `{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1.0}}`, `{"a":1.0}`},
		{"structured alone", `{"structuredContent":{},"resultType":"complete"}`, `{}`},
		{"text", `{"content":[{"type":"text","text":"hello"}]}`, `{"json":null,"text":"hello"}`},
		{"JSON in text", `{"content":[{"type":"text","text":" {\"a\":[1]} "}],"isError":false}`, `{"json":{"a":[1]},"text":" {\"a\":[1]} "}`},
		{"blocks", `{"content":[{"type":"text","text":"[1,"},{"type":"image","data":"x"},{"type":"text","text":"2]"}]}`, `{"json":[1,\n2],"text":"[1,\n2]"}`},
		{"JSON that has a key twice", `{"content":[{"type":"text","text":"{\"a\":1,\"a\":2}"}]}`, `{"json":null,"text":"{\"a\":1,\"a\":2}"}`},
		{"no text", `{"content":[]}`, `{"json":null,"text":""}`},
		{"structured content of another kind", `{"content":[{"type":"text","text":"x"}],"structuredContent":[1]}`, `{"json":null,"text":"x"}`},
		{"text with quotes", `{"content":[{"type":"text","text":"\"},\"json\":true,\"x\":{\""}]}`, `{"json":null,"text":"\"},\"json\":true,\"x\":{\""}`},

		{"failed", `{"content":[{"type":"text","text":"x"}],"isError":true}`, "the observation failed: the tool says that it did"},
		{"failed with structure", `{"structuredContent":{"a":1},"isError":true}`, "the observation failed: the tool says that it did"},
		{"failed or not", `{"structuredContent":{},"isError":"true"}`, `the result's "isError" is no boolean`},
		{"wants input", `{"resultType":"input_required","inputRequests":{}}`, errOpen.Error()},
		{"of a kind that nobody knows", `{"resultType":"later","structuredContent":{}}`, errOpen.Error()},
		{"of no kind", `{"resultType":null,"structuredContent":{}}`, errOpen.Error()},
		{"wants input in spite of all", `{"resultType":"complete","inputRequests":{},"structuredContent":{}}`, errOpen.Error()},
		{"a task", `{"task":{"taskId":"1"}}`, errOpen.Error()},
		{"empty", `{}`, `the result has neither a "structuredContent" that is an object nor a list of "content"`},
		{"content of another kind", `{"content":"x"}`, `the result has neither a "structuredContent" that is an object nor a list of "content"`},
		{"text without a text", `{"content":[{"type":"text"}]}`, "the result has a text block without a text"},
		{"no object", `[]`, "the result is no object, but array"},
		{"no JSON", `{`, "the result cannot be read: it is no JSON that can be read in one way only"},
		{"read in two ways", `{"structuredContent":{"a":1},"structuredContent":{"a":2}}`, "the result cannot be read: it is no JSON that can be read in one way only"},
		{"read in two ways within", `{"structuredContent":{"a":1,"a":2}}`, "the result cannot be read: it is no JSON that can be read in one way only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := Observed([]byte(tc.result))
			got := strings.ReplaceAll(string(v.Bytes()), "[1,\n2],", `[1,\n2],`)
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if failed := strings.HasPrefix(tc.name, "failed with") || tc.name == "failed"; errors.Is(err, ErrFailed) != failed {
				t.Errorf("is ErrFailed: %v", !failed)
			}
		})
	}
}

// TestObservedTextThatIsDeep: what could be read alone cannot be within something else.
func TestObservedTextThatIsDeep(t *testing.T) {
	for depth, fails := range map[int]bool{canon.MaxDepth - 1: false, canon.MaxDepth: true, canon.MaxDepth + 1: false} { // the last is no JSON that we read
		text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if _, err := Observed([]byte(`{"content":[{"type":"text","text":"` + text + `"}]}`)); (err != nil) != fails {
			t.Errorf("%d deep: got %v", depth, err)
		}
	}
}

// FuzzObserved holds Observed to its promise: an object that can be read in one way, or an error.
func FuzzObserved(f *testing.F) {
	for _, result := range []string{`{"content":[{"type":"text","text":"{\"a\":1}"}]}`, `{"structuredContent":{"a":[1]}}`, `{"isError":true}`, `{"content":[{"type":"text","text":"\ud83d\ude00\\"},{"type":"text","text":"1e5"}]}`} {
		f.Add([]byte(result))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		v, err := Observed(result)
		if err != nil {
			return
		}
		if again, err := canon.Parse(v.Bytes()); err != nil || again.Kind() != canon.Object {
			t.Errorf("%q: %q, %v", result, v.Bytes(), err)
		}
	})
}
