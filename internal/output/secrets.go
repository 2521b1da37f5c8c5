package output

import (
	_ "embed" // for the rules
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sallyport/internal/canon"
)

//go:generate go run generate.go v8.30.1 gitleaks.toml

//go:embed rules/secrets.json
var secretsJSON []byte

// detector finds secrets. It is read when it is first needed, and each of its expressions when a text first has a word
// without which it cannot match.
type detector struct {
	words *words  // the keywords of all rules, in small letters
	rules [][]int // the rules that have a keyword
	all   []*secretRule
	allow []allowlist // for all rules
}

// secretRule is one kind of secret.
type secretRule struct {
	id      string
	group   int     // of the expression which is the secret; 0 is the first that is there, or all of it
	entropy float64 // bits for a character that a secret has more than
	allow   []allowlist
	generic bool // it knows a secret by the words around it alone

	get func() (*expression, error)
}

// allowlist says what is no secret although it looks like one.
type allowlist struct {
	get       func() ([]*regexp.Regexp, error)
	stopWords []string
	target    string // what the expressions are about: "match", "line" or "" for the secret
	all       bool   // all that it says must be so
}

var secrets = sync.OnceValues(readSecrets)

func readSecrets() (*detector, error) {
	root, err := canon.Parse(secretsJSON)
	if err != nil {
		return nil, err
	}
	d := &detector{allow: readAllowlists(root.Get("allow"))}
	byWord := map[string][]int{}
	for v := range root.Get("rules").Elements() {
		r := &secretRule{allow: readAllowlists(v.Get("allow"))}
		r.id, _ = v.Get("id").Text()
		group, _ := v.Get("group").Int()
		r.group = int(group)
		if entropy := v.Get("entropy"); entropy.Exists() {
			if r.entropy, err = strconv.ParseFloat(string(entropy.Bytes()), 64); err != nil {
				return nil, err
			}
		}
		if r.generic = strings.Contains(r.id, "generic"); r.generic {
			r.allow = append(r.allow, cursors())
		}
		var keywords []string
		for word := range v.Get("keywords").Elements() {
			text, _ := word.Text()
			keywords = append(keywords, text)
			byWord[text] = append(byWord[text], len(d.all))
		}
		source, _ := v.Get("regex").Text()
		r.get = sync.OnceValues(func() (*expression, error) { return newExpression(source, keywords, r.generic) })
		d.all = append(d.all, r)
	}
	if len(d.all) == 0 {
		return nil, errors.New("there are no rules")
	}
	list := make([]string, 0, len(byWord))
	for word := range byWord {
		list = append(list, word)
	}
	slices.Sort(list)
	for _, word := range list {
		d.rules = append(d.rules, byWord[word])
	}
	d.words = newWords(list)
	return d, nil
}

// cursors are the tokens by which the next part of a list is asked for. Masked, they would end every list.
func cursors() allowlist {
	return allowlist{target: "match", get: sync.OnceValues(func() ([]*regexp.Regexp, error) {
		re, err := regexp.Compile(`(?i)(?:page|next|prev(?:ious)?|start|continu(?:e|ation)|sync|scroll|resume|cursor)[_.-]?(?:page[_.-]?)?token`)
		return []*regexp.Regexp{re}, err
	})}
}

func readAllowlists(list canon.Value) []allowlist {
	var all []allowlist
	for v := range list.Elements() {
		var a allowlist
		var sources []string
		for e := range v.Get("regexes").Elements() {
			source, _ := e.Text()
			sources = append(sources, source)
		}
		for e := range v.Get("stopwords").Elements() {
			word, _ := e.Text()
			a.stopWords = append(a.stopWords, strings.ToLower(word))
		}
		a.target, _ = v.Get("target").Text()
		condition, _ := v.Get("condition").Text()
		a.all = condition == "AND"
		a.get = sync.OnceValues(func() ([]*regexp.Regexp, error) {
			var compiled []*regexp.Regexp
			for _, source := range sources {
				re, err := regexp.Compile(source)
				if err != nil {
					return nil, err
				}
				compiled = append(compiled, re)
			}
			return compiled, nil
		})
		all = append(all, a)
	}
	return all
}

