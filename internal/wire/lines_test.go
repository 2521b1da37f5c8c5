package wire

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readAll returns the lines of r, "<too long>" for each that is, and the error behind them.
func readAll(r io.Reader, limit int) ([]string, error) {
	lines := newLineReader(r, limit)
	var got []string
	for {
		line, err := lines.next()
		switch err {
		case nil:
			got = append(got, string(line))
		case errTooLong:
			got = append(got, "<too long>")
		default:
			return got, err
		}
	}
}

func TestLineReader(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":                    {"", nil},
		"lines":                      {"a\nbc\n", []string{"a", "bc"}},
		"last line without its end":  {"a\nbc", []string{"a", "bc"}},
		"carriage returns":           {"a\r\nb\rc\r\n", []string{"a", "b\rc"}},
		"blank lines":                {"\n\r\n \t \n\na\n\n", []string{"a"}},
		"spaces stay":                {" a \n", []string{" a "}},
		"exactly the maximum":        {"12345678\n12345678\r\n12345678", []string{"12345678", "12345678", "12345678"}},
		"one more":                   {"a\n123456789\nb\n", []string{"a", "<too long>", "b"}},
		"one more, carriage return":  {"123456789\r\nb\n", []string{"<too long>", "b"}},
		"one more, no end":           {"a\n123456789", []string{"a", "<too long>"}},
		"two more, no end":           {"a\n1234567890", []string{"a", "<too long>"}},
		"three more, no end":         {"a\n12345678901", []string{"a", "<too long>"}},
		"far more":                   {strings.Repeat("x", 200_000) + "\na\n" + strings.Repeat("y", 100_000), []string{"<too long>", "a", "<too long>"}},
		"carriage return at the end": {"a\r", []string{"a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":        strings.NewReader(tt.text),
				"by bytes":     iotest.OneByteReader(strings.NewReader(tt.text)),
				"data and EOF": iotest.DataErrReader(strings.NewReader(tt.text)),
			} {
				got, err := readAll(r, 8)
				if err != io.EOF {
					t.Errorf("%s: error is %v, want EOF", how, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: lines (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestLineReaderJoinsWhatExceedsItsBuffer(t *testing.T) {
	const limit = 1 << 20
	want := []string{strings.Repeat("a", 40<<10), "b", strings.Repeat("c", limit)}
	got, err := readAll(strings.NewReader(strings.Join(want, "\r\n")), limit)
	if err != io.EOF || !cmp.Equal(want, got) {
		t.Errorf("got %d lines and %v, want the %d lines that were written and EOF", len(got), err, len(want))
	}
}

func TestLineReaderDropsAPartOfALineWhenReadingFails(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"a\nhalf", "a\n" + strings.Repeat("long", 100_000)} {
		got, err := readAll(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 8)
		if err != broken || !cmp.Equal(got, []string{"a"}) {
			t.Errorf("got %q and %v, want [a] and %v", got, err, broken)
		}
	}
}

// A line that is too long must cost no more memory than one of the maximum.
func TestLineReaderHoldsNoMoreThanTheMaximum(t *testing.T) {
	const limit = 1<<20 + 100<<10
	lines := newLineReader(io.LimitReader(zeros{}, 64*limit), limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := lines.next()
	runtime.ReadMemStats(&after)
	if err != errTooLong {
		t.Fatalf("error is %v, want %v", err, errTooLong)
	}
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(3*limit); got > most {
		t.Errorf("a line of %d bytes took %d bytes, want at most %d", 64*limit, got, most)
	}
}

// zeros reads as an endless line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
