package upstream

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/wire"
)

// FuzzGlimpse holds glimpse to its word: of a message, cut wherever, it finds the id that a reader of the whole finds, or
// none; and whatever it is given, it does not panic.
func FuzzGlimpse(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":12,"result":{"id":3}}`,
		`{"result":{"id":3,"x":"\"id\":4}"},"jsonrpc":"2.0","id":"a\"b\\"}`,
		`{"error":{"code":1,"message":"m"} , "id" : -7 , "jsonrpc" : "2.0" } `,
		`{"id":1,"params":{"result":1},"jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","result":["\\"],"\u0069d":5}`,
		`{"jsonrpc":"2.0","result":1e3,"id":5}`,
		`{"id":1.0,"result":{}}`,
	} {
		f.Add([]byte(line), 20, 20)
		f.Add([]byte(line), len(line), 10)
	}
	f.Fuzz(func(t *testing.T, line []byte, head, tail int) {
		head, tail = min(max(head, 0), len(line)), min(max(tail, 0), len(line))
		id := glimpse(line[:head], line[len(line)-tail:])
		m, err := wire.ScanIncoming(line)
		if err != nil || id == nil {
			return
		}
		if m.Kind != wire.Response || !bytes.Equal(id, m.ID.Bytes()) {
			t.Errorf("%q: glimpse finds id %s, it is %s", line, id, m.ID.Bytes())
		}
	})
}

// FuzzLines holds the reader to what bytes.Split says.
func FuzzLines(f *testing.F) {
	f.Add("a\nbb\r\n\n \t\nccc", 2)
	f.Add(strings.Repeat("x", 100)+"\ny\n", 50)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, 1), 1<<10)
		var want []string
		for line := range strings.SplitSeq(text, "\n") {
			switch line = strings.TrimSuffix(line, "\r"); {
			case len(line) > limit:
				want = append(want, "too long: "+string(firstOf([]byte(line))))
			case strings.Trim(line, " \t\r") != "":
				want = append(want, line)
			}
		}
		var got []string
		lines := newLineReader(iotest.OneByteReader(strings.NewReader(text)), limit)
		for {
			line, err := lines.next()
			long := new(overlongError)
			if errors.As(err, &long) {
				if n := len(long.head); n > glimpseSize || len(long.tail) > glimpseSize {
					t.Errorf("%d and %d bytes are kept of a long line", n, len(long.tail))
				}
				got = append(got, "too long: "+strings.TrimRight(string(long.head), "\r\n"))
				continue
			}
			if err != nil {
				if err != io.EOF {
					t.Errorf("the end is %v", err)
				}
				break
			}
			got = append(got, string(line))
		}
		for i := range want {
			want[i] = strings.TrimRight(want[i], "\r")
		}
		for i := range got {
			got[i] = strings.TrimRight(got[i], "\r")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q at most %d (-want +got):\n%s", text, limit, diff)
		}
	})
}

func TestKeyOf(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`"a/b"`, `"a\/b"`, true},
		{`"1"`, `1`, false},
		{`1`, `1`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`"\ud800"`, `"\ud800"`, true},
		{`"\ud800"`, `"\udc00"`, false},
		{`""`, `"n"`, false},
	} {
		if got := keyOfBytes([]byte(test.a)) == keyOfBytes([]byte(test.b)); got != test.same {
			t.Errorf("%s and %s: same is %v", test.a, test.b, got)
		}
	}
}

func TestRingForgets(t *testing.T) {
	var r ring
	for i := range 3 * ringSize {
		r.add(strings.Repeat("x", i))
		r.add(strings.Repeat("x", i))
	}
	if r.has("") || !r.has(strings.Repeat("x", 3*ringSize-1)) || !r.has(strings.Repeat("x", 2*ringSize)) || len(r.known) != ringSize {
		t.Errorf("it knows %d keys, the first among them: %v", len(r.known), r.has(""))
	}
}
