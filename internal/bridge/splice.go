package bridge

import (
	"bytes"

	"sallyport/internal/canon"
)

// Without returns the object without the members that drop names, and how many are left. All other bytes stay as they
// are. What is no object is taken for an empty one.
func Without(object canon.Value, drop func(key string) bool) (rest []byte, left int) {
	if object.Kind() != canon.Object {
		return []byte(`{}`), 0
	}
	text := object.Bytes()
	rest = append(make([]byte, 0, len(text)), '{')
	from, dropped := 1, 0
	for key, value := range object.Members() {
		end := value.OffsetIn(text) + len(value.Bytes())
		member := text[from:end] // with the comma before it
		from = end
		if drop(key) {
			dropped++
			continue
		}
		if left == 0 && dropped > 0 {
			member = bytes.TrimLeft(member, ", \t\r\n")
		}
		rest = append(rest, member...)
		left++
	}
	return append(rest, text[from:]...), left
}

// oneOf is a drop for Without.
func oneOf(keys ...string) func(string) bool {
	return func(key string) bool {
		for _, k := range keys {
			if k == key {
				return true
			}
		}
		return false
	}
}

// WithFirst returns the object, a JSON text, with members before all those that it has.
func WithFirst(object []byte, members ...string) []byte {
	size := len(object)
	for _, m := range members {
		size += len(m) + 1
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	rest := bytes.TrimLeft(object[1:], " \t\r\n")
	if len(members) > 0 && rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, object[1:]...)
}

// member spells a member of an object.
func member(key string, value []byte) string {
	out := append(canon.AppendString(make([]byte, 0, len(key)+len(value)+3), key), ':')
	return string(append(out, value...))
}

// withMeta returns params, an object or absent, whose _meta has no more members that drop names, and members before
// those that are left. An empty _meta is taken away.
func withMeta(params canon.Value, drop func(key string) bool, members ...string) []byte {
	meta := params.Get("_meta")
	if meta.Kind() != canon.Object {
		object := []byte(`{}`)
		if params.Kind() == canon.Object {
			object = params.Bytes()
		}
		if meta.Exists() {
			object, _ = Without(params, oneOf("_meta"))
		}
		if len(members) == 0 {
			return object
		}
		return WithFirst(object, member("_meta", WithFirst([]byte(`{}`), members...)))
	}
	changed, left := Without(meta, drop)
	if left+len(members) == 0 {
		params, _ := Without(params, oneOf("_meta"))
		return params
	}
	return canon.Splice(params.Bytes(), canon.Edit{Old: meta, New: WithFirst(changed, members...)})
}

// withParams returns the message in line, whose params are these now or not there, with other params.
func withParams(line []byte, params canon.Value, changed []byte) []byte {
	if params.Exists() {
		return canon.Splice(line, canon.Edit{Old: params, New: changed})
	}
	return WithFirst(line, member("params", changed))
}

// isEmpty reports whether v is an object without members, or absent.
func isEmpty(v canon.Value) bool {
	for range v.Members() {
		return false
	}
	return true
}

// splice is canon.Splice, which copies, where there is something to do.
func splice(text []byte, edits []canon.Edit) []byte {
	if len(edits) == 0 {
		return text
	}
	return canon.Splice(text, edits...)
}
