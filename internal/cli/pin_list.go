package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/pin"
	"sallyport/internal/upstream"
	"sallyport/internal/wire"
)

// The bounds of what a server may list. They are those of the gateway.
const (
	mostPinPages = 100
	mostPinned   = 10_000      // tools, and as many prompts
	mostPinBytes = 32 << 20    // of the definitions of each
	pinTime      = time.Minute // for all that is asked of one server, once it has started
)

// pinCapabilities are those that a server may make a tool depend on: it is to show all that it has.
const pinCapabilities = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}`

// asked is a server that is being asked for its lists.
type asked struct {
	link    wire.Link
	era     wire.Era
	version string
	n       int // requests so far
}

// listDefinitions starts a server, asks for its tools and prompts, and ends it.
func listDefinitions(ctx context.Context, config upstream.Config) (definitions []pin.Definition, err error) {
	server := upstream.New(config)
	defer func() { err = errors.Join(err, server.Close()) }()
	var link atomic.Pointer[wire.Link]
	var refusals sync.WaitGroup
	defer refusals.Wait()
	hear := func(m wire.Incoming) {
		if to := link.Load(); to != nil && m.Kind == wire.Request {
			refusals.Go(func() { refuseRequest(ctx, *to, m.ID) })
		}
	}
	opened, welcome, err := server.Negotiate(ctx, upstream.Identity{
		ClientInfo:   []byte(`{"name":"sallyport","version":"` + Version + `"}`),
		Capabilities: []byte(pinCapabilities),
	}, hear)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	ctx, cancel := context.WithTimeout(ctx, pinTime)
	defer cancel()
	link.Store(&opened)
	a := &asked{link: opened, era: welcome.Era, version: welcome.Version}
	result, err := canon.Skim(welcome.Result)
	if err != nil {
		return nil, err
	}
	capabilities := memberOf(result, "capabilities")
	for _, kind := range []pin.Kind{pin.Tool, pin.Prompt} {
		if !memberOf(capabilities, string(kind)+"s").Exists() { // it says that it has none: whatever it has then is unpinned
			continue
		}
		some, err := a.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		definitions = append(definitions, some...)
	}
	return definitions, nil
}

// refuseRequest answers a request of the server's: nobody is here for it to ask.
func refuseRequest(ctx context.Context, link wire.Link, id canon.Value) {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id.Bytes()...)
	line = append(line, `,"error":{"code":-32601,"message":"not supported here"}}`...)
	link.Send(ctx, line) // what cannot be sent is the end of the conversation, which the call at hand is told of
}

// list asks for all pages of a list.
func (a *asked) list(ctx context.Context, kind pin.Kind) ([]pin.Definition, error) {
	var all []pin.Definition
	var cursor canon.Value
	size := 0
	for range mostPinPages {
		result, err := a.call(ctx, string(kind)+"s/list", cursor)
		if err != nil {
			return nil, fmt.Errorf("%ss/list: %w", kind, err)
		}
		rows := memberOf(result, string(kind)+"s")
		if rows.Kind() != canon.Array {
			return nil, fmt.Errorf("%ss/list: the answer has no list", kind)
		}
		for row := range rows.Elements() {
			parsed, err := canon.Parse(row.Bytes())
			if err != nil {
				return nil, fmt.Errorf("%ss/list: a definition cannot be read: %w", kind, err)
			}
			name, ok := parsed.Get("name").Text()
			if !ok {
				return nil, fmt.Errorf("%ss/list: a definition has no name", kind)
			}
			if size += len(row.Bytes()); len(all) == mostPinned || size > mostPinBytes {
				return nil, fmt.Errorf("%ss/list: it lists more than %d, or more than %d MiB", kind, mostPinned, mostPinBytes>>20)
			}
			all = append(all, pin.Definition{Kind: kind, Name: name, Text: row.Bytes()})
		}
		if cursor = memberOf(result, "nextCursor"); cursor.Kind() != canon.String {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%ss/list: it has more than %d pages", kind, mostPinPages)
}

// call sends a request for a page and returns the result.
func (a *asked) call(ctx context.Context, method string, cursor canon.Value) (canon.Value, error) {
	a.n++
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"pin-%d","method":"%s","params":{`, a.n, method)
	if cursor.Exists() {
		line = append(append(line, `"cursor":`...), cursor.Bytes()...)
	}
	if a.era == wire.Modern {
		if cursor.Exists() {
			line = append(line, ',')
		}
		line = canon.AppendString(append(line, `"_meta":{"`+wire.MetaProtocolVersion+`":`...), a.version)
		line = append(line, `,"`+wire.MetaClientCapabilities+`":`+pinCapabilities+`,"`+wire.MetaClientInfo+`":{"name":"sallyport","version":"`+Version+`"}}`...)
	}
	line = append(line, "}}"...)
	v, err := canon.Parse(line)
	if err != nil {
		return canon.Value{}, err
	}
	answer, err := a.link.Call(ctx, wire.Outgoing{Line: v.Bytes(), ID: v.Get("id"), Method: method, Params: v.Get("params"), Era: a.era})
	if err != nil {
		return canon.Value{}, err
	}
	if answer.Error.Exists() {
		message, _ := memberOf(answer.Error, "message").Text()
		return canon.Value{}, fmt.Errorf("it answers with an error: %s", pin.Visible(message))
	}
	return answer.Result, nil
}

// memberOf returns a member of a value that was only skimmed: the first of that name.
func memberOf(v canon.Value, name string) canon.Value {
	for key, member := range v.Members() {
		if key == name {
			return member
		}
	}
	return canon.Value{}
}
