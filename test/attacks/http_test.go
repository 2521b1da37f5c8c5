//go:build unix

package attacks_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// front is a gate that serves over HTTP.
type front struct {
	*gate
	url, host string
	client    *http.Client
}

// serveHTTP starts the gate over HTTP in front of the servers of a file.
func (p *place) serveHTTP(t *testing.T, servers string, extra ...string) *front {
	t.Helper()
	p.write(t, "servers.json", servers)
	args := []string{"serve", "--policy", p.policy, "--ledger", p.ledger, "--servers", filepath.Join(p.dir, "servers.json"), "--http", "127.0.0.1:0"}
	f := &front{gate: p.start(t, append(args, extra...)...), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 500}}}
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		_ = f.cmd.Process.Signal(syscallTerm)
	})
	const told = "listening on http://"
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text := f.stderr.String()
		if _, rest, ok := strings.Cut(text, told); ok {
			if address, _, ok := strings.Cut(rest, "/mcp\n"); ok {
				f.host, f.url = address, "http://"+address+"/mcp"
				return f
			}
		}
		if time.Now().After(end) {
			t.Fatal("the gate does not listen")
		}
	}
}

// puppets is a servers file of puppets by name, each with the folder of its place.
func puppets(places map[string]*place) string {
	entries := map[string]any{}
	for name, p := range places {
		entries[name] = map[string]any{"command": self, "args": []string{"puppet", p.dir}, "env": map[string]string{"GORACE": os.Getenv("GORACE")}}
	}
	text, _ := json.Marshal(map[string]any{"mcpServers": entries})
	return string(text)
}

// token makes a token for a principal, in the file tokens.json of the place.
func (p *place) token(t *testing.T, principal string) string {
	t.Helper()
	out, err := exec.Command(sallyport, "token", "new", principal, "--file", filepath.Join(p.dir, "tokens.json")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "spt_") {
			return word
		}
	}
	t.Fatalf("no token in %s", out)
	return ""
}

// answer is what came of an HTTP request.
type answer struct {
	status int
	header http.Header
	body   string
}

// post sends a message; header is name, value, and so on.
func (f *front) post(t *testing.T, body string, header ...string) answer {
	t.Helper()
	return f.do(t, http.MethodPost, body, header...)
}

func (f *front) do(t *testing.T, method, body string, header ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, f.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		switch header[i] {
		case "Host":
			req.Host = header[i+1]
		case "?":
			req.URL.RawQuery = header[i+1]
		default:
			req.Header[http.CanonicalHeaderKey(header[i])] = append(req.Header[http.CanonicalHeaderKey(header[i])], header[i+1])
		}
	}
	req.Header["Content-Type"] = req.Header["Content-Type"][len(req.Header["Content-Type"])-1:]
	resp, err := f.client.Do(req)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// called are the headers of a modern call.
func called(tool string, more ...string) []string {
	return append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, more...)
}

