package effects

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxAlternatives is how many patterns the braces of one may stand for.
const maxAlternatives = 64

// PathPattern is a pattern of a policy for paths: ** is any folders, * and ? stay within a name, ~ is the home folder.
//
// A pattern that begins with neither **, ~, / nor a drive is one for a path in the workspace: "build/**" is
// "${workspace}/build/**". One that ends in /** speaks of the folder before it too, and a slash at the end is short for
// that. [abc] is one of the characters, [!abc] none of them, {a,b} one of the texts. Where it is not known what ~ or
// ${workspace} is, a rule that denies or asks takes any folder for it.
type PathPattern struct {
	text   string
	routes []route // one for each choice of the braces
	rooted bool    // some of them begin at a place that the world knows
}

// route is a pattern without braces: where it begins, and the names from there.
type route struct {
	root     root
	base     []segment // the folder in which it begins, where the world knows it
	segments []segment // the names from there
	literal  int       // how many segments at the start are names without wildcards
	fixed    int       // how many stand before the first **
	decisive int       // the last segment that has characters of its own; -1 if none has
	byLink   bool      // it begins where links within the pattern's names lead
	guessed  bool      // its root is not known
}

// root is where a pattern begins.
type root uint8

const (
	anywhere root = iota // a pattern that begins with **, or one whose root is not known
	fromSlash
	fromHome
	fromWorkspace
)

// ParsePath reads a pattern such as "**/.env", "~/.ssh/**" or "${workspace}/**". An error is a phrase that says what is
// wrong.
func ParsePath(text string) (*PathPattern, error) {
	switch {
	case text == "":
		return nil, errors.New("the path pattern is empty")
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return nil, errors.New("the path pattern has bytes that no path can have")
	}
	choices, err := choicesOf(text)
	if err != nil {
		return nil, err
	}
	p := &PathPattern{text: text}
	for _, choice := range choices {
		r, err := parseRoute(choice)
		if err != nil {
			return nil, err
		}
		p.routes = append(p.routes, r)
		p.rooted = p.rooted || r.root != anywhere
	}
	return p, nil
}

// String returns the pattern as it was written.
func (p *PathPattern) String() string { return p.text }

// choicesOf returns the texts that {a,b} in a text stand for. A variable is no choice.
func choicesOf(text string) ([]string, error) {
	done, rest := []string{""}, text
	for {
		before, choices, after, err := nextChoice(rest)
		if err != nil {
			return nil, err
		}
		if choices == nil {
			for i := range done {
				done[i] += before
			}
			return done, nil
		}
		var next []string
		for _, choice := range choices {
			inner, err := choicesOf(choice)
			if err != nil {
				return nil, err
			}
			for _, prefix := range done {
				for _, choice := range inner {
					next = append(next, prefix+before+choice)
				}
			}
			if len(next) > maxAlternatives {
				return nil, fmt.Errorf("the braces stand for more than %d patterns", maxAlternatives)
			}
		}
		done, rest = next, after
	}
}

// nextChoice splits a text at its first {…}; choices is nil if there is none.
func nextChoice(text string) (before string, choices []string, after string, err error) {
	open, depth, start := -1, 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '$':
			if strings.HasPrefix(text[i:], "${") {
				end := strings.IndexByte(text[i:], '}')
				if end < 0 {
					return "", nil, "", errors.New("a brace is not closed")
				}
				i += end
			}
		case '{':
			if depth++; depth == 1 {
				open, start = i, i+1
			}
		case ',':
			if depth == 1 {
				choices = append(choices, text[start:i])
				start = i + 1
			}
		case '}':
			depth--
			if depth < 0 {
				return "", nil, "", errors.New("a brace is closed that was not opened")
			}
			if depth == 0 {
				return text[:open], append(choices, text[start:i]), text[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New("a brace is not closed")
	}
	return text, nil, "", nil
}

// parseRoute reads a pattern without braces.
func parseRoute(text string) (route, error) {
	if text == "" {
		return route{}, errors.New("a choice of the braces is empty")
	}
	text = strings.ReplaceAll(text, `\`, "/")
	begin, rest, err := rootOf(text)
	if err != nil {
		return route{}, err
	}
	r := route{root: begin}
	names := strings.Split(rest, "/")
	for i, name := range names {
		switch {
		case name == ".." || strings.HasPrefix(name, "..") && strings.Trim(name, ".*") == "":
			return route{}, errors.New("a path pattern cannot go up")
		case i == len(names)-1 && i > 0 && name == "":
			name = "**"
		case name == "" || name == ".":
			continue
		}
		s, err := parseSegment(name)
		if err != nil {
			return route{}, err
		}
		if s.folders && len(r.segments) > 0 && r.segments[len(r.segments)-1].folders {
			continue
		}
		r.segments = append(r.segments, s)
	}
	return r.measured(), nil
}

// rootOf splits a pattern into where it begins and what follows.
func rootOf(text string) (begin root, rest string, err error) {
	first, rest, more := strings.Cut(text, "/")
	if more && rest == "" {
		rest = "**"
	}
	switch {
	case first == "" && more:
		if strings.HasPrefix(rest, "**/") || rest == "**" && text != "/" {
			return anywhere, rest, nil
		}
		if drive, ok := driveOf("/" + rest); ok {
			return fromSlash, drive, nil
		}
		return fromSlash, rest, nil
	case len(first) == 2 && isDrive(first):
		return fromSlash, strings.ToLower(first) + "/" + rest, nil
	case first == "~" || first == "${home}":
		return fromHome, rest, nil
	case first == "${workspace}":
		return fromWorkspace, rest, nil
	case first == "**":
		return anywhere, text, nil
	case first[0] == '~':
		return 0, "", fmt.Errorf("%s is not known here: write the folder, or ~ for the user's own", first)
	case first[0] == '$':
		return 0, "", unknownVariable(first)
	case strings.Contains(text, "${"):
		return 0, "", errors.New("a variable can only stand at the start of a path pattern")
	}
	return fromWorkspace, text, nil
}

// unknownVariable returns the error for a variable that there is not, with the one that was probably meant.
func unknownVariable(first string) error {
	name := strings.ToLower(strings.Trim(first, "${}"))
	meant := "${workspace}"
	if strings.HasPrefix(name, "h") || strings.HasPrefix(name, "u") {
		meant = "${home}"
	}
	return fmt.Errorf("unknown variable %s; did you mean %s?", first, meant)
}

// measured returns a route with its counts.
func (r route) measured() route {
	r.decisive, r.literal, r.fixed = -1, len(r.segments), len(r.segments)
	for i, s := range r.segments {
		if s.folders {
			r.fixed = min(r.fixed, i)
		}
		if s.folders || s.tokens != nil {
			r.literal = min(r.literal, i)
		}
		if s.hasText() {
			r.decisive = i
		}
	}
	return r
}
