package servers

import (
	"strconv"
	"strings"

	"sallyport/internal/canon"
)

// string reads a string and puts variables in.
func (r *reader) string(server, key string, v canon.Value) (string, error) {
	text, ok := v.Text()
	if !ok {
		return "", r.errorf(v, "", "server %s: %s must be a string", server, key)
	}
	return r.expand(server, text, v)
}

func (r *reader) strings(server, key string, v canon.Value) ([]string, error) {
	if v.Kind() != canon.Array {
		return nil, r.errorf(v, "", "server %s: %s must be a list of strings", server, key)
	}
	all := []string{}
	for element := range v.Elements() {
		text, err := r.string(server, "each of "+key, element)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

func (r *reader) table(server, key string, v canon.Value) (map[string]string, error) {
	if v.Kind() != canon.Object {
		return nil, r.errorf(v, "", "server %s: %s must be an object of strings", server, key)
	}
	all := map[string]string{}
	for name, member := range v.Members() {
		text, err := r.string(server, "each of "+key, member)
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}

// expand puts variables of our environment in the place of ${NAME} and ${NAME:-DEFAULT}, as Claude Code does, and of
// ${env:NAME}, as VS Code writes it. What comes in that way is not expanded again.
func (r *reader) expand(server, text string, at canon.Value) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString("${" + rest)
			return out.String(), nil
		}
		name, fallback, hasFallback := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
		value, set := "", false
		switch {
		case !isVariable(name):
			return "", r.errorf(at, "write ${NAME} or ${NAME:-DEFAULT}; what an editor would ask for or put in is not known here", "server %s: ${%s} names no variable", server, short(inner))
		case ours(name):
			return "", r.errorf(at, "", "server %s: ${%s} is for sallyport itself and is given to no server", server, name)
		default:
			value, set = r.lookup(name)
		}
		switch {
		case set && (value != "" || !hasFallback):
			out.WriteString(value)
		case hasFallback:
			out.WriteString(fallback)
		default:
			return "", r.errorf(at, "set it, or write ${"+name+":-DEFAULT}", "server %s: the variable %s is not set", server, name)
		}
		text = after
	}
}

func isVariable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return name != "" && strings.Trim(name, letters) == "" && (name[0] < '0' || name[0] > '9')
}

func quote(text string) string { return strconv.QuoteToASCII(short(text)) }

// short cuts a text for a message.
func short(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