// data is what an answer says, without the clothes of an event.
func (a answer) data() string {
	if _, rest, ok := strings.Cut(a.body, "data: "); ok {
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	return a.body
}

// Whoever has no good token, comes from a page or under a strange name, or says one thing in the header and another in
// the body, reaches no server.
func TestRequestsThatMustNotBeLetIn(t *testing.T) {
	p := newPlace(t, allowAll)
	token := p.token(t, "ann")
	f := p.serveHTTP(t, puppets(map[string]*place{"puppet": p}), "--tokens", filepath.Join(p.dir, "tokens.json"))
	bearer := "Bearer " + token
	good := modernCall(1, "count", `{}`)
	for name, c := range map[string]struct {
		status int
		body   string
		header []string
	}{
		"no token":             {401, good, called("count")},
		"another token":        {401, good, called("count", "Authorization", bearer+"x")},
		"token in the query":   {401, good, called("count", "?", "access_token="+token+"&token="+token)},
		"token in a cookie":    {401, good, called("count", "Cookie", "Authorization="+token)},
		"two tokens":           {401, good, called("count", "Authorization", bearer, "Authorization", bearer)},
		"basic":                {401, good, called("count", "Authorization", "Basic "+token)},
		"forwarded":            {401, good, called("count", "X-Forwarded-Authorization", bearer, "X-Forwarded-For", "127.0.0.1")},
		"evil page":            {403, good, called("count", "Authorization", bearer, "Origin", "https://evil.example")},
		"null page":            {403, good, called("count", "Authorization", bearer, "Origin", "null")},
		"empty page":           {403, good, called("count", "Authorization", bearer, "Origin", "")},
		"page on another port": {403, good, called("count", "Authorization", bearer, "Origin", "http://127.0.0.1:1")},
		"page with a user":     {403, good, called("count", "Authorization", bearer, "Origin", "http://x@"+f.host)},
		"secure page":          {403, good, called("count", "Authorization", bearer, "Origin", "https://"+f.host)},
		"two pages":            {403, good, called("count", "Authorization", bearer, "Origin", "http://"+f.host, "Origin", "https://evil.example")},
		"strange name":         {403, good, called("count", "Authorization", bearer, "Host", "evil.example")},
		"name with a dot":      {403, good, called("count", "Authorization", bearer, "Host", "127.0.0.1.evil.example")},
		"name of localhost":    {403, good, called("count", "Authorization", bearer, "Host", "localhost.evil.example:80")},
		"page of that name":    {403, good, called("count", "Authorization", bearer, "Host", "evil.example", "Origin", "http://evil.example")},
		"other name in header": {400, good, called("puppet", "Authorization", bearer)},
		"two names in header":  {400, good, called("count", "Mcp-Name", "puppet", "Authorization", bearer)},
		"method in header":     {400, good, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "ping", "Mcp-Name", "count", "Authorization", bearer}},
		"version in header":    {400, good, []string{"MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/call", "Mcp-Name", "count", "Authorization", bearer}},
		"no headers":           {400, good, []string{"Authorization", bearer}},
		"name in base64":       {400, good, called("=?base64?cHVwcGV0?=", "Authorization", bearer)},
		"form":                 {415, good, called("count", "Authorization", bearer, "Content-Type", "application/x-www-form-urlencoded")},
		"text":                 {415, good, called("count", "Authorization", bearer, "Content-Type", "text/plain")},
		"compressed":           {415, good, called("count", "Authorization", bearer, "Content-Encoding", "gzip")},
		"a batch":              {400, "[" + good + "]", called("count", "Authorization", bearer)},
		"two messages":         {400, good + "\n" + good, called("count", "Authorization", bearer)},
		"trailing garbage":     {400, good + "x", called("count", "Authorization", bearer)},
		"byte order mark":      {400, "\ufeff" + good, called("count", "Authorization", bearer)},
		"nothing":              {400, "", called("count", "Authorization", bearer)},
		"a session of nobody":  {404, legacyCall(1, "count", `{}`), []string{"Authorization", bearer, "Mcp-Session-Id", "1"}},
		"no session":           {400, legacyCall(1, "count", `{}`), []string{"Authorization", bearer}},
		"an answer":            {400, `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"Authorization", bearer}},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.post(t, c.body, c.header...)
			if got.status != c.status {
				t.Errorf("status %d, want %d: %s", got.status, c.status, got.body)
			}
			if got.status == 401 && got.header.Get("WWW-Authenticate") == "" {
				t.Error("WWW-Authenticate is missing")
			}
			if got.header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("a page may read the answer")
			}
		})
	}
	if received := p.read("received"); strings.Contains(received, "tools/call") {
		t.Errorf("the server got\n%s", received)
	}
	if got := f.post(t, good, called("count", "Authorization", bearer)...); got.status != 200 || !strings.Contains(got.body, "counted") {
		t.Errorf("the good request got %d %s", got.status, got.body)
	}
	records := p.read("ledger/ledger.jsonl")
	for _, rule := range []string{"token", "origin", "host"} {
		if !strings.Contains(records, `"rule":"`+rule+`"`) {
			t.Errorf("nothing is on record that was refused by its %s", rule)
		}
	}
	if strings.Contains(records, token) || strings.Contains(records, "evil.example") {
		t.Errorf("what requests say of themselves is on record:\n%s", records)
	}
}

// Requests whose end two readers would see in two places.
func TestFramingOfHTTP(t *testing.T) {
	p := newPlace(t, onlyPuppet)
	f := p.serveHTTP(t, puppets(map[string]*place{"puppet": p}))
	hidden := modernCall(1, "count", `{}`)
	inner := "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: count\r\nContent-Length: " + itoa(len(hidden)) + "\r\n\r\n" + hidden
	for name, request := range map[string]string{
		"two lengths":        "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nContent-Length: 0\r\nContent-Length: " + itoa(len(inner)) + "\r\n\r\n" + inner,
		"chunks and length":  "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"strange coding":     "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
		"bad chunk":          "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + inner,
		"cut chunk":          "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + hidden[:30],
		"no host":            "POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"two hosts":          "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n",
		"host of HTTP/1.0":   "POST /mcp HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
		"absolute evil":      "POST http://evil.example/mcp HTTP/1.1\r\nHost: " + f.host + "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"folded header":      "POST /mcp HTTP/1.1\r\nHost: " + f.host + "\r\nX: a\r\n Mcp-Name: puppet\r\nContent-Length: 0\r\n\r\n",
		"blank before colon": "POST /mcp HTTP/1.1\r\nHost : " + f.host + "\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", f.host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
			_, _ = io.WriteString(conn, request)
			_ = conn.(*net.TCPConn).CloseWrite()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && resp.StatusCode < 400 {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
	if received := p.read("received"); strings.Contains(received, "tools/call") {
		t.Errorf("the server got\n%s", received)
	}
}

// session begins a legacy session and returns its id.
func (f *front) session(t *testing.T, header ...string) string {
	t.Helper()
	got := f.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`, header...)
	id := got.header.Get("Mcp-Session-Id")
	if got.status != 200 || id == "" {
		t.Fatalf("initialize got %d %s", got.status, got.body)
	}
	f.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, append(header, "Mcp-Session-Id", id)...)
	return id
}

