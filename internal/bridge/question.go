package bridge

import (
	"fmt"
	"slices"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// question is a request of a legacy server's that a modern client answers with its next round.
type question struct {
	in  wire.Incoming
	key string // in inputRequests
}

// asInputRequest is the question as a member of inputRequests.
func (q *question) asInputRequest() string {
	params := q.in.Params.Bytes()
	if params == nil {
		params = []byte(`{}`)
	}
	method := canon.AppendString(nil, q.in.Method)
	return member(q.key, WithFirst([]byte(`{}`), member("method", method), member("params", params)))
}

const (
	// maxQuestions is how many questions of one call may be open at once.
	maxQuestions = 64

	// maxStrays is how many questions may wait to be attributed, each for strayFor at most.
	maxStrays = 64
	strayFor  = 30 * time.Second
)

// errTooMany is what a server learns when too many calls wait for their clients.
const errTooMany = "too many questions wait for their clients: try again later"

// question takes a request of the server's. f is nil if it is not known on behalf of which call it came.
func (m *Modern) question(f *flight, in wire.Incoming) {
	switch in.Method {
	case "ping":
		m.send(resultLine(in.ID, []byte(`{}`)))
		return
	case "elicitation/create", "sampling/createMessage", "roots/list":
	default:
		m.refuse(in.ID, wire.CodeMethodNotFound, "method not found: "+cut(in.Method))
		return
	}
	if why := unclear(in.Params); why != "" {
		m.refuse(in.ID, wire.CodeInvalidParams, why)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := (&question{in: in}); f != nil {
		m.ask(f, q)
	} else {
		m.attribute(q)
	}
}

// unclear says why the params of a question could be read in two ways, if they could.
func unclear(params canon.Value) string {
	if !params.Exists() {
		return ""
	}
	if params.Kind() != canon.Object {
		return "params must be an object"
	}
	if _, err := canon.Parse(params.Bytes()); err != nil {
		return "params are refused: " + cut(err.Error())
	}
	return ""
}

// turnDown answers a question with an error. It is for those who hold mu.
func (m *Modern) turnDown(q *question, code int, why string) {
	m.sendLocked(faultLine(q.in.ID, refusal(code, why)))
}

// ask puts a question to the client of a flight. It is for those who hold mu.
func (m *Modern) ask(f *flight, q *question) {
	select {
	case <-f.ended:
		return // who has answered asks no more
	default:
	}
	if !interactive(f.method) {
		m.turnDown(q, wire.CodeMethodNotFound,
			"a "+f.method+" request cannot be answered with questions in protocol version "+modernVersion)
		return
	}
	if lacking := Lacking(q.in.Method, q.in.Params, f.declared); lacking != nil {
		f.lacking = lacking
		m.turnDown(q, wire.CodeMethodNotFound, "the client of this call has no such capability: "+string(lacking))
		return
	}
	if len(f.questions) >= maxQuestions || m.held+len(q.in.Line) > m.opt.MaxParkedBytes {
		m.turnDown(q, wire.CodeInternal, errTooMany)
		return
	}
	f.count++
	q.key = fmt.Sprintf("question-%d", f.count)
	f.questions = append(f.questions, q)
	m.held += len(q.in.Line)
	f.signal()
}

// signal wakes the round that waits, if there is one.
func (f *flight) signal() {
	if f.round == nil {
		return
	}
	select {
	case f.asked <- struct{}{}:
	default:
	}
}

// settle gives the server the answers that a round has brought. What is not answered is asked again. It is for those
// who hold mu.
func (m *Modern) settle(f *flight, responses canon.Value) {
	f.questions = slices.DeleteFunc(f.questions, func(q *question) bool {
		response := responses.Get(q.key)
		if response.Kind() != canon.Object {
			return false
		}
		m.held -= len(q.in.Line)
		m.sendLocked(resultLine(q.in.ID, response.Bytes()))
		return true
	})
	if len(f.questions) > 0 {
		f.signal()
	}
}

// Lacking returns the capabilities that a client must have declared to be asked this, as JSON, if it has not.
func Lacking(method string, params, declared canon.Value) []byte {
	has := func(keys ...string) bool {
		v := declared
		for _, key := range keys {
			v = v.Get(key)
		}
		return v.Kind() == canon.Object
	}
	switch method {
	case "elicitation/create":
		if mode, _ := params.Get("mode").Text(); mode == "url" {
			if !has("elicitation", "url") {
				return []byte(`{"elicitation":{"url":{}}}`)
			}
		} else if !has("elicitation") || has("elicitation", "url") && !has("elicitation", "form") {
			return []byte(`{"elicitation":{"form":{}}}`)
		}
	case "sampling/createMessage":
		if !has("sampling") {
			return []byte(`{"sampling":{}}`)
		}
		if (params.Get("tools").Exists() || params.Get("toolChoice").Exists()) && !has("sampling", "tools") {
			return []byte(`{"sampling":{"tools":{}}}`)
		}
	case "roots/list":
		if !has("roots") {
			return []byte(`{"roots":{}}`)
		}
	}
	return nil
}

// stray is a question of which is not known on behalf of which call it was asked. It waits until only one of those
// calls is left that were under way when it came: that one it must have been.
type stray struct {
	question   *question
	candidates map[*flight]bool
	timer      *time.Timer
}

// attribute finds the call on whose behalf q was asked. It is for those who hold mu.
func (m *Modern) attribute(q *question) {
	if len(m.flights) == 0 {
		m.turnDown(q, wire.CodeMethodNotFound, "no call is under way on whose behalf this could be asked")
		return
	}
	if len(m.flights) == 1 {
		for f := range m.flights {
			m.ask(f, q)
		}
		return
	}
	if m.closed || len(m.strays) >= maxStrays || m.held+len(q.in.Line) > m.opt.MaxParkedBytes {
		m.turnDown(q, wire.CodeInternal, errTooMany)
		return
	}
	s := &stray{question: q, candidates: make(map[*flight]bool, len(m.flights))}
	for f := range m.flights {
		s.candidates[f] = true
	}
	m.strays[s] = true
	m.held += len(q.in.Line)
	s.timer = time.AfterFunc(strayFor, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.strays[s] {
			m.drop(s)
			m.turnDown(q, wire.CodeInternal, "several calls are under way, and which of them this is asked for cannot be told")
		}
	})
}

// drop waits no more for a stray question's call to be known. It is for those who hold mu.
func (m *Modern) drop(s *stray) {
	delete(m.strays, s)
	s.timer.Stop()
	m.held -= len(s.question.in.Line)
}

// narrow takes a flight that has ended from among those that may have caused questions. It is for those who hold mu.
func (m *Modern) narrow(ended *flight) {
	for s := range m.strays {
		delete(s.candidates, ended)
		if len(s.candidates) > 1 {
			continue
		}
		m.drop(s)
		for f := range s.candidates {
			m.ask(f, s.question)
		}
	}
}

// recall forgets the question with this id: the server has taken it back.
func (m *Modern) recall(id canon.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(q *question) bool { return string(q.in.ID.Bytes()) == string(id.Bytes()) }
	for f := range m.flights {
		f.questions = slices.DeleteFunc(f.questions, func(q *question) bool {
			if same(q) {
				m.held -= len(q.in.Line)
				return true
			}
			return false
		})
	}
	for s := range m.strays {
		if same(s.question) {
			m.drop(s)
		}
	}
}
