package notes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/ledger"
)

// Tools returns the tools, in the order in which they are listed.
func (n *Notes) Tools() []*gate.Tool {
	return []*gate.Tool{n.writeNote(), n.readLedger(), n.eraseNote(), rmRF()}
}

func (n *Notes) writeNote() *gate.Tool {
	return &gate.Tool{
		Name: "write_note",
		Key:  "request_id",
		Definition: []byte(`{"name":"write_note","title":"Write a note",` +
			`"description":"Writes one note, exactly once for each request_id. Sending the same request_id and text again is safe: it writes nothing and answers replay.",` +
			`"inputSchema":{"type":"object","properties":{` +
			`"request_id":{"type":"string","minLength":1,"description":"Names this note; choose a new one for each new note and keep it for retries."},` +
			`"text":{"type":"string","description":"What the note says."}},` +
			`"required":["request_id","text"],"additionalProperties":false},` +
			`"outputSchema":{"type":"object","properties":{"erased":{"type":"boolean"},"request_id":{"type":"string"},` +
			`"status":{"type":"string","enum":["committed","replay","in_flight","conflict"]}},` +
			`"required":["request_id","status"],"additionalProperties":false},` +
			`"annotations":{"title":"Write a note","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`),
		Check:  func(args canon.Value) error { return checkNamed(args, "request_id", "text") },
		Invoke: n.write,
		Status: status,
		Recall: n.recall,
		Look: func(_ context.Context, caller gate.Caller, id string) (string, bool, error) {
			return n.digest(caller.Principal, id)
		},
	}
}

func (n *Notes) write(_ context.Context, p *gate.Permit) (gate.Result, error) {
	grant, err := p.Use("write_note")
	if err != nil {
		return gate.Result{}, &gate.NotDone{Err: err}
	}
	payload, err := grant.Args.AppendCanonical(nil)
	if err != nil {
		return gate.Result{}, &gate.NotDone{Err: err}
	}
	err = n.publish(grant.Caller.Principal, grant.ID, payload)
	switch {
	case errors.Is(err, durable.ErrExists):
		return gate.Result{}, n.published(grant)
	case errors.Is(err, durable.ErrUncertain):
		return gate.Result{}, err
	case err != nil:
		return gate.Result{}, &gate.NotDone{Err: err}
	}
	return status(grant.ID, ledger.Committed, gate.Result{}), nil
}

// published says what a note means that is there although no claim knows of it. A tombstone speaks for the note that it
// took the place of.
func (n *Notes) published(grant gate.Grant) error {
	there, err := n.find(grant.Caller.Principal, grant.ID)
	if err != nil {
		return err
	}
	if want, err := grant.Args.Digest(); err != nil || there.digest != want {
		return gate.ErrConflict
	}
	return gate.ErrDone
}

// digest is the digest of the arguments that wrote the principal's note of id, which may be erased since.
func (n *Notes) digest(principal, id string) (digest string, found bool, err error) {
	there, err := n.find(principal, id)
	return there.digest, there.digest != "", err
}

// recall is status, and says whether the note was erased since, or its request_id closed before it was written.
func (n *Notes) recall(caller gate.Caller, id string, outcome ledger.Outcome, stored gate.Result) (gate.Result, error) {
	there, err := n.find(caller.Principal, id)
	switch {
	case err != nil:
		return gate.Result{}, err
	case !there.erased:
		return status(id, outcome, stored), nil
	}
	object := statusObject(id, string(outcome), true)
	if outcome == ledger.Conflict {
		return gate.Structured(object, "conflict: this request_id was erased, and nothing was written. "+
			"Send a new request_id for a new note."), nil
	}
	return structured(object), nil
}

