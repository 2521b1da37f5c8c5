package cond

import (
	"math/rand/v2"
	"strings"
)

// generator writes expressions. Most of them have types that fit, so that they are evaluated.
type generator struct {
	random *rand.Rand
	inside int // predicates
	names  []string
}

func generate(seed uint64) string {
	g := &generator{random: rand.New(rand.NewPCG(seed, 1))}
	return g.write([]string{"bool", "any", "number", "text", "list", "map"}[g.random.IntN(6)], 4)
}

func (g *generator) pick(from ...string) string { return from[g.random.IntN(len(from))] }

// write writes an expression of a type, now and then of another one.
func (g *generator) write(kind string, depth int) string {
	if g.random.IntN(12) == 0 {
		kind = g.pick("bool", "any", "number", "text", "list", "map")
	}
	if depth <= 0 || g.random.IntN(5) == 0 {
		return g.atom(kind)
	}
	switch g.random.IntN(14) {
	case 0:
		return "(" + g.write(kind, depth-1) + ")"
	case 1:
		return "(" + g.write("bool", depth-1) + " ? " + g.write(kind, depth-1) + " : " + g.write(kind, depth-1) + ")"
	case 2:
		return "(" + g.write(kind, depth-1) + " ?? " + g.write(kind, depth-1) + ")"
	case 3:
		name := g.pick("v", "w", "u") + g.pick("", "1")
		value := g.write(g.pick("any", "number", "list", "text"), depth-1)
		g.names = append(g.names, name)
		out := "(let " + name + " = " + value + "; " + g.write(kind, depth-1) + ")"
		g.names = g.names[:len(g.names)-1]
		return out
	case 4:
		return "if " + g.write("bool", depth-1) + " {" + g.write(kind, depth-1) + "} else {" + g.write(kind, depth-1) + "}"
	case 5:
		if g.random.IntN(3) > 0 {
			return g.member(depth)
		}
	}
	switch kind {
	case "bool":
		return g.truth(depth)
	case "number":
		return g.number(depth)
	case "text":
		return g.text(depth)
	case "list":
		return g.list(depth)
	case "map":
		return "{" + g.pick("a", `"b"`, "1", "(tool)") + ": " + g.write("any", depth-1) + ", c: " + g.write("any", depth-1) + "}"
	}
	return g.write(g.pick("bool", "number", "text", "list", "map"), depth-1)
}

func (g *generator) atom(kind string) string {
	if g.inside > 0 && g.random.IntN(3) == 0 {
		return g.pick("#", "#", "#index", ".a", "#[0]")
	}
	if len(g.names) > 0 && g.random.IntN(3) == 0 {
		return g.names[g.random.IntN(len(g.names))]
	}
	switch kind {
	case "bool":
		return g.pick("true", "false", "args.t", "nil", "args.none")
	case "number":
		return g.pick("0", "1", "2", "-1", "0.5", "3.0", "1e3", "0x1F", "0b11", "0o17", "9007199254740993", "args.n", "args.f", "args.z", "len(tool)", ".5", "1_000")
	case "text":
		return g.pick("tool", "principal.tenant", "home", `"a"`, `'b'`, "`c`", `"\u00e9"`, `""`, "args.s", "principal?.name", `"12"`, `" x "`, `b"a\xff"`)
	case "list":
		return g.pick("effects.runs", "effects.reads", "effects.connects", "effects.spawns", "args.l", "args.x", "[]", "[1, 2]", `["a", "b"]`, "1..3", "3..1", "[nil, 1]", "args.s")
	case "map":
		return g.pick("{}", "principal", "effects", "args", "args.m", `{"a": 1}`, "{a: 1, a: 2}")
	}
	return g.pick("args", "args.n", "args.s", "args.l", "args.m", "args.none", "args?.m?.a", "nil", "tool", "1", "2.5", "true", "effects.runs", "args.l[0]", "args?.[tool]", "len")
}

func (g *generator) member(depth int) string {
	base := g.write(g.pick("map", "list", "any", "text"), depth-1)
	switch g.random.IntN(6) {
	case 0:
		return base + g.pick(".", "?.") + g.pick("a", "name", "m", "runs", "in")
	case 1:
		return base + "[" + g.write("text", depth-1) + "]"
	case 2:
		return base + g.pick("[", "?.[") + g.write("number", depth-1) + "]"
	case 3:
		return base + "[" + g.write("number", depth-1) + ":" + g.write("number", depth-1) + "]"
	case 4:
		return base + "[:" + g.pick("1", "-1", "9", "") + "]"
	}
	return base + "[" + g.pick("1", "-1", "9") + ":]"
}

