package bridge

import (
	"slices"
	"strconv"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// notice passes on a notification of the server's. f is nil if it belongs to no call.
func (m *Modern) notice(f *flight, in wire.Incoming) {
	switch in.Method {
	case "notifications/progress":
		m.progress(f, in)
	case "notifications/message":
		m.message(f, in)
	case "notifications/cancelled":
		m.recall(in.Params.Get("requestId"))
	case "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated":
		m.changed(in)
	case "notifications/elicitation/complete", "notifications/tasks/status":
		// The modern era has neither.
	default:
		if f == nil {
			m.tell(in)
		} else if r := m.roundOf(f); r != nil {
			r.tell(in)
		}
	}
}

// roundOf returns the round that waits for f, nil if there is none.
func (m *Modern) roundOf(f *flight) *round {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f.round
}

// progress passes on how far a call has come, to the round that waits for it, under that round's own token.
func (m *Modern) progress(f *flight, in wire.Incoming) {
	token := in.Params.Get("progressToken")
	r := m.roundWith(f, token)
	if r == nil || !r.token.Exists() {
		return
	}
	if string(r.token.Bytes()) != string(token.Bytes()) {
		in = scanned(canon.Splice(in.Line, canon.Edit{Old: token, New: r.token.Bytes()}))
	}
	r.tell(in)
}

// roundWith returns the round that waits for f, or for the call with this token if f is nil. There is none if f has
// another one.
func (m *Modern) roundWith(f *flight, token canon.Value) *round {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other := range m.flights {
		if (f == nil || f == other) && token.Exists() && string(other.token.Bytes()) == string(token.Bytes()) {
			return other.round
		}
	}
	return nil
}

// message passes on a log message to the request that asked for it: the one that it came with, or else the only one
// that could have asked.
func (m *Modern) message(f *flight, in wire.Incoming) {
	m.mu.Lock()
	var to *round
	if f != nil {
		to = f.round
	} else {
		for other := range m.flights {
			switch {
			case other.round == nil || other.round.level == noLevel:
			case to != nil:
				m.mu.Unlock()
				return
			default:
				to = other.round
			}
		}
	}
	m.mu.Unlock()
	if to != nil && logs(to.level, in) {
		to.tell(in)
	}
}

// finish turns the server's answer to a flight into one for a modern client. lacking are the capabilities that the
// server asked for in vain.
func (m *Modern) finish(f *flight, current *round, in wire.Incoming, lacking []byte) wire.Incoming {
	failed, _ := in.Result.Get("isError").Bool()
	if lacking != nil && (failed || in.Error.Exists()) {
		return fault(current.id, &wire.Error{
			Code:    wire.CodeMissingCapability,
			Message: "the server needs a capability that the client has not declared for this request",
			Data:    WithFirst([]byte(`{}`), member("requiredCapabilities", lacking)),
		})
	}
	if in.Error.Exists() {
		return m.finishError(f, current, in)
	}
	if in.Result.Kind() != canon.Object {
		return fault(current.id, refusal(wire.CodeInternal, "the server's result is not an object"))
	}
	result := in.Result.Bytes()
	if f.method == "tools/list" {
		result = editRows(in.Result, hideTasks)
	}
	var members []string
	if !in.Result.Get("resultType").Exists() {
		members = append(members, `"resultType":"complete"`)
	}
	if slices.Contains(cacheable, f.method) {
		if !in.Result.Get("ttlMs").Exists() {
			members = append(members, uncached[0])
		}
		if !in.Result.Get("cacheScope").Exists() {
			members = append(members, uncached[1])
		}
	}
	return scanned(canon.Splice(in.Line, canon.Edit{Old: in.Result, New: WithFirst(result, members...)}))
}

// finishError gives the server's error a code that a modern client may see (MCP 2026-07-28, basic/index, Error codes).
func (m *Modern) finishError(f *flight, current *round, in wire.Incoming) wire.Incoming {
	spelt := in.Error.Get("code")
	code, ok := spelt.Int()
	switch {
	case !ok:
		return in
	case code == codeURLElicitation:
		if asked, ok := m.sendElsewhere(f, current, in); ok {
			return asked
		}
		code = wire.CodeInvalidParams
	case code == codeResourceNotFound:
		code = wire.CodeInvalidParams
	case -32099 <= code && code <= wire.CodeHeaderMismatch:
		// Reserved for meanings that a legacy server cannot have had in mind.
		code = wire.CodeInternal
	default:
		return in
	}
	return scanned(canon.Splice(in.Line, canon.Edit{Old: spelt, New: strconv.AppendInt(nil, code, 10)}))
}

// sendElsewhere asks the client to visit the URLs that the server wants to be visited before the call is made again.
func (m *Modern) sendElsewhere(f *flight, current *round, in wire.Incoming) (asked wire.Incoming, ok bool) {
	if !interactive(f.method) {
		return wire.Incoming{}, false
	}
	requests, count := []byte(`{}`), 0
	for params := range in.Error.Get("data").Get("elicitations").Elements() {
		mode, _ := params.Get("mode").Text()
		if count++; count > maxQuestions || mode != "url" || unclear(params) != "" ||
			Lacking("elicitation/create", params, current.declared) != nil {
			return wire.Incoming{}, false
		}
		requests = WithFirst(requests, member("url-"+strconv.Itoa(count),
			WithFirst([]byte(`{}`), `"method":"elicitation/create"`, member("params", params.Bytes()))))
	}
	if count == 0 {
		return wire.Incoming{}, false
	}
	bound := binding(m.opt.Principal, f.method, f.params)
	m.mu.Lock()
	state, ok := m.deposit(&parked{}, bound)
	m.mu.Unlock()
	if !ok {
		return wire.Incoming{}, false
	}
	return answer(current.id, inputRequired(requests, state)), true
}

// editRows returns the result of a tools/list with each row edited; edit returns nil for what stays as it is.
func editRows(result canon.Value, edit func(row canon.Value) []byte) []byte {
	var edits []canon.Edit
	for row := range result.Get("tools").Elements() {
		if changed := edit(row); changed != nil {
			edits = append(edits, canon.Edit{Old: row, New: changed})
		}
	}
	return splice(result.Bytes(), edits)
}

// hideTasks takes what a tool's row says of tasks, which are not carried between versions of the protocol.
func hideTasks(row canon.Value) []byte {
	execution := row.Get("execution")
	if !execution.Get("taskSupport").Exists() {
		return nil
	}
	changed, left := Without(execution, oneOf("taskSupport"))
	if left == 0 {
		rest, _ := Without(row, oneOf("execution"))
		return rest
	}
	return canon.Splice(row.Bytes(), canon.Edit{Old: execution, New: changed})
}