func (n *Notes) readLedger() *gate.Tool {
	return &gate.Tool{
		Name:     "read_ledger",
		ReadOnly: true,
		Label:    "observe",
		Definition: []byte(`{"name":"read_ledger","title":"Read the notes",` +
			`"description":"Lists the committed notes, sorted by request_id. Changes nothing.",` +
			`"inputSchema":{"type":"object","properties":{},"additionalProperties":false},` +
			`"outputSchema":{"type":"object","properties":{"notes":{"type":"array","items":{"type":"object",` +
			`"properties":{"request_id":{"type":"string"},"text":{"type":"string"}},` +
			`"required":["request_id","text"],"additionalProperties":false}}},` +
			`"required":["notes"],"additionalProperties":false},` +
			`"annotations":{"title":"Read the notes","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`),
		Check:  func(args canon.Value) error { return checkArgs(args) },
		Invoke: n.read,
	}
}

func (n *Notes) read(ctx context.Context, p *gate.Permit) (gate.Result, error) {
	grant, err := p.Use("read_ledger")
	if err != nil {
		return gate.Result{}, err
	}
	notes, err := n.all(ctx, grant.Caller.Principal)
	if err != nil {
		return gate.Result{}, fmt.Errorf("reading the notes: %w", err)
	}
	b := []byte(`{"notes":[`)
	for i, note := range notes {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(append(b, `{"request_id":`...), note.id)
		b = canon.AppendString(append(b, `,"text":`...), note.text)
		b = append(b, '}')
	}
	return structured(append(b, `]}`...)), nil
}

// rmRF proves that listing and calling are gated apart from each other. It deletes nothing,
// permitted or not.
func rmRF() *gate.Tool {
	return &gate.Tool{
		Name: "rm_rf",
		Definition: []byte(`{"name":"rm_rf","title":"Delete a folder (refuses)",` +
			`"description":"Stands for a destructive tool. It never deletes anything.",` +
			`"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false},` +
			`"annotations":{"title":"Delete a folder (refuses)","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}}`),
		Check: func(args canon.Value) error { return checkArgs(args, "path") },
		Invoke: func(_ context.Context, p *gate.Permit) (gate.Result, error) {
			if _, err := p.Use("rm_rf"); err != nil {
				return gate.Result{}, err
			}
			return gate.Structured(nil, "rm_rf never deletes anything: it is here to be denied"), nil
		},
	}
}

// checkArgs holds args against a schema of required strings and nothing else.
func checkArgs(args canon.Value, names ...string) error {
	if !args.Exists() && len(names) == 0 {
		return nil
	}
	if args.Kind() != canon.Object && args.Exists() {
		return errors.New("the arguments must be an object")
	}
	for _, name := range names {
		if args.Get(name).Kind() != canon.String {
			return fmt.Errorf("argument %q is required and must be a string", name)
		}
	}
	for key := range args.Members() {
		if !slices.Contains(names, key) {
			return fmt.Errorf("unknown argument %.64q", key)
		}
	}
	return nil
}

// checkNamed is checkArgs, and the request_id must not be empty.
func checkNamed(args canon.Value, names ...string) error {
	if err := checkArgs(args, names...); err != nil {
		return err
	}
	if id, _ := args.Get("request_id").Text(); id == "" {
		return errors.New(`argument "request_id" must not be empty`)
	}
	return nil
}

// status words what became of a write_note. A caller that must choose another way is told so in
// words, beside the status.
func status(id string, outcome ledger.Outcome, _ gate.Result) gate.Result {
	object := statusObject(id, string(outcome), false)
	switch outcome {
	case ledger.Conflict:
		return gate.Structured(object, "conflict: this request_id already stands for another text, and nothing was written. "+
			"Send a new request_id for a new note, or the same text for a retry.")
	case ledger.InFlight:
		return gate.Structured(object, "in_flight: another process is writing this note at the moment. "+
			"Send the same request_id and text again shortly.")
	}
	return structured(object)
}

// statusObject is the canonical form of what a tool answers about a note.
func statusObject(id, status string, erased bool) []byte {
	b := []byte{'{'}
	if erased {
		b = append(b, `"erased":true,`...)
	}
	b = canon.AppendString(append(b, `"request_id":`...), id)
	b = canon.AppendString(append(b, `,"status":`...), status)
	return append(b, '}')
}

// structured is a result that holds a JSON object.
func structured(object []byte) gate.Result { return gate.Structured(object, "") }