func (g *generator) truth(depth int) string {
	two := func(kind, op string) string { return g.write(kind, depth-1) + " " + op + " " + g.write(kind, depth-1) }
	switch g.random.IntN(11) {
	case 0, 1:
		return two("bool", g.pick("and", "or", "&&", "||", "==", "!="))
	case 2:
		return g.pick("not ", "!") + g.write("bool", depth-1)
	case 3, 4:
		return two(g.pick("number", "number", "text"), g.pick("<", ">", "<=", ">=", "==", "!="))
	case 5:
		return two(g.pick("any", "list", "map", "text"), g.pick("==", "!="))
	case 6:
		return g.write("any", depth-1) + g.pick(" in ", " not in ") + g.write(g.pick("list", "map"), depth-1)
	case 7:
		return two("text", g.pick("contains", "startsWith", "endsWith", "not contains", "not startsWith"))
	case 8:
		return g.write("text", depth-1) + g.pick(" matches ", " not matches ") + g.pick(`"^a"`, `"[a-z]+$"`, `""`)
	case 9:
		return g.pick("hasPrefix", "hasSuffix") + "(" + g.write("text", depth-1) + ", " + g.write("text", depth-1) + ")"
	}
	return g.predicate(g.pick("all", "any", "none", "one"), "bool", depth)
}

// predicate writes a call of a function that has one, as such or behind a pipe.
func (g *generator) predicate(name, body string, depth int) string {
	list := g.write("list", depth-1)
	g.inside++
	predicate := g.write(body, depth-1)
	g.inside--
	if g.random.IntN(4) == 0 {
		predicate = "{" + predicate + "}"
	}
	if g.random.IntN(4) == 0 {
		return list + " | " + name + "(" + predicate + ")"
	}
	return name + "(" + list + ", " + predicate + ")"
}

func (g *generator) number(depth int) string {
	switch g.random.IntN(8) {
	case 0, 1, 2:
		return g.write("number", depth-1) + " " + g.pick("+", "-", "*", "/", "%", "**", "^") + " " + g.write("number", depth-1)
	case 3:
		return g.pick("-", "+") + g.write("number", depth-1)
	case 4:
		return g.pick("len", "count", "first", "last", "min", "max") + "(" + g.write("list", depth-1) + ")"
	case 5:
		return g.pick("min", "max") + "(" + g.write("number", depth-1) + ", " + g.write(g.pick("number", "list"), depth-1) + ")"
	case 6:
		return g.pick("int", "float", "abs") + "(" + g.write(g.pick("number", "text", "any"), depth-1) + ")"
	}
	return g.pick(g.pick("indexOf", "lastIndexOf")+"("+g.write("text", depth-1)+", "+g.write("text", depth-1)+")", g.predicate("count", "bool", depth))
}

func (g *generator) text(depth int) string {
	switch g.random.IntN(5) {
	case 0:
		return g.write("text", depth-1) + " + " + g.write("text", depth-1)
	case 1:
		return g.pick("lower", "upper", "trim", "trimPrefix", "trimSuffix") + "(" + g.write("text", depth-1) + ")"
	case 2:
		return g.pick("trim", "trimPrefix", "trimSuffix") + "(" + g.write("text", depth-1) + ", " + g.write("text", depth-1) + ")"
	case 3:
		return g.pick("type", "string") + "(" + g.write("any", depth-1) + ")"
	}
	return g.write("any", depth-1) + g.pick(" | type()", " | string()")
}

func (g *generator) list(depth int) string {
	switch g.random.IntN(5) {
	case 0:
		var parts []string
		for range g.random.IntN(4) {
			parts = append(parts, g.write("any", depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case 1:
		return g.predicate("filter", "bool", depth)
	case 2:
		return g.predicate(g.pick("map", "map", "find"), g.pick("any", "number", "text"), depth)
	case 3:
		return g.pick("keys", "values") + "(" + g.write("map", depth-1) + ")"
	}
	return "(" + g.atom("number") + ".." + g.pick("1", "3", "args.n", "-2") + ")"
}

// garble changes an expression by bytes.
func garble(source string, by []byte) string {
	out := []byte(source)
	const pieces = "()[]{}.?:,;#|&=!<>+-*/%^'\"`\\ \n\r0123xbe_$né\xff"
	for i := 0; i+2 < len(by) && i < 12 && len(out) > 0; i += 3 {
		at, with := int(by[i])%len(out), pieces[int(by[i+1])%len(pieces)]
		switch by[i+2] % 3 {
		case 0:
			out[at] = with
		case 1:
			out = append(out[:at], out[at+1:]...)
		default:
			out = append(out[:at], append([]byte{with}, out[at:]...)...)
		}
	}
	return string(out)
}
