package canon

import (
	"bytes"
	"iter"
	"strconv"
)

// Kind is what a Value is. The zero Kind is that of no value at all.
type Kind int

// The kinds of values.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"absent", "null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is one JSON value whose bytes Parse has checked. The zero Value is an absent one: it has no bytes, and all its
// methods say so. A Value aliases the text it was read from; it may be copied, and used by several goroutines at once.
type Value struct{ raw []byte }

// Bytes returns the value as it stands in the text, without white space round it; nil if v is absent. It must not be
// changed.
func (v Value) Bytes() []byte { return v.raw }

// Exists reports whether v is a value, null being one too, rather than an absent one.
func (v Value) Exists() bool { return len(v.raw) > 0 }

// Kind returns what v is.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return Absent
	}
	switch v.raw[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	default:
		return Number
	}
}

// Text returns the string that v is, its escapes resolved; ok is false if v is not a string.
func (v Value) Text() (text string, ok bool) {
	if v.Kind() != String {
		return "", false
	}
	return contents(v.raw[1 : len(v.raw)-1]), true
}

// Int returns the integer that v is; ok is false if v is not an integer, is written with a fraction or an exponent, or
// does not fit.
func (v Value) Int() (n int64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

// Bool returns the truth value that v is; ok is false if v is not one.
func (v Value) Bool() (value, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.raw[0] == 't', true
}

// Get returns the member of the object v whose key, unescaped, is exactly key. It is absent if there is none, or if v
// is not an object.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	for i := skipSpace(v.raw, 1); v.raw[i] != '}'; {
		var raw []byte
		var member Value
		raw, member, i = v.memberAt(i)
		if equalsKey(raw, key) {
			return member
		}
	}
	return Value{}
}

// Members yields the members of the object v in the order of the text, their keys unescaped; none if v is not an
// object.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for i := skipSpace(v.raw, 1); v.raw[i] != '}'; {
			var raw []byte
			var member Value
			raw, member, i = v.memberAt(i)
			if !yield(contents(raw), member) {
				return
			}
		}
	}
}

// Elements yields the elements of the array v in order; none if v is not an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for i := skipSpace(v.raw, 1); v.raw[i] != ']'; {
			var element Value
			element, i = v.valueAt(i)
			if !yield(element) {
				return
			}
		}
	}
}

// memberAt returns the member at i, its key as it stands but for the quotes, and where the next member or the end of
// the object is.
func (v Value) memberAt(i int) (key []byte, value Value, next int) {
	key = keyAt(v.raw, i)
	colon := skipSpace(v.raw, i+len(key)+2)
	value, next = v.valueAt(skipSpace(v.raw, colon+1))
	return key, value, next
}

// valueAt returns the value at i within an array or object, and where what follows its comma, or the end of the
// container, is.
func (v Value) valueAt(i int) (value Value, next int) {
	end := skip(v.raw, i)
	next = skipSpace(v.raw, end)
	if v.raw[next] == ',' {
		next = skipSpace(v.raw, next+1)
	}
	return Value{raw: v.raw[i:end:end]}, next
}

// equalsKey reports whether a checked key, given without its quotes, is key when unescaped.
func equalsKey(raw []byte, key string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == key
	}
	return contents(raw) == key
}

// contents returns a checked string, given without its quotes, with its escapes resolved.
func contents(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return string(unescape(make([]byte, 0, len(raw)), raw))
}
