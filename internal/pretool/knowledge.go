package pretool

import (
	"cmp"
	_ "embed" // for knowledge.json
	"maps"
	"slices"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// Knowledge is what is known of calls that fail: patterns for each tool, with what to do instead. It never changes, so
// several goroutines may use it at once.
type Knowledge struct {
	patterns map[string][]pattern // by tool, the surest first
}

// pattern is one way in which calls of a tool fail.
type pattern struct {
	id          string
	description string // why it fails; may be empty
	confidence  float64
	remedy      remedy
	mapping     map[string]string // translate: from command words, lower-case without .exe, to Unix commands
	params      []param           // add_params: what to add; strip_prefix: which arguments to look at
}

// param is an argument of a tool. The example is JSON, or "" where there is none.
type param struct{ name, example string }

// remedy is what to do about a call that fits a pattern.
type remedy string

const (
	translate   remedy = "translate"    // a Windows command to a Unix one
	stripPrefix remedy = "strip_prefix" // line numbers from a text that was copied from a Read
	addParams   remedy = "add_params"   // arguments that are missing
	requireRead remedy = "require_read" // the file must be read before
)

//go:embed knowledge.json
var builtinKnowledge []byte

var parseBuiltin = sync.OnceValue(func() *Knowledge {
	k, err := (&Knowledge{}).With("built-in", builtinKnowledge)
	if err != nil {
		panic(err)
	}
	return k
})

// BuiltinKnowledge returns the knowledge that comes with the program.
func BuiltinKnowledge() *Knowledge { return parseBuiltin() }

// With returns what k knows and what a file tells beyond it; k stays as it is. The name is the file's path, as errors
// shall show it. An error is a *KnowledgeError at the first place that is wrong.
func (k *Knowledge) With(name string, text []byte) (*Knowledge, error) {
	added, err := knowledgeFile{name: name, text: text}.patterns()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(k.patterns)
	if all == nil {
		all = map[string][]pattern{}
	}
	for tool, patterns := range added {
		both := slices.Concat(all[tool], patterns)
		slices.SortStableFunc(both, func(a, b pattern) int { return cmp.Compare(b.confidence, a.confidence) })
		all[tool] = both
	}
	return &Knowledge{patterns: all}, nil
}

// hints returns what to do about a call that fits patterns, each once, the surest first, and how many patterns there
// are for the tool. The input is an object, or absent. windows says that the shell's machine is one.
func (k *Knowledge) hints(tool string, input canon.Value, windows bool) (hints []string, checked int) {
	for _, p := range k.patterns[tool] {
		for _, hint := range p.hints(tool, input, windows) {
			if p.description != "" {
				hint += " (" + p.description + ")"
			}
			if !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	return hints, len(k.patterns[tool])
}

func (p pattern) hints(tool string, input canon.Value, windows bool) []string {
	switch {
	case p.remedy == translate && windows:
		return p.translations(input)
	case p.remedy == stripPrefix:
		return p.prefixed(tool, input)
	case p.remedy == addParams:
		return p.missing(tool, input)
	case p.remedy == requireRead:
		return []string{"Read the file before " + tool}
	default:
		return nil
	}
}

// translations returns a hint for each Windows command at a command position.
func (p pattern) translations(input canon.Value) (hints []string) {
	command, _ := input.Get("command").Text()
	words, _ := effects.Commands(command) // what does not parse is judged by the words before the error
	for _, word := range words {
		name := commandName(word)
		unix, ok := p.mapping[name]
		if !ok {
			continue
		}
		program, _, more := strings.Cut(unix, " ")
		hint := "Windows command '" + name + "': use Unix '" + program + "'"
		if more {
			hint += ", as in '" + unix + "'"
		}
		if !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	return hints
}

// commandName returns what a command word is known by: without case, .exe, and the carriage return of a CRLF line. Blanks
// in quotes are a part of the word.
func commandName(word string) string {
	return strings.TrimSuffix(lowerASCII(strings.TrimRight(word, "\r")), ".exe")
}

// lowerASCII is lower case for the letters that the names of Windows commands have: a Turkish dotted I is no i.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// prefixed returns a hint for each argument that has the numbers of lines in its text.
func (p pattern) prefixed(tool string, input canon.Value) (hints []string) {
	for _, param := range p.params {
		if text, _ := input.Get(param.name).Text(); hasLineNumbers(text) {
			hints = append(hints, tool+" "+param.name+" carries a line number prefix: leave out the number and the tab or arrow")
		}
	}
	return hints
}

// hasLineNumbers reports whether a text was copied with line numbers: digits, then a tab or an arrow. In the first line
// that is not blank this is enough. In a later one, where the copy may begin within a line, the number must be padded or
// the arrow be there, as tables have columns of numbers too.
func hasLineNumbers(text string) bool {
	first := true
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		number := strings.TrimLeft(line, " ")
		rest := strings.TrimLeft(number, "0123456789")
		if len(rest) < len(number) {
			padded := len(number) < len(line)
			if strings.HasPrefix(rest, "→") || strings.HasPrefix(rest, "\t") && (first || padded) {
				return true
			}
		}
		first = false
	}
	return false
}

// missing returns a hint for each argument that is not given.
func (p pattern) missing(tool string, input canon.Value) (hints []string) {
	if tool == "Read" && !slices.ContainsFunc(p.params, func(a param) bool { return a.name != "offset" && a.name != "limit" }) {
		return hintRead(input)
	}
	for _, param := range p.params {
		if isGiven(input.Get(param.name)) {
			continue
		}
		hint := tool + " without " + param.name + ": add it"
		if param.example != "" {
			hint += ", such as " + param.example
		}
		hints = append(hints, hint)
	}
	return hints
}

// isGiven reports whether an argument says anything: null, 0, and a blank text do not.
func isGiven(v canon.Value) bool {
	switch v.Kind() {
	case canon.Absent, canon.Null:
		return false
	case canon.Number:
		n, ok := v.Int()
		return !ok || n != 0
	case canon.String:
		text, _ := v.Text()
		return clean(text) != ""
	default:
		return true
	}
}
