package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reluctant is a client's end that takes at once what it likes.
type reluctant struct {
	bytes.Buffer
	takes func(n int) int
	fails error
}

func (r *reluctant) WriteNow(text []byte) (int, error) {
	if r.fails != nil {
		return 0, r.fails
	}
	return r.Buffer.Write(text[:r.takes(len(text))])
}

func (r *reluctant) Write(text []byte) (int, error) {
	if r.fails != nil {
		return 0, r.fails
	}
	return r.Buffer.Write(text)
}

// Whoever writes and however little is taken at once, lines are whole, and those of one goroutine in order.
func TestTheOutboxWritesWholeLinesInOrder(t *testing.T) {
	for name, takes := range map[string]func(n int) int{
		"all":       func(n int) int { return n },
		"nothing":   func(int) int { return 0 },
		"one byte":  func(n int) int { return min(n, 1) },
		"but one":   func(n int) int { return n - 1 },
		"something": func(n int) int { return rand.IntN(n + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			const goroutines, lines = 8, 200
			w := &reluctant{takes: takes}
			o := newOutbox(1<<20, w)
			written := make(chan struct{})
			go func() {
				defer close(written)
				o.write(w, func(err error) { t.Error(err) })
			}()
			var putting sync.WaitGroup
			for g := range goroutines {
				putting.Go(func() {
					for i := range lines {
						line := []byte(fmt.Sprintf("{\"g\":%d,\n\"i\":%d,\"x\":%q}", g, i, strings.Repeat("x", i*i%5000)))
						if i%3 == 0 {
							o.push(line)
						} else {
							o.put(line)
						}
					}
				})
			}
			putting.Wait()
			o.close()
			<-written
			got := make([][]string, goroutines)
			for line := range strings.Lines(w.String()) {
				var g, i int
				if _, err := fmt.Sscanf(line, `{"g":%d, "i":%d,`, &g, &i); err != nil || !strings.HasSuffix(line, "}\n") {
					t.Fatalf("a line is torn: %.80q: %v", line, err)
				}
				got[g] = append(got[g], fmt.Sprint(i))
			}
			var want []string
			for i := range lines {
				want = append(want, fmt.Sprint(i))
			}
			for _, of := range got {
				if diff := cmp.Diff(want, of); diff != "" {
					t.Fatalf("lines of one goroutine (-want +got):\n%s", diff)
				}
			}
			if o.pending() != 0 {
				t.Errorf("%d bytes are pending", o.pending())
			}
		})
	}
}

func TestAWriteThatFailsAtOnceIsTold(t *testing.T) {
	gone := errors.New("gone")
	w := &reluctant{fails: gone}
	o := newOutbox(1<<20, w)
	told := make(chan error, 1)
	go o.write(w, func(err error) { told <- err })
	o.put([]byte("{}"))
	if err := <-told; !errors.Is(err, gone) {
		t.Errorf("told %v, want %v", err, gone)
	}
	if o.push([]byte("{}")) {
		t.Error("a line is on its way to a client that is gone")
	}
	o.close()
}

// A client on two pipes that reads late: the pipes fill, and nothing is lost, torn or answered twice.
func TestServeLinesOverPipes(t *testing.T) {
	in, toUs := openPipe(t)
	fromUs, out := openPipe(t)
	s := &Session{}
	s.Initialize("")
	done := make(chan error, 1)
	go func() {
		defer out.Close()
		done <- ServeLines(t.Context(), s, newEcho(), in, out, Options{})
	}()
	const calls = 2000
	for i := range calls { // their answers are more than a pipe holds
		fmt.Fprintln(toUs, request(i, "relayed-at-once"))
	}
	toUs.Close()
	var got []string
	for lines := bufio.NewScanner(fromUs); lines.Scan(); {
		got = append(got, lines.Text())
	}
	var want []string
	for i := range calls {
		want = append(want, did(i, "relayed-at-once"))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%.2000s", diff)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// After a cancellation nobody reads the pipe any more: what comes next is for whoever has it then.
func TestACancelledConversationLeavesThePipeAlone(t *testing.T) {
	in, toUs := openPipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	e := newEcho()
	s := &Session{}
	s.Initialize("")
	go func() { done <- ServeLines(ctx, s, e, in, &bytes.Buffer{}, Options{}) }()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(toUs, request(1, "now"))
	toUs.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.ran) > 0 {
		t.Errorf("%q ran after ServeLines had returned", e.ran)
	}
}

func openPipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
