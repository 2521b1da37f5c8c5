//go:build unix

package attacks_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Between two eras a question changes its clothes: it is judged all the same.
func TestDeniedQuestionsAcrossEras(t *testing.T) {
	t.Parallel()
	t.Run("a modern client of a legacy server", func(t *testing.T) {
		p := newPlace(t, noSampling)
		g := p.wrap(t)
		call := strings.Replace(modernCall(1, "puppet", saying(t, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"x":"evil"}}`,
			`{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`)), `clientCapabilities":{}`, `clientCapabilities":{"sampling":{},"elicitation":{}}`, 1)
		g.say(t, call)
		if got := g.hearAnswer(t, "1"); strings.Contains(got, "evil") {
			t.Errorf("the client heard %s", got)
		}
	})
	t.Run("a legacy client of a modern server", func(t *testing.T) {
		p := newPlace(t, noSampling)
		p.write(t, "era", "modern")
		g := p.wrap(t)
		g.greet(t)
		g.say(t, legacyCall(1, "puppet", saying(t, `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"sampling/createMessage","params":{"x":"evil"}}}}}`)))
		for answered := false; !answered; {
			got := g.hear(t)
			if strings.Contains(got, "evil") {
				t.Errorf("the client heard %s", got)
			}
			answered = strings.Contains(got, `"id":1,`)
		}
	})
}

// The answer to what a server asked of one principal is not another's to give.
func TestQuestionsAreTheirPrincipals(t *testing.T) {
	t.Parallel()
	p := newPlace(t, allowAll)
	ann, bob := "Bearer "+p.token(t, "ann"), "Bearer "+p.token(t, "bob")
	f := p.serveHTTP(t, puppets(map[string]*place{"up": p}), "--tokens", filepath.Join(p.dir, "tokens.json"))
	arguments := saying(t, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`)
	able := func(call string) string {
		return strings.Replace(call, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
	}
	asked := f.post(t, able(modernCall(1, "puppet", arguments)), called("puppet", "Authorization", ann)...).data()
	var m struct {
		Result struct {
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
			RequestState  string                     `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(asked), &m); err != nil || len(m.Result.InputRequests) != 1 || m.Result.RequestState == "" {
		t.Fatalf("ann heard %s", asked)
	}
	retry := func(text string) string {
		responses := map[string]any{}
		for key := range m.Result.InputRequests {
			responses[key] = map[string]any{"action": "accept", "content": map[string]string{"x": text}}
		}
		more, _ := json.Marshal(map[string]any{"inputResponses": responses, "requestState": m.Result.RequestState})
		return strings.Replace(able(modernCall(2, "puppet", arguments)), `"params":{`, `"params":{`+string(more[1:len(more)-1])+`,`, 1)
	}
	if got := f.post(t, retry("bobs-answer"), called("puppet", "Authorization", bob)...); !strings.Contains(got.body, `"error"`) {
		t.Errorf("bob heard %s", got.body)
	}
	if received := p.read("received"); strings.Contains(received, "bobs-answer") {
		t.Errorf("the server got bob's answer to ann's question:\n%s", received)
	}
	finished := make(chan struct{})
	go func() { // the server does not answer it: it ends with the gate
		defer close(finished)
		req, err := http.NewRequest(http.MethodPost, f.url, strings.NewReader(retry("anns-answer")))
		if err != nil {
			return
		}
		header := append(called("puppet"), "Authorization", ann, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		if resp, err := f.client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	awaitText(t, p, "received", "anns-answer")
	_ = f.cmd.Process.Signal(syscallTerm)
	<-finished
}
