package bridge

import (
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
)

func params(t *testing.T, text string) canon.Value {
	t.Helper()
	v, err := canon.Skim([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestStateOpensOnlyWhereItBelongs attacks a sealed state with everything that it is bound to.
func TestStateOpensOnlyWhereItBelongs(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	asked := params(t, `{"name":"t","arguments":{"a":1,"b":1e400},"_meta":{"progressToken":1}}`)
	bound := binding("alice", "tools/call", asked)
	tick := newTicket()
	state := tick.state(now.Add(time.Minute), bound)
	again := params(t, `{"requestState":"s","name":"t","arguments":{"a":1,"b":1e400},"inputResponses":{},"_meta":{"progressToken":2}}`)
	if got, ok := openState(state, now, binding("alice", "tools/call", again)); !ok || got != tick {
		t.Fatalf("the retry of the call does not open its state: %v, %v", got, ok)
	}
	for _, c := range []struct {
		name, state string
		now         time.Time
		bound       []byte
	}{
		{"another principal", state, now, binding("bob", "tools/call", asked)},
		{"no principal", state, now, binding("", "tools/call", asked)},
		{"a principal that runs into the method", state, now, binding("alicetools", "/call", asked)},
		{"another method", state, now, binding("alice", "prompts/get", asked)},
		{"another tool", state, now, binding("alice", "tools/call", params(t, `{"name":"u","arguments":{"a":1,"b":1e400}}`))},
		{"other arguments", state, now, binding("alice", "tools/call", params(t, `{"name":"t","arguments":{"a":2,"b":1e400}}`))},
		{"more params", state, now, binding("alice", "tools/call", params(t, `{"name":"t","arguments":{"a":1,"b":1e400},"x":1}`))},
		{"no params", state, now, binding("alice", "tools/call", canon.Value{})},
		{"too late", state, now.Add(time.Minute), bound},
		{"nothing", "", now, bound},
		{"not base64", "!" + state, now, bound},
		{"cut", state[:len(state)-4], now, bound},
		{"longer", state + "AAAA", now, bound},
		{"far too long", strings.Repeat(state, 1000), now, bound},
		{"padded", state + "=", now, bound},
	} {
		if _, ok := openState(c.state, c.now, c.bound); ok {
			t.Errorf("%s: the state opens", c.name)
		}
	}
	for i := range state {
		changed := []byte(state)
		changed[i] = 'A'
		if changed[i] == state[i] {
			changed[i] = 'B'
		}
		if _, ok := openState(string(changed), now, bound); ok {
			t.Errorf("the state opens with its byte %d changed", i)
		}
	}
}

func TestStatesTellNothing(t *testing.T) {
	tick := newTicket()
	at := time.Unix(1_000_000, 0)
	if a, b := tick.state(at, nil), tick.state(at, nil); a == b {
		t.Errorf("the same ticket is sealed twice in the same way: %s", a)
	}
}
