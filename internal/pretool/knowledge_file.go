package pretool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sallyport/internal/canon"
)

// MaxKnowledge is how large a knowledge file may be, in bytes.
const MaxKnowledge = 1 << 20

// KnowledgeError is a knowledge file that cannot be used.
type KnowledgeError struct {
	File string // as given to With
	Line int    // from 1
	Col  int    // from 1, in Unicode code points
	Msg  string // what is wrong
	Hint string // what to try; may be empty
}

// Error returns the place and what is wrong there; the hint is left for the caller to show.
func (e *KnowledgeError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// knowledgeFile is a knowledge file being read.
type knowledgeFile struct {
	name string
	text []byte
}

func (f knowledgeFile) patterns() (map[string][]pattern, error) {
	if len(f.text) > MaxKnowledge {
		return nil, f.errorAtOffset(0, fmt.Sprintf("the file is larger than %d bytes", MaxKnowledge), "")
	}
	root, err := canon.Parse(f.text)
	if err != nil {
		return nil, f.refused(err)
	}
	if root.Kind() != canon.Object {
		return nil, f.errorAt(root, "the file is not an object", `write {"TOOL": [PATTERN, ...]}`)
	}
	all := map[string][]pattern{}
	for tool, list := range root.Members() {
		if list.Kind() != canon.Array {
			return nil, f.errorAt(list, fmt.Sprintf("%q is not a list of patterns", tool), "")
		}
		for v := range list.Elements() {
			p, err := f.pattern(v)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(all[tool], func(other pattern) bool { return other.id == p.id }) {
				return nil, f.errorAt(v, fmt.Sprintf("%s has the pattern %q twice", tool, p.id), "give each its own pattern_id")
			}
			all[tool] = append(all[tool], p)
		}
	}
	return all, nil
}

func (f knowledgeFile) pattern(v canon.Value) (pattern, error) {
	p := pattern{confidence: 1}
	err := f.object(v, "pattern", []string{"pattern_id", "solution"}, fields{
		"pattern_id":  func(v canon.Value) (err error) { p.id, err = f.word(v, "pattern_id"); return err },
		"description": func(v canon.Value) (err error) { p.description, err = f.string(v, "description"); return err },
		"confidence":  func(v canon.Value) (err error) { p.confidence, err = f.confidence(v); return err },
		"solution":    func(v canon.Value) error { return f.solution(v, &p) },
	})
	return p, err
}

func (f knowledgeFile) solution(v canon.Value, p *pattern) error {
	err := f.object(v, "solution", []string{"type"}, fields{
		"type":    func(v canon.Value) (err error) { p.remedy, err = f.remedy(v); return err },
		"mapping": func(v canon.Value) (err error) { p.mapping, err = f.mapping(v); return err },
		"params":  func(v canon.Value) (err error) { p.params, err = f.params(v); return err },
	})
	switch {
	case err != nil:
		return err
	case p.remedy == translate && len(p.mapping) == 0:
		return f.errorAt(v, `a solution of type "translate" has no "mapping"`, `write "mapping": {"del": "rm"}`)
	case p.remedy == addParams && len(p.params) == 0:
		return f.errorAt(v, `a solution of type "add_params" has no "params"`, `write "params": {"head_limit": 100}`)
	case p.remedy == stripPrefix && len(p.params) == 0:
		p.params = []param{{name: "old_string"}}
	}
	return nil
}

// fields are the readers of an object's members, by key.
type fields map[string]func(canon.Value) error

// object reads an object that has no members but the fields, and all that are required.
func (f knowledgeFile) object(v canon.Value, what string, required []string, read fields) error {
	if v.Kind() != canon.Object {
		return f.errorAt(v, fmt.Sprintf("a %s is an object, not %s", what, v.Kind()), "")
	}
	for key, member := range v.Members() {
		field, ok := read[key]
		if !ok {
			known := make([]string, 0, len(read))
			for key := range read {
				known = append(known, key)
			}
			slices.Sort(known)
			return f.errorAt(member, fmt.Sprintf("unknown key %q in a %s", key, what), "known here: "+strings.Join(known, ", "))
		}
		if err := field(member); err != nil {
			return err
		}
	}
	for _, key := range required {
		if !v.Get(key).Exists() {
			return f.errorAt(v, fmt.Sprintf("a %s has no %q", what, key), "")
		}
	}
	return nil
}

func (f knowledgeFile) remedy(v canon.Value) (remedy, error) {
	text, err := f.string(v, "type")
	if err != nil {
		return "", err
	}
	known := []string{string(translate), string(stripPrefix), string(addParams), string(requireRead)}
	if !slices.Contains(known, text) {
		return "", f.errorAt(v, fmt.Sprintf("unknown solution type %q", text), "known here: "+strings.Join(known, ", "))
	}
	return remedy(text), nil
}

// mapping reads what command words mean on Unix.
func (f knowledgeFile) mapping(v canon.Value) (map[string]string, error) {
	if v.Kind() != canon.Object {
		return nil, f.errorAt(v, `"mapping" is not an object`, `write "mapping": {"del": "rm"}`)
	}
	mapping := map[string]string{}
	for key, value := range v.Members() {
		name := commandName(strings.TrimSpace(key))
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, f.errorAt(value, fmt.Sprintf("%q is not one command word", key), "")
		}
		unix, err := f.word(value, key)
		if err != nil {
			return nil, err
		}
		mapping[name] = unix
	}
	return mapping, nil
}

