package postcondition

import (
	"errors"
	"fmt"

	"sallyport/internal/canon"
)

// ErrFailed says that the call which looks failed itself, so that nothing was observed.
var ErrFailed = errors.New("the observation failed: the tool says that it did")

// errOpen is the error for a result behind which more is to come.
var errOpen = errors.New("the result is not complete: the server wants something first, or goes on by itself")

// Observed makes of a tools/call result what conditions speak of: its structuredContent where that is an object, else
// {"text": all text blocks joined by newlines, "json": that text as JSON, or null}. A result that says isError is ErrFailed,
// one that is not complete (input_required, a task) an error too, and so is one that could be read in two ways. Errors quote
// no values.
func Observed(result []byte) (canon.Value, error) {
	v, err := canon.Parse(result)
	switch {
	case err != nil:
		return canon.Value{}, errors.New("the result cannot be read: it is no JSON that can be read in one way only")
	case v.Kind() != canon.Object:
		return canon.Value{}, fmt.Errorf("the result is no object, but %s", v.Kind())
	}
	if isError := v.Get("isError"); isError.Exists() {
		failed, ok := isError.Bool()
		switch {
		case !ok:
			return canon.Value{}, errors.New(`the result's "isError" is no boolean`)
		case failed:
			return canon.Value{}, ErrFailed
		}
	}
	if kind := v.Get("resultType"); kind.Exists() {
		if text, _ := kind.Text(); text != "complete" {
			return canon.Value{}, errOpen
		}
	}
	if v.Get("inputRequests").Exists() || v.Get("task").Kind() == canon.Object {
		return canon.Value{}, errOpen
	}
	if content := v.Get("structuredContent"); content.Kind() == canon.Object {
		return content, nil
	}
	return observedText(v.Get("content"))
}

// observedText makes what conditions speak of of a result's blocks.
func observedText(content canon.Value) (canon.Value, error) {
	if content.Kind() != canon.Array {
		return canon.Value{}, errors.New(`the result has neither a "structuredContent" that is an object nor a list of "content"`)
	}
	text, blocks := []byte(nil), 0
	for block := range content.Elements() {
		if kind, _ := block.Get("type").Text(); kind != "text" {
			continue
		}
		part, ok := block.Get("text").Text()
		if !ok {
			return canon.Value{}, errors.New("the result has a text block without a text")
		}
		if blocks++; blocks > 1 {
			text = append(text, '\n')
		}
		text = append(text, part...)
	}
	parsed := []byte("null")
	if v, err := canon.Parse(text); err == nil {
		parsed = v.Bytes()
	}
	out := make([]byte, 0, 2*len(text)+32)
	out = append(append(out, `{"json":`...), parsed...)
	out = canon.AppendString(append(out, `,"text":`...), string(text))
	v, err := canon.Parse(append(out, '}'))
	if err != nil {
		return canon.Value{}, errors.New("the text of the result is nested too deep")
	}
	return v, nil
}
