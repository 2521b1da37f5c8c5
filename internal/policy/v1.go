package policy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode"

	"sallyport/internal/canon"
)

// version1 is the first policy language: a list of tools that are allowed, one of tools that are denied, which wins, and
// limits on the length of string arguments.
type version1 struct {
	allow, deny map[string]bool
	args        map[string][]argRule // by tool, in the file's order
}

// argRule demands that an argument is a string of a certain length, in Unicode code points.
type argRule struct {
	id             string // "arg_rules.TOOL.ARG"
	name           string
	minLen, maxLen int64
}

// The answers that do not depend on arguments; unlisted is the third.
var (
	allowed = Why{Rule: "allow", Reason: "the policy allows this call"}
	denied  = Why{Rule: "deny", Reason: "the policy denies this tool", Hidden: true}
)

func (r *version1) evaluate(req Request) (Decision, Why) {
	switch {
	case !isToolCall(req.Method):
		return Deny, unlistedMethod
	case r.deny[req.Tool]:
		return Deny, denied
	case !r.allow[req.Tool]:
		return Deny, unlisted
	}
	for _, rule := range r.args[req.Tool] {
		if why, ok := rule.check(req.Args); !ok {
			return Deny, why
		}
	}
	return Allow, allowed
}

// visible needs no look at the rules for arguments: reading refuses those which no string can meet.
func (r *version1) visible(_ *Who, tool string) bool {
	return r.allow[tool] && !r.deny[tool]
}

// check reports whether the arguments meet the rule and, if not, why.
func (r argRule) check(args canon.Value) (Why, bool) {
	arg := args.Get(r.name)
	switch arg.Kind() {
	case canon.String:
	case canon.Absent:
		return r.broken("type", "argument %q is missing; the policy requires a string", r.name), false
	default:
		return r.broken("type", "argument %q is not a string; the policy requires one", r.name), false
	}
	if r.surelyMet(arg) {
		return Why{}, true
	}
	switch n := length(arg); {
	case n < r.minLen:
		return r.broken("min_len", "argument %q is %s long; the policy requires at least %d", r.name, characters(n), r.minLen), false
	case n > r.maxLen:
		return r.broken("max_len", "argument %q is %s long; the policy allows at most %d", r.name, characters(n), r.maxLen), false
	}
	return Why{}, true
}

// surelyMet spares the counting where the bytes of a string tell enough: a code point takes at least one and, as an
// escaped surrogate pair, at most twelve.
func (r argRule) surelyMet(str canon.Value) bool {
	size := int64(len(str.Bytes()) - len(`""`))
	return size/12 >= r.minLen && size <= r.maxLen
}

// broken explains a denial.
func (r argRule) broken(limit, format string, facts ...any) Why {
	return Why{Rule: r.id + "." + limit, Reason: fmt.Sprintf(format, facts...)}
}

// length returns the number of code points of a string. It counts them where they stand, as unescaping would copy the
// string; what the escapes are need not be checked again.
func length(str canon.Value) int64 {
	raw := str.Bytes()
	raw = raw[1 : len(raw)-1] // the quotes
	n := 0
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return int64(n + codePoints(raw))
		}
		n += codePoints(raw[:i]) + 1
		raw = raw[i+escapeSize(raw[i:]):]
	}
}

// codePoints counts the code points of valid UTF-8: all bytes but those of the form 10xxxxxx, eight at a time.
func codePoints(text []byte) int {
	n := len(text)
	for ; len(text) >= 8; text = text[8:] {
		word := binary.LittleEndian.Uint64(text)
		n -= bits.OnesCount64(word >> 7 & (^word >> 6) & 0x0101010101010101)
	}
	for _, b := range text {
		if b&0xC0 == 0x80 {
			n--
		}
	}
	return n
}

// escapeSize returns the length of the escape that raw starts with; a surrogate pair is one.
func escapeSize(raw []byte) int {
	switch {
	case raw[1] != 'u':
		return len(`\n`)
	case raw[2]|0x20 == 'd' && strings.IndexByte("89abAB", raw[3]) >= 0: // D800 to DBFF, the first of a pair
		return len(`\ud83d\ude00`)
	default:
		return len(`\u00e9`)
	}
}

func characters(n int64) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}

