package policy

import (
	"bytes"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// argument is what a rule demands of one argument.
type argument struct {
	name     string // of a top-level argument, or a JSON pointer
	kind     string // one of argumentTypes, "" for any
	required bool

	minLen, maxLen int64        // of a string in code points, of an array in elements; -1 is no limit
	min, max       string       // numbers as JSON writes them; "" is no limit
	oneOf          []constant   // nil is any
	matches        *wholeRegexp // nil is any
	under          []*pathPattern
}

// constant is a value that an argument is compared with.
type constant struct {
	number    string // as JSON writes it; "" if it is none
	canonical string
}

// wholeRegexp is an RE2 expression that must match a whole string. It is compiled when it is first needed.
type wholeRegexp struct {
	source string
	get    func() (*regexp.Regexp, error)
}

func newWholeRegexp(source string) *wholeRegexp {
	return &wholeRegexp{source: source, get: sync.OnceValues(func() (*regexp.Regexp, error) {
		if _, err := regexp.Compile(source); err != nil { // so that the brackets round it close nothing
			return nil, err
		}
		return regexp.Compile(`\A(?:` + source + `)\z`)
	})}
}

// check says whether a call's argument is what the rule demands. An absent argument is, for a rule that allows, unless it
// is required; for a rule that denies or asks it is not. What cannot be told of a value of that type has failed.
func (a *argument) check(c *call, allows bool) answer {
	v := a.find(c.req.Args)
	if !v.Exists() {
		if allows && !a.required {
			return yes
		}
		return no
	}
	worst := yes
	for _, part := range []func(canon.Value) answer{a.checkKind, a.checkLength, a.checkRange, a.checkConstant, a.checkMatch} {
		switch got := part(v); got {
		case no:
			return no
		default:
			worst = min(worst, got)
		}
	}
	return min(worst, a.checkUnder(v, c.world(), allows))
}

// find returns the argument among the arguments.
func (a *argument) find(args canon.Value) canon.Value {
	if !strings.HasPrefix(a.name, "/") {
		return args.Get(a.name)
	}
	v := args
	for token := range strings.SplitSeq(a.name[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~") // RFC 6901
		if v.Kind() == canon.Array {
			v = element(v, token)
		} else {
			v = v.Get(token)
		}
	}
	return v
}

// element returns the element of an array that a part of a JSON pointer names, or an absent value.
func element(array canon.Value, token string) canon.Value {
	index, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(index) != token {
		return canon.Value{}
	}
	for v := range array.Elements() {
		if index == 0 {
			return v
		}
		index--
	}
	return canon.Value{}
}

func (a *argument) checkKind(v canon.Value) answer {
	return is(a.kind == "" || typeFits(a.kind, v))
}

// typeFits reports whether a value is of a type of argumentTypes.
func typeFits(kind string, v canon.Value) bool {
	if kind != "integer" {
		return v.Kind().String() == kind
	}
	return v.Kind() == canon.Number && !bytes.ContainsAny(v.Bytes(), ".eE")
}

func is(b bool) answer {
	if b {
		return yes
	}
	return no
}

func (a *argument) checkLength(v canon.Value) answer {
	if a.minLen < 0 && a.maxLen < 0 {
		return yes
	}
	var n int64
	switch v.Kind() {
	case canon.String:
		n = length(v)
	case canon.Array:
		for range v.Elements() {
			n++
		}
	default:
		return failed
	}
	return is(n >= a.minLen && (a.maxLen < 0 || n <= a.maxLen))
}

func (a *argument) checkRange(v canon.Value) answer {
	if a.min == "" && a.max == "" {
		return yes
	}
	if v.Kind() != canon.Number {
		return failed
	}
	for _, limit := range [...]struct {
		number string
		sign   int
	}{{a.min, -1}, {a.max, 1}} {
		if limit.number == "" {
			continue
		}
		order, ok := compareNumbers(string(v.Bytes()), limit.number)
		if !ok {
			return failed
		}
		if order == limit.sign {
			return no
		}
	}
	return yes
}

// compareNumbers returns -1, 0 or 1 as a is less than, equal to or more than b, both as JSON writes numbers; ok is false
// for numbers beyond what a float can be. It loses no digits.
func compareNumbers(a, b string) (order int, ok bool) {
	x, ok := ratOf(a)
	if !ok {
		return 0, false
	}
	y, ok := ratOf(b)
	if !ok {
		return 0, false
	}
	return x.Cmp(y), true
}

// ratOf returns a number exactly, but for one that a float takes for nought.
func ratOf(text string) (*big.Rat, bool) {
	const most = 1024 // digits
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || len(text) > most:
		return nil, false
	case f == 0:
		return new(big.Rat), true
	}
	return new(big.Rat).SetString(text)
}

func (a *argument) checkConstant(v canon.Value) answer {
	if a.oneOf == nil {
		return yes
	}
	canonical, err := canon.Canonical(v.Bytes())
	if err != nil {
		return failed
	}
	for _, c := range a.oneOf {
		if c.canonical == string(canonical) {
			return yes
		}
		if c.number != "" && v.Kind() == canon.Number {
			if order, ok := compareNumbers(string(v.Bytes()), c.number); ok && order == 0 {
				return yes
			}
		}
	}
	return no
}

func (a *argument) checkMatch(v canon.Value) answer {
	if a.matches == nil {
		return yes
	}
	text, ok := v.Text()
	if !ok {
		return failed
	}
	re, err := a.matches.get()
	if err != nil {
		return failed
	}
	return is(re.MatchString(text))
}

// checkUnder judges a path, or each of a list of paths: a rule that allows demands that all are surely below the folders,
// any other rule that one may be.
func (a *argument) checkUnder(v canon.Value, w *effects.World, allows bool) answer {
	if a.under == nil {
		return yes
	}
	paths := []canon.Value{v}
	if v.Kind() == canon.Array {
		paths = paths[:0]
		for e := range v.Elements() {
			paths = append(paths, e)
		}
	}
	found := is(allows)
	for _, v := range paths {
		text, ok := v.Text()
		if !ok || w.Dir == "" && !isAbs(text) {
			return failed
		}
		got := a.isUnder(w.Resolve(text), w, allows)
		if allows {
			found = min(found, got)
		} else {
			found = max(found, got)
		}
	}
	return found
}

func isAbs(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || len(path) > 2 && path[1] == ':'
}

func (a *argument) isUnder(path effects.Path, w *effects.World, allows bool) answer {
	for _, l := range a.under {
		p, err := l.get()
		switch {
		case err != nil:
			return failed
		case allows && p.Covers(path, w) || !allows && p.Match(path, false, w) != effects.No:
			return yes
		}
	}
	return no
}
