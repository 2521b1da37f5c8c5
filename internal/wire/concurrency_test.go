package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestCallsRunBesideEachOtherUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{})
		var want []string
		for i := range 200 {
			p.say(request(i, "slow"))
			want = append(want, did(i, "slow"))
		}
		if e.running != 64 {
			t.Errorf("%d calls run, want 64", e.running)
		}
		// What is not Queued does not wait for those.
		p.say(request(`"a"`, "now"), request(`"b"`, "stream"))
		p.expect(did(`"a"`, "now"), `{"jsonrpc":"2.0","method":"opened"}`)
		for range 200 {
			e.release <- struct{}{}
			synctest.Wait()
		}
		p.expect(want...)
		if e.peak != 65 {
			t.Errorf("at most %d calls ran at once, want 64 and the one that was not queued", e.peak)
		}
		var order []string
		for i := range 200 {
			order = append(order, strconv.Itoa(i))
		}
		got := slices.DeleteFunc(e.ran, func(id string) bool { return id[0] == '"' })
		if diff := cmp.Diff(order, got); diff != "" {
			t.Errorf("calls ran in another order than they came (-want +got):\n%s", diff)
		}
		p.end()
	})
}

func TestCancelARunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{})
		p.say(request(1, "slow"), request(`"1"`, "slow"), request(2, "stubborn"))
		p.say(cancelled(1), cancelled(2))
		p.expect()
		if diff := cmp.Diff([]string{"1: context canceled"}, e.ended); diff != "" {
			t.Errorf("ended (-want +got):\n%s", diff)
		}
		// The id is free from then on, also while the call that had it goes on.
		p.say(request(2, "now"))
		p.expect(did(2, "now"))
		e.release <- struct{}{}
		e.release <- struct{}{}
		p.expect(did(`"1"`, "slow"))
		if !slices.Contains(e.ended, "2: context canceled") {
			t.Errorf("the stubborn call did not go on: %q", e.ended)
		}
		p.end()
	})
}

func TestCancelAWaitingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxCalls: 1})
		p.say(request(1, "slow"), request(2, "slow"), request(3, "slow"), cancelled(2))
		e.release <- struct{}{}
		e.release <- struct{}{}
		p.expect(did(1, "slow"), did(3, "slow"))
		if diff := cmp.Diff([]string{"1", "3"}, e.ran); diff != "" {
			t.Errorf("ran (-want +got):\n%s", diff)
		}
		p.end()
	})
}

func TestCancellationsThatMeanNothingAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{})
		p.say(request(1, "slow"), request(5, "queued"))
		p.expect(did(5, "queued"))
		p.say(
			cancelled(2), cancelled(5), cancelled(`"1"`), cancelled(`1.0`), cancelled(`null`), cancelled(`[1]`), cancelled(`true`),
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"RequestId":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`,
		)
		p.expect()
		// As a request it is just a method, and not ours.
		p.say(`{"jsonrpc":"2.0","id":9,"method":"notifications/cancelled","params":{"requestId":1}}`)
		p.expect(did(9, "notifications/cancelled"))
		e.release <- struct{}{}
		p.expect(did(1, "slow"))
		p.end()
	})
}

func TestCancelMatchesTheIDHoweverItIsSpelt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{})
		p.say(request(`"a/b"`, "slow"))
		p.say(cancelled(`"\u0061\/b"`))
		if len(e.ended) != 1 {
			t.Errorf("ended %q, want the call", e.ended)
		}
		p.expect()
		p.end()
	})
}

// The answer to the second must not pass for that to the first, so it has no id.
func TestAnIDInUseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxCalls: 1})
		p.say(request(1, "slow"), request(2, "slow"))
		inUse := failed("null", CodeInvalidRequest, "the id is in use by a request that has no answer yet")
		for _, method := range []string{"slow", "now", "stream"} {
			p.say(request(1, method), request(2, method))
			p.expect(inUse, inUse)
		}
		p.say(`{"jsonrpc":"2.0","id":1,"method":"now","params":[]}`, `{"jsonrpc":"1.0","id":2,"method":"now"}`)
		for _, line := range p.heard() {
			if !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
				t.Errorf("heard %s, want no id in it", line)
			}
		}
		p.say(request(`"1"`, "now")) // another id
		p.expect(did(`"1"`, "now"))
		e.release <- struct{}{}
		e.release <- struct{}{}
		p.expect(did(1, "slow"), did(2, "slow"))
		p.say(request(1, "now"))
		p.expect(did(1, "now"))
		p.end()
	})
}

func TestWaitingCallsAreBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{MaxCalls: 1, MaxWaiting: 1 << 20})
		long := func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow","params":{"a":%q}}`, id, strings.Repeat("x", 500<<10))
		}
		p.say(request(0, "slow"), long(1), long(2))
		p.expect()
		p.say(long(3))
		const busy = "busy: too many requests wait or stay open; retry when some have been answered"
		p.expect(failed(3, CodeInternal, busy))
		p.say(request(4, "slow")) // a short one still fits
		p.expect()
		p.say(cancelled(1), long(5)) // and so does a long one, where one was cancelled
		p.expect()
		p.say(long(3), cancelled(2), long(3))
		p.expect(failed(3, CodeInternal, busy))
		for range 4 {
			e.release <- struct{}{}
		}
		p.expect(did(0, "slow"), did(3, "slow"), did(4, "slow"), did(5, "slow"))
		p.end()
	})
}

func TestShortCallsThatWaitAndStreamsAreBoundedToo(t *testing.T) {
	for method, most := range map[string]int{"slow": 4096, "stream": 256} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, newEcho(), Options{MaxCalls: 1, MaxWaiting: 4 << 20})
				p.say(request(-1, "slow"))
				for i := range 5000 {
					p.say(request(i, method))
				}
				refused := 0
				for _, line := range p.heard() {
					if strings.Contains(line, `"error":{"code":-32603,"message":"busy: `) {
						refused++
					}
				}
				if taken := 5000 - refused; taken > most || taken < most/2 {
					t.Errorf("%d were taken, want up to %d", taken, most)
				}
				for i := range 5000 {
					p.say(cancelled(i))
				}
				p.say(request(`"one more"`, "stream"))
				p.expect(`{"jsonrpc":"2.0","method":"opened"}`)
				p.cancel()
				<-p.done
				p.in.Close()
			})
		})
	}
}

func TestAStreamEndsWithoutAWordWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := serve(t, e, Options{})
		p.say(request(1, "stream"))
		p.expect(`{"jsonrpc":"2.0","method":"opened"}`)
		p.say(cancelled(1))
		p.expect()
		if len(e.ended) != 1 {
			t.Errorf("ended %q, want the stream", e.ended)
		}
		p.say(request(1, "stream"))
		p.expect(`{"jsonrpc":"2.0","method":"opened"}`)
		p.end()
	})
}
