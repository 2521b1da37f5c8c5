//go:build unix && peers

package hosts_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// call is a tool call that the model asks for.
type call struct {
	id, tool string
	input    map[string]any
}

// model stands in for the Messages API. A request that carries tools is answered by the next turn of its script, the
// calls of one turn in parallel, and by plain words behind the last; any other request by plain words.
type model struct {
	url string

	mu      sync.Mutex // guards what follows
	script  [][]call
	results map[string]result // by the id of the call
	tools   []string          // that the last request carried
	strange []string          // requests that no host has to make
}

// result is what the model was told of a call.
type result struct {
	text   string
	failed bool
}

func newModel(t *testing.T, script ...[]call) *model {
	t.Helper()
	m := &model{script: script, results: map[string]result{}}
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return m
}

// message is the part of a request that the stand-in looks at.
type message struct {
	Model    string
	Stream   bool
	Tools    []struct{ Name string }
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// block is a part of a message. Its content is a text or blocks.
type block struct {
	Type, Text string
	ToolUseID  string `json:"tool_use_id"`
	IsError    bool   `json:"is_error"`
	Content    json.RawMessage
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the host has gone away
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		m.answer(w, body)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		fmt.Fprint(w, `{"input_tokens":10}`)
	default:
		m.mu.Lock()
		m.strange = append(m.strange, r.Method+" "+r.Host+r.URL.Path)
		m.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"type":"error","error":{"type":"not_found_error","message":"no such thing here"}}`)
	}
}

func (m *model) answer(w http.ResponseWriter, body []byte) {
	var asked message
	if err := json.Unmarshal(body, &asked); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err.Error())
		return
	}
	blocks, stop := m.turn(asked)
	reply := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": asked.Model, "content": blocks,
		"stop_reason": stop, "stop_sequence": nil, "usage": map[string]int{"input_tokens": 10, "output_tokens": 10},
	}
	if !asked.Stream {
		json.NewEncoder(w).Encode(reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	stream(w, reply, blocks, stop)
}

// turn notes what a request tells and takes what is answered from the script.
func (m *model) turn(asked message) (blocks []map[string]any, stop string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sent := range asked.Messages {
		m.hear(sent.Content)
	}
	words := []map[string]any{{"type": "text", "text": "Done."}}
	if len(asked.Tools) == 0 {
		return words, "end_turn"
	}
	m.tools = nil
	for _, tool := range asked.Tools {
		m.tools = append(m.tools, tool.Name)
	}
	if len(m.script) == 0 {
		return words, "end_turn"
	}
	for _, c := range m.script[0] {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.id, "name": c.tool, "input": c.input})
	}
	m.script = m.script[1:]
	return blocks, "tool_use"
}

// hear keeps the results of calls. The caller holds the lock.
func (m *model) hear(content json.RawMessage) {
	for _, b := range blocksOf(content) {
		if b.Type != "tool_result" {
			continue
		}
		var text []string
		for _, part := range blocksOf(b.Content) {
			text = append(text, part.Text)
		}
		m.results[b.ToolUseID] = result{strings.Join(text, "\n"), b.IsError}
	}
}

func blocksOf(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var blocks []block
	json.Unmarshal(content, &blocks) // what is no block is not one that we wait for
	return blocks
}

// stream sends a reply as server-sent events.
func stream(w io.Writer, reply map[string]any, blocks []map[string]any, stop string) {
	send := func(event string, data map[string]any) {
		data["type"] = event
		text, _ := json.Marshal(data) // maps of plain values
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
	}
	begun := map[string]any{}
	for key, value := range reply {
		begun[key] = value
	}
	begun["content"], begun["stop_reason"] = []any{}, nil
	send("message_start", map[string]any{"message": begun})
	for i, b := range blocks {
		empty, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			input, _ := json.Marshal(b["input"])
			empty = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		send("content_block_start", map[string]any{"index": i, "content_block": empty})
		send("content_block_delta", map[string]any{"index": i, "delta": delta})
		send("content_block_stop", map[string]any{"index": i})
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]int{"output_tokens": 10},
	})
	send("message_stop", map[string]any{})
}

// told returns what the model was told of a call.
func (m *model) told(t *testing.T, id string) result {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.results[id]
	if !ok {
		t.Fatalf("the model was told nothing of the call %s", id)
	}
	return r
}

// sees reports whether the last request carried a tool.
func (m *model) sees(tool string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.tools, tool)
}
