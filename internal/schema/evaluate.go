package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sallyport/internal/canon"
)

const (
	leastWork = 2_000_000
	mostWork  = 20_000_000
	maxNested = 2_000 // schemas that are being held against something
)

// budget is how much work the check of a value of so many bytes may be: a unit is what holding one schema against one
// value costs, or reading some bytes.
func budget(size int) int { return min(leastWork+16*size, mostWork) }

// evaluation is one check of a value.
type evaluation struct {
	left      int         // of the budget
	nested    int         //
	quiet     int         // > 0 where a failure is only an answer, so that nobody needs words for it
	unchecked int         // how often something was met that is left to the upstream
	scope     []*resource // of the schemas round the one at hand, for dynamic references
	spent     *failure    // set once the budget is
}

// spot is where in the value the evaluation is.
type spot struct {
	outer *spot
	word  string
}

// failure is a check that failed.
type failure struct {
	spot    *spot
	keyword string
	detail  string
}

// anything is the failure that needs no words.
var anything = &failure{}

func (e *evaluation) fail(at *spot, keyword, format string, args ...any) *failure {
	if e.spent != nil {
		return e.spent
	}
	if e.quiet > 0 {
		return anything
	}
	return &failure{at, keyword, fmt.Sprintf(format, args...)}
}

// pay takes from the budget. When it is spent the whole check has failed, also within a `not`.
func (e *evaluation) pay(units int) *failure {
	if e.spent == nil {
		if e.left -= units; e.left >= 0 {
			return nil
		}
		e.spent = &failure{nil, "", "holding them against the tool's schema takes more work than is allowed"}
	}
	return e.spent
}

// read pays for looking at all bytes of a value.
func (e *evaluation) read(v canon.Value) *failure { return e.pay(1 + len(v.Bytes())/32) }

// apply holds a value against a schema. seen, which may be nil, takes in which members and elements were evaluated;
// after a failure it is of no use.
func (e *evaluation) apply(n *node, v canon.Value, at *spot, seen *marks) *failure {
	if f := e.pay(1); f != nil {
		return f
	}
	if n.never {
		return e.fail(at, "", "must not be there")
	}
	if e.nested++; e.nested > maxNested {
		e.left = -1
		return e.pay(1)
	}
	defer func() { e.nested-- }()
	if len(e.scope) == 0 || e.scope[len(e.scope)-1] != n.resource {
		e.scope = append(e.scope, n.resource)
		defer func() { e.scope = e.scope[:len(e.scope)-1] }()
	}
	own := seen
	if n.wantsItems != nil || n.wantsMembers != nil {
		own = &marks{}
	}
	if f := e.inPlace(n, v, at, own); f != nil {
		return f
	}
	if f := e.elements(n, v, at, own); f != nil {
		return f
	}
	if f := e.members(n, v, at, own); f != nil {
		return f
	}
	if f := e.unevaluated(n, v, at, own); f != nil {
		return f
	}
	if own != seen && seen != nil {
		return e.mark(seen, own)
	}
	return nil
}

// inPlace is what a schema says of the value itself.
func (e *evaluation) inPlace(n *node, v canon.Value, at *spot, seen *marks) *failure {
	if f := e.reference(n, v, at, seen); f != nil {
		return f
	}
	if f := e.scalar(n, v, at); f != nil {
		return f
	}
	if f := e.combined(n, v, at, seen); f != nil {
		return f
	}
	return e.conditional(n, v, at, seen)
}

// test holds a value against a schema where a failure is only an answer. unsure says that what is left to the upstream
// could change the answer.
func (e *evaluation) test(n *node, v canon.Value, at *spot, seen *marks) (ok, unsure bool) {
	before := e.unchecked
	e.quiet++
	f := e.apply(n, v, at, seen)
	e.quiet--
	return f == nil, e.unchecked > before
}

func (e *evaluation) reference(n *node, v canon.Value, at *spot, seen *marks) *failure {
	if n.ref == nil {
		return nil
	}
	target := n.ref
	if name := n.dynamic; name != "" {
		if name == recursive {
			name = ""
		}
		for _, r := range e.scope { // the outermost counts
			if dynamic := r.dynamic[name]; dynamic != nil {
				target = dynamic
				break
			}
		}
	}
	return e.apply(target, v, at, seen)
}

func (e *evaluation) scalar(n *node, v canon.Value, at *spot) *failure {
	kind := typeOf(v)
	var number decimal
	if kind == numberType && (n.types != 0 || n.number != nil || n.values != nil) {
		if f := e.read(v); f != nil {
			return f
		}
		if number = parseDecimal(v.Bytes()); len(number.digits) > maxDigits || tooLarge(v.Bytes(), number) {
			return e.fail(at, "", "is a number that not every reader can take")
		}
		if number.integer() {
			kind = integerType
		}
	}
	if n.types != 0 && n.types&kind == 0 {
		return e.fail(at, "type", "must be %v", n.types)
	}
	if n.values != nil {
		if f := e.pay(1 + len(v.Bytes())/4); f != nil {
			return f
		}
		if !n.values[normal(v)] {
			return e.fail(at, n.keyword, "must be one of the values that the schema lists")
		}
	}
	if n.number != nil && v.Kind() == canon.Number {
		return e.numeric(n.number, number, at)
	}
	if n.text != nil && v.Kind() == canon.String {
		return e.textual(n.text, v, at)
	}
	return nil
}

