package wire

import (
	"strings"
	"testing"
	"testing/synctest"
)

// batching starts a conversation whose version has batches.
func batching(t *testing.T, e *echo, opt Options) *peer {
	p := serve(t, e, opt)
	p.session.Initialize("2025-03-26")
	return p
}

func TestBatchesAreOnlyForTheVersionThatHasThem(t *testing.T) {
	for _, version := range []string{"", "2024-11-05", "2025-06-18", "2025-11-25"} {
		synctest.Test(t, func(t *testing.T) {
			e := newEcho()
			p := serve(t, e, Options{})
			p.session.version = versionNamed(version)
			for _, line := range []string{`[]`, `[1]`, `[` + request(1, "now") + `]`, `[{"jsonrpc":"2.0","method":"x"}]`} {
				p.say(line)
				p.expect(failed("null", CodeInvalidRequest, "batches are only for sessions of protocol version 2025-03-26"))
			}
			if len(e.ran)+len(e.heard) > 0 {
				t.Errorf("version %q: ran %q, heard %q, want nothing", version, e.ran, e.heard)
			}
			p.end()
		})
	}
}

func TestBatch(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"x"}`
	null := func(message string) string { return failed("null", CodeInvalidRequest, message) }
	tests := map[string]struct {
		line string
		want []string // the answers within the array, nil for no answer at all
	}{
		"one":              {`[` + request(1, "now") + `]`, []string{did(1, "now")}},
		"several":          {`[` + request(1, "now") + `, ` + request(`"1"`, "now") + `]`, []string{did(1, "now"), did(`"1"`, "now")}},
		"with the others":  {`[` + note + `,` + request(1, "now") + `,{"jsonrpc":"2.0","id":1,"result":{}}]`, []string{did(1, "now")}},
		"only others":      {`[` + note + `,{"jsonrpc":"2.0","id":1,"result":{}}]`, nil},
		"rubbish":          {`[1,` + request(1, "now") + `]`, []string{null("a message must be an object, not number"), did(1, "now")}},
		"a bad entry":      {`[{"jsonrpc":"2.0","id":2,"method":"now","params":[]}]`, []string{failed(2, CodeInvalidRequest, "params must be an object")}},
		"a batch within":   {`[[` + request(1, "now") + `]]`, []string{null("a batch must not be in a batch")}},
		"initialize":       {`[` + request(1, "initialize") + `]`, []string{failed(1, CodeInvalidRequest, "initialize must not be in a batch")}},
		"the same id":      {`[` + request(1, "now") + `,` + request(1, "now") + `]`, []string{did(1, "now"), null("two requests of a batch have the same id")}},
		"a modern request": {`[` + strings.TrimSuffix(request(1, "now"), "}") + `,"params":` + modern() + `}]`, []string{failed(1, CodeInvalidRequest, "a request that names its protocol version must not be in a batch")}},
		"no such version": {
			`[{"jsonrpc":"2.0","id":1,"method":"now","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}]`,
			[]string{failed(1, CodeInvalidParams, "params._meta[io.modelcontextprotocol/protocolVersion] must be a string")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := batching(t, newEcho(), Options{})
				p.say(tt.line)
				if tt.want == nil {
					p.expect()
				} else {
					p.expect(`[` + strings.Join(tt.want, ",") + `]`)
				}
				p.end()
			})
		})
	}
}

func TestBatchesOfAWrongSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := batching(t, e, Options{})
		p.say(`[]`, `[ ]`)
		empty := failed("null", CodeInvalidRequest, "a batch must not be empty")
		p.expect(empty, empty)
		p.say(`[` + strings.Repeat(`1,`, 1000) + request(1, "now") + `]`)
		p.expect(failed("null", CodeInvalidRequest, "a batch of 1001 messages is too large, 1000 is the most"))
		p.say(`[` + strings.Repeat(`{"jsonrpc":"2.0","method":"x"},`, 999) + request(1, "now") + `]`)
		p.expect(`[` + did(1, "now") + `]`)
		p.say(`[{"jsonrpc":"2.0","id":2,"method":"now","params":{"a":1,"a":1}}]`)
		if got := p.heard(); len(got) != 1 || !strings.HasPrefix(got[0], `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
			t.Errorf("heard %q, want a refusal of the whole line", got)
		}
		p.end()
	})
}

// A batch is answered when all its requests have been, each of which counts, waits and is cancelled by itself.
func TestABatchRunsAsItsEntriesWould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEcho()
		p := batching(t, e, Options{MaxCalls: 2})
		p.say(`[` + request(1, "slow") + `,` + request(2, "slow") + `,` + request(3, "slow") + `,` + request(4, "slow") + `,` +
			cancelled(4) + `,` + request(5, "now") + `]`)
		if e.running != 2 {
			t.Errorf("%d calls run, want 2", e.running)
		}
		p.say(request(6, "now"), cancelled(2))
		p.expect(did(6, "now"))
		e.release <- struct{}{}
		p.expect()
		e.release <- struct{}{}
		got := p.heard()
		if len(got) != 1 {
			t.Fatalf("heard %q, want one line", got)
		}
		for _, want := range []string{did(1, "slow"), did(3, "slow"), did(5, "now")} {
			got[0] = strings.Replace(got[0], want, "", 1)
		}
		if got[0] != "[,,]" {
			t.Errorf("beside the answers to 1, 3 and 5 the array has %s", got[0])
		}
		p.end()
	})
}
