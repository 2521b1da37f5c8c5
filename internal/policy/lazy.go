package policy

import (
	"fmt"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// lazy is a pattern that is read when a call first needs it: a hook is a new process for each call, and most calls need
// few of the patterns.
type lazy[P any] struct {
	text  string
	parse func(string) (P, error)

	once    sync.Once
	pattern P
	err     error
}

// The patterns of rules.
type (
	runPattern  = lazy[*effects.RunPattern]
	pathPattern = lazy[*effects.PathPattern]
	hostPattern = lazy[*effects.HostPattern]
)

// get returns the pattern. An error is one of a file that was found good before: whoever denies or asks must then take the
// pattern for one that may match, and whoever allows for one that matches nothing.
func (l *lazy[P]) get() (P, error) {
	l.once.Do(func() { l.pattern, l.err = l.parse(l.text) })
	return l.pattern, l.err
}

// String returns the pattern as it was written.
func (l *lazy[P]) String() string { return l.text }

// newLazy returns a pattern that is read later.
func newLazy[P any](text string, parse func(string) (P, error)) *lazy[P] {
	return &lazy[P]{text: text, parse: parse}
}

// patterns reads a list of patterns for effects.
func patterns[P any](d document, key string, v canon.Value, parse func(string) (P, error)) ([]*lazy[P], error) {
	n := 0
	for range v.Elements() {
		n++
	}
	room := make([]lazy[P], n)
	list := make([]*lazy[P], 0, n)
	err := d.phrases(key, v, func(text string) (msg, hint string) {
		l := &room[len(list)]
		l.text, l.parse = text, parse
		if !d.lazy {
			if _, err := l.get(); err != nil {
				return fmt.Sprintf("%q: %v", text, err), ""
			}
		}
		list = append(list, l)
		return "", ""
	})
	return list, err
}

// programOf returns the program that a pattern speaks of, "" where it may be several or cannot be told. It reads no
// pattern whose first word is the name as it stands.
func programOf(l *runPattern) string {
	name, _, _ := strings.Cut(l.text, " ")
	if isPlainName(name) {
		return name
	}
	p, err := l.get()
	if err != nil {
		return ""
	}
	return p.Program()
}

// isPlainName reports whether a word is the name of a program in the one spelling by which it is compared.
func isPlainName(word string) bool {
	for i := range len(word) {
		if c := word[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || i > 0 && c == '-') {
			return false
		}
	}
	return word != ""
}
