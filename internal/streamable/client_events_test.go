package streamable

import (
	"encoding/base64"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readEvents returns all of a stream, one event a line, and how it ended.
func readEvents(r io.Reader, limit int) []string {
	var all []string
	in := newEventReader(r, limit)
	for {
		e, err := in.next()
		switch {
		case err == errTooLong:
			all = append(all, "too long")
			continue
		case err != nil:
			return append(all, err.Error())
		}
		all = append(all, fmt.Sprintf("%s|%s|%v %v|%s", e.name, e.id, e.timed, e.retry, e.data))
	}
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"nothing", "", nil},
		{"blank lines", "\n\r\n\r\n\n", nil},
		{"one", "event: a\nid: 1\nretry: 20\ndata: x\n\n", []string{"a|1|true 20ms|x"}},
		{"no spaces", "event:a\ndata:x\n\n", []string{"a||false 0s|x"}},
		{"only one space is not the data's", "data:  x \n\n", []string{"||false 0s| x "}},
		{"several lines of data", "data: a\ndata\ndata:\ndata: b\n\n", []string{"||false 0s|a\n\n\nb"}},
		{"comments and unknown fields", ": c\nfoo: bar\n:\ndata: x\nDATA: y\n\n", []string{"||false 0s|x"}},
		{"only comments", ": c\n\n: d\n\n", nil},
		{"CR", "data: a\rdata: b\r\rdata: c\r\r", []string{"||false 0s|a\nb", "||false 0s|c"}},
		{"mixed ends", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\n", []string{"||false 0s|a\nb\nc", "||false 0s|d"}},
		{"a mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{"||false 0s|a"}},
		{"an id with NUL", "id: a\x00\ndata: x\n\n", []string{"||false 0s|x"}},
		{"retry that is no number", "retry: 1.5\nretry: -1\nretry:\ndata: x\n\n", []string{"||false 0s|x"}},
		{"retry that is huge", "retry: 99999999999999999999999\n\n", []string{"||true 24h0m0s|"}},
		{"no blank line at the end", "data: a\n\ndata: b", []string{"||false 0s|a", "||false 0s|b"}},
		{"too long a line", "data: " + strings.Repeat("x", 3000) + "\nid: 1\n\ndata: b\n\n", []string{"too long", "||false 0s|b"}},
		{"too long in sum", strings.Repeat("data: x\n", 60) + "\ndata: b\n\n", []string{"too long", "||false 0s|b"}},
		{"too long at the end", "data: " + strings.Repeat("x", 3000), []string{"too long"}},
		{"a long comment harms nobody", ": " + strings.Repeat("x", 500) + "\ndata: b\n\n", []string{"||false 0s|b"}},
		{"as long as may be", "data: " + strings.Repeat("x", 100) + "\n\n", []string{"||false 0s|" + strings.Repeat("x", 100)}},
		{"longer by one", "data: " + strings.Repeat("x", 101) + "\n\n", []string{"too long"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := append(tt.want, "EOF")
			if diff := cmp.Diff(want, readEvents(strings.NewReader(tt.stream), 100)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, readEvents(iotest.OneByteReader(strings.NewReader(tt.stream)), 100)); diff != "" {
				t.Errorf("events, read byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

// Of a stream that broke off, the event that it broke off in is not believed.
func TestEventsOfABrokenStream(t *testing.T) {
	got := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(io.ErrUnexpectedEOF)), 100)
	if diff := cmp.Diff([]string{"||false 0s|a", "unexpected EOF"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// ones is a stream of that byte without end.
type ones byte

func (o ones) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(o)
	}
	return len(p), nil
}

// Of a line that is too long, or of very many of them, nothing is held.
func TestEventsThatAreTooLongTakeNoMemory(t *testing.T) {
	for name, stream := range map[string]io.Reader{
		"one line":   io.LimitReader(ones('x'), 32<<20),
		"many lines": io.LimitReader(strings.NewReader(strings.Repeat("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", 1<<19)), 32<<20),
	} {
		t.Run(name, func(t *testing.T) {
			in := newEventReader(stream, 1<<10)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := in.next()
			runtime.ReadMemStats(&after)
			if err != errTooLong {
				t.Errorf("error = %v, want %v", err, errTooLong)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
				t.Errorf("%d bytes were allocated", got)
			}
		})
	}
}

// However a stream comes in pieces, and whatever it is, it has the same events, none longer than the limit.
func FuzzClientEvents(f *testing.F) {
	f.Add("event: a\nid: 1\nretry: 20\ndata: x\n\n", uint8(100))
	f.Add("data: a\r\ndata: b\rdata: c\n\r\n\ufeff: d\n\n", uint8(3))
	f.Add(strings.Repeat("data: x\n", 200)+"\ndata: b", uint8(0))
	f.Fuzz(func(t *testing.T, stream string, limit uint8) {
		want := readEvents(strings.NewReader(stream), int(limit))
		got := readEvents(iotest.OneByteReader(strings.NewReader(stream)), int(limit))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-at once +byte by byte):\n%s", diff)
		}
		in := newEventReader(strings.NewReader(stream), int(limit))
		for {
			e, err := in.next()
			if err != nil && err != errTooLong {
				break
			}
			if len(e.data) > int(limit) || e.retry > 24*time.Hour || e.retry < 0 {
				t.Errorf("%d bytes of data, retry %v", len(e.data), e.retry)
			}
		}
	})
}

// What is said of a name in a header can be sent, cannot end the header, and says the name.
func FuzzEncodeField(f *testing.F) {
	for _, value := range []string{"", "us-west1", " padded ", "Hello, 世界", "a\r\nX: y", "=?base64?literal?=", "=?base64??=", "=?BASE64?x?=", "\xff", "~"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := encodeField(value)
		if got != "" && !isPlain(got) {
			t.Errorf("%q is encoded as %q", value, got)
		}
		said := got
		if text, ok := strings.CutPrefix(got, "=?base64?"); ok {
			if text, ok = strings.CutSuffix(text, "?="); ok {
				decoded, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Errorf("%q: %v", got, err)
				}
				said = string(decoded)
			}
		}
		if said != value {
			t.Errorf("%q is encoded as %q, which says %q", value, got, said)
		}
	})
}

// A message on several lines becomes one on one line that says the same, or none at all.
func FuzzMessageOnOneLine(f *testing.F) {
	f.Add("{\n \"jsonrpc\": \"2.0\",\r\n \"id\": 1,\r \"result\": {\"a\": \"b\\n\"}}")
	f.Add("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\nb\"}")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := message([]byte(text))
		if err != nil {
			return
		}
		if strings.ContainsAny(string(m.Line), "\r\n") {
			t.Errorf("%q has line ends", m.Line)
		}
		spaces := strings.NewReplacer("\r", " ", "\n", " ")
		if got, want := string(m.Line), strings.Trim(spaces.Replace(text), " \t"); got != want {
			t.Errorf("line = %q, want %q", got, want)
		}
		// Nothing but white space may have been changed: strings have no line ends in them.
		inString := false
		for i := 0; i < len(text); i++ {
			switch {
			case inString && text[i] == '\\':
				i++
			case text[i] == '"':
				inString = !inString
			case inString && (text[i] == '\n' || text[i] == '\r'):
				t.Errorf("%q: a line end within a string was taken", text)
			}
		}
	})
}