// What one principal has, another never sees: sessions, notes, claims, tasks, records.
func TestPrincipalsAreApart(t *testing.T) {
	p := newPlace(t, keyed)
	ann, bob := "Bearer "+p.token(t, "ann"), "Bearer "+p.token(t, "bob")
	f := p.serveHTTP(t, puppets(map[string]*place{"up": p}), "--builtin", "--tokens", filepath.Join(p.dir, "tokens.json"))
	id := f.session(t, "Authorization", ann)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if got := f.do(t, method, legacyCall(1, "up__count", `{}`), "Authorization", bob, "Mcp-Session-Id", id); got.status != 404 {
			t.Errorf("%s with the other's session got %d %s", method, got.status, got.body)
		}
	}
	note := func(who, text string) string {
		return f.post(t, modernCall(1, "write_note", `{"request_id":"the-same-id","text":"`+text+`"}`), called("write_note", "Authorization", who)...).data()
	}
	if got := note(ann, "anns secret"); !strings.Contains(got, "committed") {
		t.Errorf("ann heard %s", got)
	}
	if got := note(bob, "bobs own"); !strings.Contains(got, "committed") {
		t.Errorf("bob heard %s", got)
	}
	if got := f.post(t, modernCall(1, "read_ledger", `{}`), called("read_ledger", "Authorization", bob)...).data(); strings.Contains(got, "anns") || !strings.Contains(got, "bobs") {
		t.Errorf("bob read %s", got)
	}
	// The same key is another's own, also for a server's tool.
	pay := func(who, text string) string {
		arguments := `{"request_id":"pay","say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"` + text + `\"}]}}\n"]}`
		return f.post(t, modernCall(1, "up__puppet", arguments), called("up__puppet", "Authorization", who)...).data()
	}
	if got := pay(ann, "for ann"); !strings.Contains(got, "for ann") {
		t.Errorf("ann heard %s", got)
	}
	if got := pay(bob, "for bob"); !strings.Contains(got, "for bob") {
		t.Errorf("bob heard %s", got)
	}
	if got := pay(ann, "for ann"); !strings.Contains(got, "for ann") {
		t.Errorf("ann heard %s", got)
	}
	// A task is its principal's.
	begin := `{"request_id":"task","say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"task\",\"taskId\":\"t1\",\"task\":{\"taskId\":\"t1\",\"status\":\"working\"}}}\n"]}`
	f.post(t, modernCall(1, "up__puppet", begin), called("up__puppet", "Authorization", ann)...)
	taskRequest := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t1",` + modernMeta + `}}`
	header := func(who string) []string {
		return []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tasks/get", "Mcp-Name", "t1", "Authorization", who}
	}
	if got := f.post(t, taskRequest, header(bob)...); !strings.Contains(got.body, `"error"`) {
		t.Errorf("bob heard of ann's task: %s", got.body)
	}
	if received := p.read("received"); strings.Contains(received, "tasks/get") {
		t.Error("bob's request for ann's task reached the server")
	}
	for _, secret := range []string{ann, bob} {
		if strings.Contains(p.read("received")+p.read("environment")+f.stderr.String(), strings.TrimPrefix(secret, "Bearer ")) {
			t.Error("a client's token went on")
		}
	}
}