// allows reports whether a secret, the match that it was found in, and the line of that are no secret after all.
func (a *allowlist) allows(secret, match, line string) bool {
	expressions, err := a.get()
	if err != nil {
		return false
	}
	target := secret
	switch a.target {
	case "match":
		target = match
	case "line":
		target = line
	}
	fits := slices.ContainsFunc(expressions, func(re *regexp.Regexp) bool { return re.MatchString(target) })
	small := strings.ToLower(secret)
	stops := slices.ContainsFunc(a.stopWords, func(word string) bool { return strings.Contains(small, word) })
	if a.all {
		return (fits || len(expressions) == 0) && (stops || len(a.stopWords) == 0)
	}
	return fits || stops
}

// maskSecrets returns JSON with the secrets in its strings masked, if that takes no more work.
func maskSecrets(raw []byte, work effort) ([]byte, error) {
	d, err := secrets()
	if err != nil {
		return nil, fmt.Errorf("secrets cannot be looked for: %w", err)
	}
	out := rewrite(raw, func(t *text) []edit {
		if err != nil {
			return nil
		}
		var edits []edit
		edits, err = d.edits(t, &work)
		return edits
	})
	if err != nil {
		return nil, fmt.Errorf("secrets cannot be looked for: %w", err)
	}
	return out, nil
}

// edits returns what masks the secrets of a text. What stands behind the name of a member is looked at together with it:
// some secrets are known by that alone. That is not for rules which know a secret by the words around it only: they would
// take any cursor, and any key of a table, for one.
func (d *detector) edits(t *text, work *effort) ([]edit, error) {
	if isBlob(t) {
		return nil, nil
	}
	before := "\n" // so that there is a character in front of the first one: expression.there
	if len(t.key) > 0 && len(t.key) <= 128 {
		before = "\n" + string(t.key) + `": "`
	}
	found, err := d.find(before+string(t.decoded), work)
	var edits []edit
	for _, f := range found {
		from, to := max(f.from-len(before), 0), min(f.to-len(before), len(t.decoded))
		if from < to && !(f.generic && f.match < len(before)-1) {
			edits = append(edits, edit{from, to, "[secret: " + f.id + "]"})
		}
	}
	return edits, err
}

// isBlob reports whether a text is the data of an image or the like (MCP's contents data and blob): base64 has anything in
// it that is looked for long enough.
func isBlob(t *text) bool {
	const shortest = 256
	if key := string(t.key); key != "data" && key != "blob" || len(t.decoded) < shortest || len(t.decoded)%4 != 0 {
		return false
	}
	for _, c := range t.decoded {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '=') {
			return false
		}
	}
	return true
}

// secret is a part of a text.
type secret struct {
	from, to int
	match    int // where what it was found in begins
	id       string
	generic  bool
}

// effort is how many bytes the expressions may still go through. A hostile text that makes all of them go through all of it
// is refused.
type effort int

// effortFor returns how much a result of a size is worth.
func effortFor(size int) effort {
	const least, most = 4 << 20, 64 << 20
	return effort(min(least+2*size, most))
}

var errTooMuch = errors.New("too much of the result looks like one")

func (e *effort) spend(bytes int) error {
	if *e -= effort(bytes); *e < 0 {
		return errTooMuch
	}
	return nil
}

// find returns the secrets of a text, which begins with a line break, in order, none of which overlaps another one.
func (d *detector) find(text string, work *effort) ([]secret, error) {
	var all []secret
	for rule, places := range d.candidates(text) {
		r := d.all[rule]
		found, err := r.find(text, places, d.allow, work)
		switch {
		case errors.Is(err, errTooMuch):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("rule %s: %w", r.id, err)
		}
		all = append(all, found...)
	}
	return distinct(all), nil
}

// distinct sorts secrets and makes one of those that overlap, by the name of the one that is known best.
func distinct(all []secret) []secret {
	slices.SortFunc(all, func(a, b secret) int {
		switch {
		case a.from != b.from:
			return a.from - b.from
		case a.to != b.to:
			return b.to - a.to
		default:
			return strings.Compare(a.id, b.id)
		}
	})
	out := all[:0]
	for _, s := range all {
		if len(out) == 0 || s.from >= out[len(out)-1].to {
			out = append(out, s)
			continue
		}
		last := &out[len(out)-1]
		last.to = max(last.to, s.to)
		if last.generic && !s.generic {
			last.id, last.generic, last.match = s.id, false, s.match
		}
	}
	return out
}

// entropyOf is Shannon's, in bits for a character.
func entropyOf(text string) float64 {
	counts := map[rune]int{}
	for _, r := range text {
		counts[r]++
	}
	bits, n := 0.0, float64(len(text))
	for _, count := range counts {
		share := float64(count) / n
		bits -= share * math.Log2(share)
	}
	return bits
}
