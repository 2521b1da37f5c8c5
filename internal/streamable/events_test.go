package streamable

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Whatever is said is one event, whoever reads it.
func FuzzAppendEvent(f *testing.F) {
	f.Add([]byte("{\r\n\"a\":1}"), "3_17", int64(20))
	f.Add([]byte(""), "", int64(0))
	f.Fuzz(func(t *testing.T, line []byte, id string, retry int64) {
		if strings.ContainsAny(id, "\r\n\x00") {
			return // no ID of ours
		}
		before := bytes.Clone(line)
		text := appendEvent(nil, entry{line: line, retry: time.Duration(retry % (1 << 40))}, id)
		if !bytes.Equal(line, before) {
			t.Fatal("the message was changed")
		}
		if n := bytes.Count(text, []byte("\n\n")); n != 1 || !bytes.HasSuffix(text, []byte("\n\n")) || bytes.ContainsRune(text, '\r') {
			t.Errorf("%q is not one event", text)
		}
		if n := bytes.Count(text, []byte("\ndata: ")) + bytes.Count(text[:min(len(text), 6)], []byte("data: ")); !bytes.Contains(line, []byte("data: ")) && n != 1 {
			t.Errorf("%q has %d data fields", text, n)
		}
	})
}

func FuzzParseEventID(f *testing.F) {
	f.Add("3_17")
	f.Add("_")
	f.Fuzz(func(t *testing.T, id string) {
		name, number, ok := parseEventID(id)
		if !ok {
			return
		}
		again, same, ok := parseEventID((&stream{name: name}).eventID(number))
		if !ok || again != name || same != number || number < 0 {
			t.Errorf("%q is %q and %d, and then %q and %d", id, name, number, again, same)
		}
	})
}
