package wire

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRelayedCallsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxCalls: 1, MaxRelayed: 300})
		p.say(request(`"own"`, "slow"))
		var want []string
		for i := range 301 {
			p.say(request(i, "relayed"))
			want = append(want, did(i, "relayed"))
		}
		if e.running != 301 {
			t.Errorf("%d calls run, want 300 and the one of our own", e.running)
		}
		p.say(cancelled(300), request(300, "relayed"), request(`"x"`, "relayed"), cancelled(`"x"`))
		for range 302 {
			e.release <- struct{}{}
		}
		p.expect(append(want, did(`"own"`, "slow"))...)
		p.end()
	})
}

func TestRelayedCallsAreBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxWaiting: 64 << 10, MaxRelayed: 8})
		for range 3 { // what was held is given back
			for i := range 100 {
				p.say(request(i, "relayed"))
			}
			refused := 0
			for _, line := range p.heard() {
				if strings.Contains(line, `"error":{"code":-32603,"message":"busy: `) {
					refused++
				}
			}
			if taken := 100 - refused; taken < 32 || taken > 64 {
				t.Errorf("%d were taken, want about 60", taken)
			}
			for i := range 100 { // those that wait first
				p.say(cancelled(99 - i))
			}
			p.expect()
		}
		p.end()
	})
}

// The client reads nothing while somebody has much to say to it.
func TestNotificationsThatNobodyReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, w := io.Pipe()
		p := serve(t, newEcho(), Options{MaxWaiting: 1 << 20}, w)
		synctest.Wait()
		line := []byte(`{"jsonrpc":"2.0","method":"flood","params":{"a":"` + strings.Repeat("x", 1000) + `"}}`)
		for range 10_000 {
			p.session.Forward(line)
		}
		go io.Copy(p, out)
		if n := len(p.heard()); n < 1000 || n > 2100 {
			t.Errorf("heard %d notifications, want two megabytes of them", n)
		}
		p.session.Forward(line)
		p.expect(string(line))
		p.end()
		w.Close()
	})
}

func TestTenThousandRelayedCallsFitIntoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const calls = 10_000
	e := newEcho()
	s := &Session{}
	s.Initialize("")
	r, in := io.Pipe()
	out := &lineCounter{}
	done := make(chan error)
	go func() { done <- ServeLines(t.Context(), s, e, r, out, Options{}) }()
	before := memory()
	for i := range calls {
		io.WriteString(in, strings.TrimSuffix(request(i, "relayed"), "}")+`,"params":{"name":"slow","arguments":{"text":"hello"}}}`+"\n")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		e.mu.Lock()
		running := e.running
		e.mu.Unlock()
		if running == calls {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls run, want %d", running, calls)
		}
	}
	if used := memory() - before; used > 100<<20 {
		t.Errorf("%d calls that wait use %d MiB, want less than 100", calls, used>>20)
	} else {
		t.Logf("%d calls that wait use %d MiB", calls, used>>20)
	}
	for range calls {
		e.release <- struct{}{}
	}
	in.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if out.lines != calls {
		t.Errorf("%d answers came, want %d", out.lines, calls)
	}
}

// memory returns the bytes that the process has in use, as far as it depends on what runs.
func memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

type lineCounter struct{ lines int }

func (c *lineCounter) Write(text []byte) (int, error) {
	c.lines += strings.Count(string(text), "\n")
	return len(text), nil
}
