package wire

import (
	"bytes"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

func TestAnswersKeepTheID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{})
		for _, id := range []string{`1`, `"1"`, `-7`, `9007199254740993`, `"a\u0062\/c"`, `""`, `"é"`} {
			p.say(request(id, "now"))
			p.expect(did(id, "now"))
			p.say(request(id, "queued"))
			p.expect(did(id, "queued"))
		}
		if err := p.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestErrorsOfAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := serve(t, newEcho(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		p.say(request(1, "fails"), request(2, "refuses"), request(3, "panics"), request(4, "divides"), request(5, "empty"),
			`{"jsonrpc":"2.0","method":"panics"}`)
		p.expect(
			failed(1, CodeInternal, "internal error"),
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no","data":{"why":1}}}`,
			failed(3, CodeInternal, "internal error"),
			failed(4, CodeInternal, "internal error"),
			failed(5, CodeInternal, "internal error"),
		)
		p.say(request(7, "has no pace"))
		p.expect(failed("null", CodeInternal, "internal error"))
		p.say(request(6, "now"))
		p.expect(did(6, "now"))
		p.end()
		for _, want := range []string{"disk on fire", "index out of range", "peer_test.go", "no result"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not have %q", want)
			}
		}
		for _, secret := range []string{"with the arguments", "in a notification", "with a method"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log has the value of a panic: %q", secret)
			}
		}
	})
}

func TestAResultIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{})
		p.say(request(1, "pretty"))
		p.expect(`{"jsonrpc":"2.0","id":1,"result":{   "a": [ ] } }`)
		p.end()
	})
}

func TestBadLinesGetTheirAnswerAndEndNothing(t *testing.T) {
	const id = `{"jsonrpc":"2.0","id":7,`
	tests := map[string]struct {
		line string
		want string // the beginning of the answer, "" for none
	}{
		"no JSON":                  {`{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		"refused, id known":        {id + `"method":"now","params":{"a":1,"a":1}}`, id + `"error":{"code":-32600,`},
		"refused, id not known":    {`{"jsonrpc":"2.0","id":null,"method":"now"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		"meta not an object":       {id + `"method":"now","params":{"_meta":1}}`, id + `"error":{"code":-32602,`},
		"version not spoken":       {id + `"method":"now","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}`, id + `"error":{"code":-32022,`},
		"malformed notification":   {`{"jsonrpc":"2.0","method":"x","params":[]}`, ``},
		"refused notification":     {`{"jsonrpc":"2.0","method":"x","params":{"a":1,"a":1}}`, ``},
		"stray response":           {id + `"result":{}}`, ``},
		"stray error":              {id + `"error":{"code":1,"message":"x"}}`, ``},
		"malformed response":       {id + `"result":{},"error":{}}`, ``},
		"request as notification":  {`{"jsonrpc":"2.0","method":"queued","params":{}}`, ``},
		"batch in a wrong session": {`[` + id + `"method":"now"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEcho()
				p := serve(t, e, Options{})
				p.say(tt.line)
				got := p.heard()
				if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.want)) {
					t.Errorf("heard %q, want it to begin with %q", got, tt.want)
				}
				if len(e.ran) > 0 {
					t.Errorf("the handler was asked for %q", e.ran)
				}
				p.say(request(7, "now"))
				p.expect(did(7, "now"))
				p.end()
			})
		})
	}
}

func TestTenThousandBadLinesAndAGoodOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{})
		bad := []string{
			"\xff\xfe", `{"jsonrpc":"2.0","id":1,"method":"now","id":2}`, `[[[[`, `{}`, `nul`, strings.Repeat("[", 5000),
			`{"jsonrpc":"2.0","id":1.5,"method":"now"}`, `"`, `[]`, `{"jsonrpc":"2.0","id":1,"Method":"now"}`,
		}
		for range 1000 {
			if _, err := io.WriteString(p.in, strings.Join(bad, "\n")+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		p.say(request(7, "now"))
		heard := p.heard()
		if got, want := len(heard), 10_001; got != want {
			t.Fatalf("heard %d answers, want %d", got, want)
		}
		if got, want := heard[10_000], did(7, "now"); got != want {
			t.Errorf("the last answer is %s, want %s", got, want)
		}
		p.end()
	})
}

func TestTheLongestLineIsServedAndALongerOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, newEcho(), Options{})
		frame := `{"jsonrpc":"2.0","id":1,"method":"queued","params":{"a":"%s"}}`
		line := strings.Replace(frame, "%s", strings.Repeat("x", 16<<20-len(frame)+len("%s")), 1)
		before := heap()
		p.say(line)
		p.expect(did(1, "queued"))
		if after := heap(); after > before+1<<20 {
			t.Errorf("%d bytes are still held after the line was served", after-before)
		}
		p.say(line + " ")
		p.expect(failed("null", CodeInvalidRequest, "a line is longer than 16777216 bytes, the most that --max-line allows"))
		p.say(request(2, "queued"))
		p.expect(did(2, "queued"))
		p.end()
	})
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
