package hook

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"sallyport/internal/canon"
)

// member is one member of an object.
type member struct {
	key   string
	value canon.Value
}

func members(v canon.Value) []member {
	var all []member
	for key, value := range v.Members() {
		all = append(all, member{key, value})
	}
	return all
}

// twofold returns why an object can be read in two ways, or "". The host matches keys exactly; another reader, behind it
// or in an MCP server, may match them without case, and some hosts send each key in two spellings. Whichever of the two
// counts there, it must be the one that was judged.
func twofold(all []member) string {
	if len(all) > 16 {
		return twofoldOfMany(all)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if why := differ(b, a); why != "" {
				return why
			}
		}
	}
	return ""
}

func twofoldOfMany(all []member) string {
	seen := make(map[string][]member, len(all))
	for _, a := range all {
		key := fold(a.key, true)
		for _, b := range seen[key] {
			if why := differ(b, a); why != "" {
				return why
			}
		}
		// Of copies that agree the first one is enough.
		if len(seen[key]) < 4 {
			seen[key] = append(seen[key], a)
		}
	}
	return ""
}

// differ returns why two members are one to some readers, or "".
func differ(a, b member) string {
	if !mayFold(a.key, b.key) || fold(a.key, true) != fold(b.key, true) {
		return ""
	}
	if fold(a.key, false) == fold(b.key, false) {
		return fmt.Sprintf("the keys %.60q and %.60q differ only in case, so this event can be read in two ways", a.key, b.key)
	}
	if !same(a.value, b.value) {
		return fmt.Sprintf("the keys %.60q and %.60q are one key in two spellings and disagree, so this event can be read in two ways", a.key, b.key)
	}
	return ""
}

// mayFold is a quick look: keys of plain letters that are one when folded have the same first byte, but for its case.
func mayFold(a, b string) bool {
	return a == "" || b == "" || a[0]|0x20 == b[0]|0x20 || a[0] >= utf8.RuneSelf || b[0] >= utf8.RuneSelf
}

// same reports whether two values are the same JSON.
func same(a, b canon.Value) bool {
	if bytes.Equal(a.Bytes(), b.Bytes()) {
		return true
	}
	one, err := a.AppendCanonical(nil)
	other, otherErr := b.AppendCanonical(nil)
	return err == nil && otherErr == nil && bytes.Equal(one, other)
}

// fold returns a key without case, as Unicode folds it simply: encoding/json of Go takes "permiſſion" for "permission".
// loose takes away underscores within it as well, so that toolInput and tool_input are one.
func fold(key string, loose bool) string {
	folded := make([]byte, 0, len(key))
	for i, r := range key {
		if loose && r == '_' && i > 0 && i < len(key)-1 {
			continue
		}
		folded = utf8.AppendRune(folded, foldRune(r))
	}
	return string(folded)
}

// foldRune returns one letter that stands for all that fold to each other.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// twofoldWithin returns why a value, or any within it, can be read in two ways, or "".
func twofoldWithin(v canon.Value) string {
	switch v.Kind() {
	case canon.Object:
		all := members(v)
		if why := twofold(all); why != "" {
			return why
		}
		for _, m := range all {
			if why := twofoldWithin(m.value); why != "" {
				return why
			}
		}
	case canon.Array:
		for element := range v.Elements() {
			if why := twofoldWithin(element); why != "" {
				return why
			}
		}
	}
	return ""
}

// holdsNUL reports whether a JSON text has a NUL in a string. A raw one is no JSON; an escaped backslash before u0000 is
// a backslash, not a NUL.
func holdsNUL(text []byte) bool {
	escaped := []byte(`\u0000`)
	for from := 0; ; {
		i := bytes.Index(text[from:], escaped)
		if i < 0 {
			return false
		}
		at := from + i
		slashes := 0
		for at-slashes > 0 && text[at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		from = at + 1
	}
}
