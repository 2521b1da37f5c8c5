package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhenTheClientClosesEverythingIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxCalls: 2})
		p.say(request(1, "slow"), request(2, "slow"), request(3, "slow"), request(4, "stream"))
		p.expect(`{"jsonrpc":"2.0","method":"opened"}`)
		io.WriteString(p.in, request(5, "now")) // the last line, without its end
		p.in.Close()
		p.expect(did(5, "now"))
		e.release <- struct{}{}
		e.release <- struct{}{}
		p.expect(did(1, "slow"), did(2, "slow"))
		select {
		case err := <-p.done:
			t.Fatalf("ServeLines returned %v while a call ran", err)
		default:
		}
		e.release <- struct{}{}
		if err := <-p.done; err != nil {
			t.Errorf("ServeLines returned %v", err)
		}
		p.expect(did(3, "slow"), `{"jsonrpc":"2.0","method":"closing"}`, did(4, "stream"))
	})
}

func TestEndInTheMiddleOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{})
		io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"meth`)
		if err := p.end(); err != nil {
			t.Errorf("ServeLines returned %v", err)
		}
		if got := p.heard(); len(got) != 1 || !strings.Contains(got[0], `"id":null,"error":{"code":-32700,`) {
			t.Errorf("heard %q, want that it is no JSON", got)
		}
	})
}

func TestReadingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var out bytes.Buffer
		s := &Session{}
		s.Initialize("")
		r := io.MultiReader(strings.NewReader(request(1, "queued")+"\n"), iotest.ErrReader(broken))
		if err := ServeLines(t.Context(), s, newEcho(), r, &out, Options{}); !errors.Is(err, broken) {
			t.Errorf("ServeLines returned %v, want %v", err, broken)
		}
		if got, want := out.String(), did(1, "queued")+"\n"; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	})
}

func TestWhenTheContextIsCancelledNobodyIsLeftWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxCalls: 2})
		p.say(request(1, "slow"), request(2, "stubborn"), request(3, "slow"), request(4, "stream"))
		p.heard()
		p.cancel()
		synctest.Wait()
		e.release <- struct{}{} // what was done although it was cancelled is told
		if err := <-p.done; err != nil {
			t.Errorf("ServeLines returned %v", err)
		}
		p.expect(
			failed(1, CodeInternal, errShutdown.Message), did(2, "stubborn"), failed(3, CodeInternal, errShutdown.Message),
			`{"jsonrpc":"2.0","method":"closing"}`, did(4, "stream"))
		if diff := cmp.Diff([]string{"1", "2", "4"}, e.ran, cmp.Transformer("sort", sorted)); diff != "" {
			t.Errorf("ran (-want +got):\n%s", diff)
		}
		p.in.Close() // ends the goroutine that was reading
	})
}

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

func TestTheClientIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		gone := errors.New("gone")
		out, clientEnd := io.Pipe()
		p := serve(t, e, Options{MaxCalls: 2}, clientEnd)
		p.say(request(1, "stubborn"), request(2, "stubborn"), request(3, "slow"), request(4, "slow"))
		out.CloseWithError(gone)
		e.release <- struct{}{} // one of them cannot say that it is done
		synctest.Wait()
		select {
		case err := <-p.done:
			t.Fatalf("ServeLines returned %v while a call ran", err)
		case e.release <- struct{}{}:
		}
		if err := <-p.done; !errors.Is(err, gone) {
			t.Errorf("ServeLines returned %v, want %v", err, gone)
		}
		if len(e.ran) > 3 {
			t.Errorf("%q ran, want none to begin for nobody", e.ran)
		}
		p.in.Close()
	})
}

func TestTheSinkTakesHalfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{}, shortWriter{})
		p.say(request(1, "now"))
		if err := <-p.done; !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("ServeLines returned %v, want %v", err, io.ErrShortWrite)
		}
		p.in.Close()
	})
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) / 2, nil }

// A client that does not read for a while can still cancel, and finds all answers when it reads again.
func TestAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		out, w := io.Pipe()
		p := serve(t, e, Options{MaxCalls: 4, MaxWaiting: 4 << 20}, w)
		for i := range 20 {
			p.say(request(i, "big"))
		}
		p.say(request(`"x"`, "slow"), cancelled(`"x"`), cancelled(19))
		// Four wait in the outbox, and four for room in it.
		if len(e.ran) != 8 {
			t.Errorf("%d calls ran, want 8: those that the client does not read must hold up the others", len(e.ran))
		}
		go io.Copy(p, out)
		synctest.Wait()
		lines := p.heard()
		if len(lines) != 19 {
			t.Errorf("heard %d answers, want 19", len(lines))
		}
		for _, line := range lines {
			if len(line) < 1<<20 || !strings.HasSuffix(line, `x"}}`) {
				t.Errorf("a line is torn: %.60s", line)
			}
		}
		p.end()
		w.Close()
	})
}

// A client that sends nothing but rubbish and reads nothing is read no further than its answers have room.
func TestAClientThatDoesNotReadAndSendsRubbish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, w := io.Pipe()
		p := serve(t, newEcho(), Options{MaxWaiting: 1 << 20}, w)
		sent := make(chan int)
		go func() {
			n := 0
			for range 100_000 {
				if _, err := io.WriteString(p.in, "rubbish\n"); err != nil {
					break
				}
				n++
			}
			sent <- n
		}()
		synctest.Wait()
		p.cancel()
		if err := <-p.done; err == nil || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("ServeLines returned %v, want that the client does not read", err)
		}
		p.in.Close()
		if n := <-sent; n > 20_000 {
			t.Errorf("%d lines were read, want no more than a megabyte of answers", n)
		}
		out.Close()
	})
}

func TestAClientThatDoesNotReadCannotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, w := io.Pipe()
		p := serve(t, newEcho(), Options{}, w)
		p.say(request(1, "now"))
		began := time.Now()
		p.cancel()
		if err := <-p.done; err == nil || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("ServeLines returned %v, want that the client does not read", err)
		}
		if got := time.Since(began); got != farewell {
			t.Errorf("ServeLines returned after %v, want %v", got, farewell)
		}
		p.in.Close()
		out.Close()
	})
}

func TestNotificationsOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{})
		p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"x"}`)
		if diff := cmp.Diff([]string{"notifications/initialized", "x"}, e.heard); diff != "" {
			t.Errorf("the handler heard (-want +got):\n%s", diff)
		}
		p.session.Notify("changed", []byte(`{"a":1}`))
		p.expect(`{"jsonrpc":"2.0","method":"changed","params":{"a":1}}`)
		p.end()
		p.session.Notify("changed", nil) // to nobody
		p.expect()
	})
}

func TestManyShortAnswersAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{})
		var lines, want []string
		for i := range 5000 {
			method := "now"
			switch i % 500 {
			case 1:
				method = "queued"
			case 2:
				method = "big"
			}
			lines = append(lines, request(i, method))
			if method != "big" {
				want = append(want, did(i, method))
			}
		}
		p.say(lines...)
		got := slices.DeleteFunc(p.heard(), func(line string) bool { return strings.Contains(line, `"result":{"big":`) })
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("heard (-want +got):\n%.2000s", diff)
		}
		p.end()
	})
}