// version1 reads the rules of a version 1 file.
func (d document) version1(root canon.Value) (*version1, error) {
	r := &version1{}
	for key, v := range root.Members() {
		var err error
		switch key {
		case "version": // read before
		case "allow":
			r.allow, err = d.names(key, v)
		case "deny":
			r.deny, err = d.names(key, v)
		case "arg_rules":
			r.args, err = d.argRules(v)
		default:
			err = d.unknown("key", key, v, []string{"version", "allow", "deny", "arg_rules"})
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// names reads the list of tools under a key.
func (d document) names(key string, list canon.Value) (map[string]bool, error) {
	if list.Kind() != canon.Array {
		return nil, d.errorAt(list, fmt.Sprintf("%q is not an array of tool names", key), "")
	}
	names := map[string]bool{}
	for v := range list.Elements() {
		name, ok := v.Text()
		if !ok {
			return nil, d.errorAt(v, fmt.Sprintf("%q holds a value that is not a tool name", key), "a tool name is a string")
		}
		if msg, hint := nameFault("tool", name); msg != "" {
			return nil, d.errorAt(v, msg, hint)
		}
		if names[name] {
			return nil, d.errorAt(v, fmt.Sprintf("%q is twice in %q", name, key), "remove one")
		}
		names[name] = true
	}
	return names, nil
}

// argRules reads the rules for arguments, by tool.
func (d document) argRules(tools canon.Value) (map[string][]argRule, error) {
	if tools.Kind() != canon.Object {
		return nil, d.errorAt(tools, `"arg_rules" is not an object`, `rules stand by tool and argument: {"write_note": {"text": {"max_len": 2000}}}`)
	}
	rules := map[string][]argRule{}
	for tool, args := range tools.Members() {
		if msg, hint := nameFault("tool", tool); msg != "" {
			return nil, d.errorAtKey(args, msg, hint)
		}
		if args.Kind() != canon.Object {
			return nil, d.errorAt(args, fmt.Sprintf("the rules for tool %q are not an object", tool), `rules stand by argument: {"text": {"max_len": 2000}}`)
		}
		for name, v := range args.Members() {
			if msg, hint := nameFault("argument", name); msg != "" {
				return nil, d.errorAtKey(v, msg, hint)
			}
			rule, err := d.argRule(tool, name, v)
			if err != nil {
				return nil, err
			}
			rules[tool] = append(rules[tool], rule)
		}
	}
	return rules, nil
}

// argRule reads the rule for one argument. A rule without limits still demands a string.
func (d document) argRule(tool, name string, limits canon.Value) (argRule, error) {
	if limits.Kind() != canon.Object {
		return argRule{}, d.errorAt(limits, fmt.Sprintf("the rule for argument %q is not an object", name), `write limits: {"min_len": 8, "max_len": 2000}`)
	}
	rule := argRule{id: "arg_rules." + tool + "." + name, name: name, maxLen: math.MaxInt64}
	for key, v := range limits.Members() {
		var err error
		switch key {
		case "min_len":
			rule.minLen, err = d.length(key, v)
		case "max_len":
			rule.maxLen, err = d.length(key, v)
		default:
			err = d.unknown("rule key", key, v, []string{"min_len", "max_len"})
		}
		if err != nil {
			return argRule{}, err
		}
	}
	if rule.minLen > rule.maxLen {
		return argRule{}, d.errorAt(limits.Get("min_len"),
			fmt.Sprintf(`"min_len" %d is more than "max_len" %d; no string can meet both`, rule.minLen, rule.maxLen), "")
	}
	return rule, nil
}

// length reads a limit.
func (d document) length(key string, v canon.Value) (int64, error) {
	n, ok := v.Int()
	if !ok || n < 0 {
		return 0, d.errorAt(v, fmt.Sprintf("%q is not a length", key), "a length is a whole number of characters, 0 or more")
	}
	return n, nil
}

// nameFault says what is wrong with the name of a tool or an argument, if anything is, and what to try. Names match
// exactly, so what a reader cannot see in one would silently name something else.
func nameFault(what, name string) (msg, hint string) {
	switch trimmed := strings.TrimSpace(name); {
	case trimmed == "":
		return fmt.Sprintf("%s name %q is empty", what, name), "names match exactly; remove it or write a name"
	case trimmed != name:
		return fmt.Sprintf("%s name %q has white space around it", what, name), fmt.Sprintf("names match exactly; did you mean %q?", trimmed)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return fmt.Sprintf("%s name %q holds the invisible character %U", what, name, r), "names match exactly; write it with visible characters only"
		}
	}
	return "", ""
}
