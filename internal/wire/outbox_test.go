package wire

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// What is sent may be part of something larger, and be kept by somebody else too.
func TestTheOutboxDoesNotChangeWhatItIsGiven(t *testing.T) {
	for _, size := range []int{1, 100, 255 << 10, 256 << 10, 1 << 20} {
		whole := []byte("{\n" + strings.Repeat("x", size) + "}after it")
		before := bytes.Clone(whole)
		line := whole[:len(whole)-len("after it")] // with room behind it
		o := newOutbox(4<<20, nil)
		o.put(line)
		o.push(line)
		o.push([]byte("{}"))
		o.close()
		var out bytes.Buffer
		o.write(&out, func(err error) { t.Error(err) })
		if !bytes.Equal(whole, before) {
			t.Errorf("a line of %d bytes was changed", size)
		}
		one := strings.Replace(string(line), "\n", " ", 1) + "\n"
		if got, want := out.String(), one+one+"{}\n"; got != want {
			t.Errorf("wrote %d bytes, want %d: %.20q…", len(got), len(want), got)
		}
		if o.pending() != 0 {
			t.Errorf("%d bytes are pending", o.pending())
		}
	}
}

func BenchmarkOutbox(b *testing.B) {
	for name, size := range map[string]int{"small": 100, "64KiB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			line := bytes.Repeat([]byte("x"), size)
			o := newOutbox(1<<20, nil)
			done := make(chan struct{})
			go func() { defer close(done); o.write(discard{}, context.CancelCauseFunc(func(error) {})) }()
			b.ReportAllocs()
			for b.Loop() {
				o.put(line)
			}
			o.close()
			<-done
		})
	}
}

type discard struct{}

func (discard) Write(text []byte) (int, error) { return len(text), nil }