// One principal's sessions and open requests, however many, do not keep another out.
func TestExhaustion(t *testing.T) {
	p := newPlace(t, allowAll)
	ann, bob := "Bearer "+p.token(t, "ann"), "Bearer "+p.token(t, "bob")
	f := p.serveHTTP(t, puppets(map[string]*place{"up": p}), "--tokens", filepath.Join(p.dir, "tokens.json"))
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for i := range 300 { // half requests, half of them with a body that never comes
		conn, err := net.Dial("tcp", f.host)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\n", f.host)
		if i%2 == 0 {
			fmt.Fprintf(conn, "Authorization: %s\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{", ann)
		}
	}
	for range 40 {
		f.post(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"nonsense","capabilities":{},"clientInfo":{}}}`, "Authorization", ann)
	}
	begun := time.Now()
	id := f.session(t, "Authorization", bob)
	if got := f.post(t, legacyCall(1, "count", `{}`), "Authorization", bob, "Mcp-Session-Id", id); !strings.Contains(got.body, "counted") {
		t.Errorf("bob got %d %s", got.status, got.body)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Calls at once over HTTP to a slow server all get their own answer.
func TestManyCallsOverHTTP(t *testing.T) {
	p := newPlace(t, allowAll)
	f := p.serveHTTP(t, puppets(map[string]*place{"up": p}))
	const calls = 500
	var wait sync.WaitGroup
	for i := range calls {
		wait.Go(func() {
			text := "own-" + itoa(i) + "-"
			arguments := `{"wait":500,"say":["{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"resultType\":\"complete\",\"content\":[],\"own\":\"` + text + `\"}}\n"]}`
			// All under one id: each request stands by itself.
			if got := f.post(t, modernCall(7, "puppet", arguments), called("puppet")...); got.status != 200 || !strings.Contains(got.body, text) || !strings.Contains(got.body, `"id":7`) {
				t.Errorf("%d got %d %s", i, got.status, last(got.body, 300))
			}
		})
	}
	wait.Wait()
}

// A server over HTTP gets the headers that its entry names, and nothing of a client's.
func TestClientsHeadersStayHere(t *testing.T) {
	var mu sync.Mutex
	var headers []http.Header
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Clone())
		mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "evil=1")
		w.Header().Set("WWW-Authenticate", "Bearer evil")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		result := `{"resultType":"complete","content":[],"puppet":"` + m.Method + `"}`
		switch m.Method {
		case "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
		case "tools/list":
			result = strings.TrimSuffix(puppetTools, "}") + `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		_, _ = w.Write(out.Bytes())
	}))
	defer up.Close()
	p := newPlace(t, allowAll)
	ann := "Bearer " + p.token(t, "ann")
	f := p.serveHTTP(t, `{"mcpServers":{"up":{"type":"http","url":"`+up.URL+`","headers":{"Authorization":"Bearer its-own"}}}}`, "--tokens", filepath.Join(p.dir, "tokens.json"))
	got := f.post(t, modernCall(1, "count", `{}`), called("count", "Authorization", ann, "Cookie", "a=b", "X-Secret", "s", "Mcp-Session-Id", "s", "X-Forwarded-For", "1.2.3.4", "Mcp-Param-X", "y")...)
	if got.status != 200 || !strings.Contains(got.body, "tools/call") {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for _, name := range []string{"Set-Cookie", "Www-Authenticate", "Access-Control-Allow-Origin", "Mcp-Session-Id"} {
		if got.header.Get(name) != "" {
			t.Errorf("the client got the server's %s", name)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, h := range headers {
		if h.Get("Authorization") != "Bearer its-own" {
			t.Errorf("the server got Authorization %q", h.Get("Authorization"))
		}
		for _, name := range []string{"Cookie", "X-Secret", "Mcp-Session-Id", "X-Forwarded-For", "Mcp-Param-X"} {
			if h.Get(name) != "" {
				t.Errorf("the server got the client's %s", name)
			}
		}
	}
}