func (e *evaluation) numeric(n *numberRules, d decimal, at *spot) *failure {
	switch {
	case n.min != nil && d.compare(n.min.decimal) < 0:
		return e.fail(at, "minimum", "must not be less than %s", short(n.min.raw, 40))
	case n.max != nil && d.compare(n.max.decimal) > 0:
		return e.fail(at, "maximum", "must not be greater than %s", short(n.max.raw, 40))
	case n.above != nil && d.compare(n.above.decimal) <= 0:
		return e.fail(at, "exclusiveMinimum", "must be greater than %s", short(n.above.raw, 40))
	case n.below != nil && d.compare(n.below.decimal) >= 0:
		return e.fail(at, "exclusiveMaximum", "must be less than %s", short(n.below.raw, 40))
	case n.unit != nil:
		if f := e.pay(len(d.digits) * (1 + len(n.unit.digits)/16)); f != nil {
			return f
		}
		if !d.multipleOf(n.unit.decimal) {
			return e.fail(at, "multipleOf", "must be a multiple of %s", short(n.unit.raw, 40))
		}
	}
	return nil
}

func (e *evaluation) textual(t *textRules, v canon.Value, at *spot) *failure {
	if f := e.read(v); f != nil {
		return f
	}
	text, _ := v.Text()
	if f := e.within(t.length, utf8.RuneCountInString(text), "characters", [2]string{"minLength", "maxLength"}, at); f != nil {
		return f
	}
	if t.pattern == nil {
		return nil
	}
	ok, f := e.matches(t.pattern, text)
	if f != nil || ok {
		return f
	}
	return e.fail(at, "pattern", "must match the pattern that the schema has for it")
}

// matches runs a pattern. What is left to the upstream matches.
func (e *evaluation) matches(p *pattern, text string) (bool, *failure) {
	if p.expression == nil {
		e.unchecked++
		return true, nil
	}
	if f := e.pay(p.cost(text)); f != nil {
		return false, f
	}
	return p.expression.MatchString(text), nil
}

func (e *evaluation) within(l limits, n int, what string, keywords [2]string, at *spot) *failure {
	switch {
	case n < l.min:
		return e.fail(at, keywords[0], "must have at least %d %s", l.min, what)
	case l.hasMax && n > l.max:
		return e.fail(at, keywords[1], "must have at most %d %s", l.max, what)
	}
	return nil
}

// combined is allOf, anyOf, oneOf and not.
func (e *evaluation) combined(n *node, v canon.Value, at *spot, seen *marks) *failure {
	for _, each := range n.all {
		if f := e.apply(each, v, at, seen); f != nil {
			return f
		}
	}
	if n.any != nil {
		matched := false
		for _, each := range n.any {
			if ok, _ := e.branch(each, v, at, seen); ok {
				matched = true
				if seen == nil { // else all are looked at, for what they evaluate
					break
				}
			}
		}
		if !matched {
			return e.fail(at, "anyOf", "matches none of the %d alternatives", len(n.any))
		}
	}
	if n.one != nil {
		matched, unsure := 0, false
		for _, each := range n.one {
			ok, u := e.branch(each, v, at, seen)
			unsure = unsure || u
			if ok {
				matched++
			}
		}
		if matched == 0 || matched > 1 && !unsure {
			return e.fail(at, "oneOf", "matches %d of the %d alternatives, not one", matched, len(n.one))
		}
	}
	if n.not != nil {
		if ok, unsure := e.test(n.not, v, at, nil); ok && !unsure {
			return e.fail(at, "not", "must not be what the schema excludes")
		}
	}
	return e.spent
}

// branch is test for an alternative: what it evaluates counts only if it matches.
func (e *evaluation) branch(n *node, v canon.Value, at *spot, seen *marks) (ok, unsure bool) {
	if seen == nil {
		return e.test(n, v, at, nil)
	}
	own := &marks{}
	if ok, unsure = e.test(n, v, at, own); ok {
		ok = e.mark(seen, own) == nil
	}
	return ok, unsure
}

func (e *evaluation) conditional(n *node, v canon.Value, at *spot, seen *marks) *failure {
	if n.when != nil {
		ok, unsure := e.branch(n.when, v, at, seen)
		next := n.no
		if ok {
			next = n.yes
		}
		if next != nil && e.spent == nil {
			if unsure { // which of the two counts is for the upstream to say
				e.branch(next, v, at, seen)
			} else if f := e.apply(next, v, at, seen); f != nil {
				return f
			}
		}
	}
	if v.Kind() == canon.Object && n.dependent != nil {
		if f := e.pay(len(n.dependent) * (1 + len(v.Bytes())/32)); f != nil {
			return f
		}
		for _, d := range n.dependent {
			if v.Get(d.member).Exists() {
				if f := e.apply(d.node, v, at, seen); f != nil {
					return f
				}
			}
		}
	}
	return e.spent
}

// error words a failure.
func (f *failure) error() *Error {
	var words []string
	for s := f.spot; s != nil; s = s.outer {
		words = append(words, s.word)
	}
	var pointer strings.Builder
	for i := len(words) - 1; i >= 0 && pointer.Len() < 400; i-- {
		word := strings.ReplaceAll(strings.ReplaceAll(words[i], "~", "~0"), "/", "~1")
		pointer.WriteString("/" + short(word, 80))
	}
	return &Error{Pointer: pointer.String(), Keyword: f.keyword, Detail: f.detail}
}

// short returns a stranger's text for a message: of at most so many characters, and none that a terminal would act on.
func short(text string, most int) string {
	var out strings.Builder
	for _, r := range text {
		if most--; most < 0 {
			out.WriteString("...")
			break
		}
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}