// params reads names of arguments: a list of them, or an object with an example for each.
func (f knowledgeFile) params(v canon.Value) (params []param, err error) {
	switch v.Kind() {
	case canon.Array:
		for element := range v.Elements() {
			name, err := f.word(element, "params")
			if err != nil {
				return nil, err
			}
			params = append(params, param{name: name})
		}
	case canon.Object:
		for name, example := range v.Members() {
			a := param{name: name}
			if example.Kind() != canon.Null {
				a.example = string(example.Bytes())
			}
			params = append(params, a)
		}
	default:
		return nil, f.errorAt(v, `"params" is neither a list nor an object`, `write "params": {"head_limit": 100}`)
	}
	return params, nil
}

func (f knowledgeFile) confidence(v canon.Value) (float64, error) {
	n, err := strconv.ParseFloat(string(v.Bytes()), 64)
	if v.Kind() != canon.Number || err != nil || n < 0 || n > 1 {
		return 0, f.errorAt(v, `"confidence" is not a number from 0 to 1`, "")
	}
	return n, nil
}

// word reads a string that is not blank.
func (f knowledgeFile) word(v canon.Value, key string) (string, error) {
	text, err := f.string(v, key)
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = f.errorAt(v, fmt.Sprintf("%q is empty", key), "")
	}
	return text, err
}

func (f knowledgeFile) string(v canon.Value, key string) (string, error) {
	text, ok := v.Text()
	if !ok {
		return "", f.errorAt(v, fmt.Sprintf("%q holds %s, not a string", key, v.Kind()), "")
	}
	return text, nil
}

// refused translates canon's error to a place in the file.
func (f knowledgeFile) refused(err error) error {
	e, ok := errors.AsType[*canon.Error](err)
	switch {
	case !ok:
		return f.errorAtOffset(0, err.Error(), "")
	case e.Reason == canon.Syntax:
		return f.errorAtOffset(e.Offset, "not JSON: "+e.Detail, "JSON has no comments, and no comma behind the last value")
	default:
		return f.errorAtOffset(e.Offset, e.Detail, "")
	}
}

// errorAt blames a value.
func (f knowledgeFile) errorAt(v canon.Value, msg, hint string) error {
	return f.errorAtOffset(v.OffsetIn(f.text), msg, hint)
}

func (f knowledgeFile) errorAtOffset(offset int, msg, hint string) error {
	line, column := canon.Place(f.text, offset)
	return &KnowledgeError{File: f.name, Line: line, Col: column, Msg: msg, Hint: hint}
}
