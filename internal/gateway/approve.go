package gateway

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"sallyport/internal/bridge"
	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/wire"
)

// How a modern client is asked for an approval: under this key of inputRequests, and with a requestState that begins so
// (MCP 2026-07-28, basic/patterns/mrtr). Behind that stands the approval's id and, where the call itself is the retry of
// a request that an upstream wanted input for, a dot and what that retry brought: the client sends the latest state only.
const (
	approvalKey   = "sallyport/approval"
	approvalState = "sallyport:"
)

// maxCarried is how long what a retry brought may be for us to carry it, in bytes.
const maxCarried = 1 << 20

const methodElicit = "elicitation/create"

// consent is what a modern request brings that is for us and not for an upstream.
type consent struct {
	id     string      // of the approval that it answers, "" for none
	answer canon.Value // what the client's person said to it, or absent
}

// taken returns a request without what it brings for us, and that. What is left is what is judged, and what goes upstream:
// the retry of an upstream's question is as it was before we came between.
func taken(call *wire.Call) (*wire.Call, *consent, error) {
	if call.Era != wire.Modern {
		return call, nil, nil
	}
	responses, state := call.Params.Get("inputResponses"), call.Params.Get("requestState")
	answer := responses.Get(approvalKey)
	text, _ := state.Text()
	ticket, ours := strings.CutPrefix(text, approvalState)
	if !answer.Exists() && !ours {
		return call, nil, nil
	}
	var c *consent
	left, count := bridge.Without(responses, func(key string) bool { return key == approvalKey })
	if count == 0 {
		left = nil
	}
	kept := state.Bytes()
	if ours {
		id, carried, _ := strings.Cut(ticket, ".")
		c = &consent{id: id, answer: answer}
		kept = nil
		if before, ok := uncarried(carried); ok {
			left, kept = before.Get("inputResponses").Bytes(), before.Get("requestState").Bytes()
		}
	}
	changed, err := withRound(call, left, kept)
	return changed, c, err
}

// withRound is a request with these inputResponses and this requestState in the place of its own; nil for none.
func withRound(call *wire.Call, responses, state []byte) (*wire.Call, error) {
	rest, count := bridge.Without(call.Params, func(key string) bool { return key == "inputResponses" || key == "requestState" })
	params := []byte{'{'}
	if responses != nil {
		params = append(append(append(params, `"inputResponses":`...), responses...), ',')
	}
	if state != nil {
		params = append(append(append(params, `"requestState":`...), state...), ',')
	}
	if count == 0 && len(params) > 1 {
		params = params[:len(params)-1]
	}
	params = append(params, rest[1:]...)
	m, refusal := wire.Scan(canon.Splice(call.Raw.Bytes(), canon.Edit{Old: call.Params, New: params}))
	if refusal != nil {
		return nil, refusal
	}
	changed := *call
	changed.Message = m
	return &changed, nil
}

// carried is what a retry brought, as a state of ours carries it: "" if it is none; ok is false if it is too long.
func carried(params canon.Value) (text string, ok bool) {
	object := []byte{'{'}
	for key, value := range params.Members() {
		if key == "inputResponses" || key == "requestState" {
			object = append(append(append(object, '"'), key...), `":`...)
			object = append(append(object, value.Bytes()...), ',')
		}
	}
	if len(object) == 1 {
		return "", true
	}
	object[len(object)-1] = '}'
	return "." + base64.RawURLEncoding.EncodeToString(object), len(object) <= maxCarried
}

// uncarried reads what carried wrote. A client that changes it changes what it itself says to the upstream, and with that
// the matter that the approval is about.
func uncarried(text string) (canon.Value, bool) {
	object, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || text == "" {
		return canon.Value{}, false
	}
	v, err := canon.Parse(object)
	return v, err == nil && v.Kind() == canon.Object
}

// interactive reports whether a modern request may be answered with a question (MCP 2026-07-28, basic/patterns/mrtr).
func interactive(method string) bool {
	return slices.Contains([]string{toolList.use, promptList.use, resourceList.use}, method)
}

// elicits reports whether a client that declared these capabilities can put a form to its person.
func elicits(capabilities canon.Value) bool {
	return bridge.Lacking(methodElicit, canon.Value{}, capabilities) == nil
}

// ask is gate.Call.Ask. An answer counts only if it is to this very approval: to be asked about another call, or about
// the same one under another policy, is no consent.
func (b *behalf) ask(ctx context.Context, approval *interlock.Approval) (gate.Said, error) {
	switch {
	case b.call.Era == wire.Legacy:
		return b.server.askNow(ctx, b.call, b.call.Session.Elicits(), approval)
	case !interactive(b.call.Method) || !elicits(b.call.Meta.Get(wire.MetaClientCapabilities)):
		return gate.Unasked, nil
	case approval.ID != "" && b.consent != nil && b.consent.id == approval.ID && b.consent.answer.Exists():
		return saidBy(b.consent.answer), nil
	}
	if _, ok := carried(b.call.Params); !ok {
		return gate.Unasked, nil
	}
	return gate.Later, nil
}

// askNow asks a legacy client's person and waits for the answer, for as long as the approval may still be given. elicits says
// whether the client can ask.
func (s *Server) askNow(parent context.Context, to teller, elicits bool, approval *interlock.Approval) (gate.Said, error) {
	if !elicits {
		return gate.Unasked, nil
	}
	ctx, cancel := context.WithDeadline(parent, time.Unix(0, approval.Expires))
	defer cancel()
	line := append([]byte(`{"jsonrpc":"2.0","id":`), s.ownIDText()...)
	line = append(line, `,"method":"`+methodElicit+`","params":`...)
	in, err := to.Ask(ctx, append(appendForm(line, approval), '}'))
	switch {
	case parent.Err() != nil:
		return gate.Unasked, parent.Err()
	case err != nil || in.Error.Exists():
		s.log().Info("a client could not ask its person: the call waits for an operator", "approval", approval.ID, "error", err)
		return gate.Unasked, nil
	}
	answer, err := strictly(in.Result)
	if err != nil {
		return gate.Unasked, nil
	}
	return saidBy(answer), nil
}

// saidBy reads a result of elicitation/create. What is no clear yes or no is no answer.
func saidBy(answer canon.Value) gate.Said {
	action, _ := answer.Get("action").Text()
	approve, clear := answer.Get("content").Get("approve").Bool()
	switch {
	case action == "decline", action == "accept" && clear && !approve:
		return gate.Refused
	case action == "accept" && clear:
		return gate.Agreed
	}
	return gate.Unasked
}

// inputRequired is the result that asks a modern client's person for an approval.
func (s *Server) inputRequired(call *wire.Call, approval *interlock.Approval) ([]byte, error) {
	before, _ := carried(call.Params)
	body := []byte(`{"resultType":"input_required","inputRequests":{"` + approvalKey + `":{"method":"` + methodElicit + `","params":`)
	body = append(appendForm(body, approval), `}},"requestState":`...)
	body = canon.AppendString(body, approvalState+approval.ID+before)
	body = s.appendInfo(append(body, `,"_meta":{"`+wire.MetaServerInfo+`":`...))
	return append(body, "}}"...), nil
}

// appendForm appends the params of elicitation/create that ask for an approval.
func appendForm(dst []byte, approval *interlock.Approval) []byte {
	dst = canon.AppendString(append(dst, `{"message":`...), approvalMessage(approval))
	return append(dst, `,"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve this call",`+
		`"description":"It may then be carried out once.","default":false}},"required":["approve"]}}`...)
}
