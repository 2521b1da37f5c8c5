package pretool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxPersona is how long a persona block may be, in bytes.
	maxPersona = 64 << 10

	// maxTokens is how many words and marks of YAML a block may have to be parsed. It bounds the depth, too.
	maxTokens = 1024
)

// persona is what a prompt's block says.
type persona struct {
	agents  map[string]bool // lower-case; more than one if the key stands there twice
	skills  []string        // lower-case, in the order of the block, each once
	known   map[string]bool // the skills
	invalid string          // what stands in the place of a skill's name and is none
}

// readPersona reads the block of a prompt whose lines end in "\n". It says what is wrong where the block does not name
// at least one skill.
func readPersona(prompt string) (p persona, problem string) {
	block, problem := personaBlock(prompt)
	if problem != "" {
		return persona{}, problem
	}
	p, ok := readYAML(block)
	if !ok {
		p = readLoosely(block)
	}
	switch {
	case p.invalid != "":
		return persona{}, fmt.Sprintf("its skills: holds %.80q, which is not the name of a skill", p.invalid)
	case len(p.skills) == 0:
		return persona{}, "it has no skills: field, or an empty one"
	}
	return p, ""
}

// personaBlock returns what stands between the marker and the line of dashes that closes the block.
func personaBlock(prompt string) (block, problem string) {
	rest := afterMarker(prompt)
	end := 0
	for line := range strings.Lines(rest) {
		if isRule(line) {
			return rest[:end], ""
		}
		if end += len(line); end > maxPersona {
			return "", fmt.Sprintf("the block is never closed within %d KiB; close it with a line ---", maxPersona>>10)
		}
	}
	return "", "the block is never closed; close it with a line ---"
}

// afterMarker returns what follows the marker: the first one that has a line to itself, so that a prompt may mention
// it before, or else the first one.
func afterMarker(prompt string) string {
	end := 0
	for line := range strings.Lines(prompt) {
		end += len(line)
		if strings.TrimSpace(line) == personaMarker {
			return prompt[end:]
		}
	}
	_, rest, _ := strings.Cut(prompt, personaMarker)
	return strings.TrimLeft(rest, "-")
}

// isRule reports whether a line consists of three or more dashes.
func isRule(line string) bool {
	line = strings.TrimRight(line, " \t\n")
	return len(line) >= 3 && strings.Trim(line, "-") == ""
}

// readYAML reads a block that is YAML: a mapping, or several documents that are, so that nothing hides in a second one. It
// does not build the values that aliases stand for, so a small block stays small.
//
// The parser takes time that grows with the square of what it is given, fails on some directives, and ignores what
// follows two document markers in a row. So it is given one document at a time, and none from a block that has a
// directive or very many tokens.
func readYAML(block string) (p persona, ok bool) {
	tokens := lexer.Tokenize(block)
	if len(tokens) > maxTokens {
		return persona{}, false
	}
	anchors := &anchors{nodes: map[string]ast.Node{}}
	for len(tokens) > 0 {
		end := slices.IndexFunc(tokens, isDocumentMarker)
		if end < 0 {
			end = len(tokens)
		}
		if !p.addDocument(tokens[:end], anchors) {
			return persona{}, false
		}
		tokens = tokens[min(end+1, len(tokens)):]
	}
	return p, true
}

func isDocumentMarker(t *token.Token) bool {
	return t.Type == token.DocumentHeaderType || t.Type == token.DocumentEndType
}

// addDocument adds what a document says. It reports whether that is a mapping, or nothing.
func (p *persona) addDocument(tokens token.Tokens, anchors *anchors) bool {
	if slices.ContainsFunc(tokens, func(t *token.Token) bool { return t.Type == token.DirectiveType }) {
		return false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return false
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		ast.Walk(anchors, doc.Body)
		mapping, ok := bare(doc.Body).(*ast.MappingNode)
		if !ok || anchors.broken {
			return false
		}
		p.addFields(mapping)
	}
	return true
}

// anchors are the nodes that aliases may stand for. As a visitor, it makes the value of each alias the node of the last
// anchor before it.
type anchors struct {
	nodes  map[string]ast.Node // bare, and no aliases
	broken bool                // an alias has no anchor, or an anchor is on an alias
}

func (a *anchors) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.AnchorNode:
		value := bare(n.Value)
		if _, ok := value.(*ast.AliasNode); ok {
			a.broken = true
			return nil
		}
		a.nodes[text(n.Name)] = value
	case *ast.AliasNode:
		value, ok := a.nodes[text(n.Value)]
		if !ok {
			a.broken = true
			return nil
		}
		n.Value = value
		return nil // what it stands for has been visited
	}
	return a
}

// addFields adds what the keys and values of a mapping say.
func (p *persona) addFields(mapping *ast.MappingNode) {
	for _, member := range mapping.Values {
		value := named(member.Value)
		switch key := text(named(member.Key)); {
		case strings.EqualFold(key, "agent"):
			p.addAgent(text(value))
			for _, item := range items(value) {
				p.addAgent(text(named(item)))
			}
		case strings.EqualFold(key, "skills"):
			p.addSkills(value)
		}
	}
}

// addSkills declares what a node of YAML lists.
func (p *persona) addSkills(value ast.Node) {
	switch n := value.(type) {
	case *ast.SequenceNode:
		for _, item := range n.Values {
			switch item = named(item); item.(type) {
			case *ast.SequenceNode, *ast.MappingNode:
				p.invalid = "a list or a mapping"
			default:
				for name := range strings.SplitSeq(text(item), ",") {
					p.declare(strings.TrimSpace(name))
				}
			}
		}
	case *ast.MappingNode:
		p.invalid = "a mapping"
	default:
		p.declare(words(text(value))...)
	}
}

// named returns the node that an alias stands for, any other bare.
func named(node ast.Node) ast.Node {
	node = bare(node)
	if alias, ok := node.(*ast.AliasNode); ok {
		return alias.Value
	}
	return node
}

// bare returns a node without its anchor, its tag and the mark of a key.
func bare(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		case *ast.MappingKeyNode:
			node = n.Value
		default:
			return node
		}
	}
}

// text returns what a scalar says, and "" for null and for what is no scalar.
func text(node ast.Node) string {
	switch n := node.(type) {
	case *ast.LiteralNode:
		return n.Value.Value
	case nil, *ast.NullNode, *ast.SequenceNode, *ast.MappingNode:
		return ""
	}
	return node.GetToken().Value
}

// items returns what stands in a list, or the keys and values of a mapping.
func items(node ast.Node) []ast.Node {
	switch n := node.(type) {
	case *ast.SequenceNode:
		return n.Values
	case *ast.MappingNode:
		var items []ast.Node
		for _, member := range n.Values {
			items = append(items, member.Key, member.Value)
		}
		return items
	}
	return nil
}

// readLoosely reads a block that is not YAML, or that the parser cannot read, line by line, as a person would. When in
// doubt, it takes for a skill what may be one.
func readLoosely(block string) (p persona) {
	var inList, inBrackets, inText bool // within the skills
	for line := range strings.Lines(block) {
		text := strings.TrimSpace(withoutComment(line))
		item, isItem := strings.CutPrefix(text, "-")
		key, value, isField := field(item)
		if isItem && inList && key != "agent" && key != "skills" {
			isField = false // a name that has a colon
		}
		switch {
		case text == "":
		case isField && key == "skills":
			p.declare(words(value)...)
			inBrackets = isOpen(value)
			inList = value == ""
			inText = !strings.HasSuffix(value, "]")
		case isField:
			if key == "agent" {
				p.addAgent(strings.Trim(value, "\"'` "))
			}
			inList, inBrackets, inText = false, false, false
		case inBrackets:
			p.declare(words(text)...)
			inBrackets = !strings.Contains(text, "]")
		case inList && isItem:
			p.declare(words(item)...)
		case inText && strings.HasPrefix(line, " "):
			p.declare(words(text)...) // goes on from the line before
		}
	}
	return p
}

// isOpen reports whether an inline list goes on in the next line.
func isOpen(list string) bool {
	return strings.HasPrefix(list, "[") && !strings.Contains(list, "]") || strings.HasSuffix(list, ",")
}

// field splits a line "key: value"; the key is one word, given in lower case, without an anchor, a tag or other marks.
func field(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, ":")
	for key = strings.TrimSpace(key); key != "" && strings.ContainsAny(key[:1], "&!?-"); {
		_, key, _ = strings.Cut(key, " ")
		key = strings.TrimSpace(key)
	}
	key = strings.ToLower(strings.Trim(key, "\"'`*{ \t"))
	return key, strings.TrimSpace(value), ok && key != "" && !strings.ContainsAny(key, " \t[],")
}

// withoutComment cuts a line where a comment of YAML begins.
func withoutComment(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
		return ""
	}
	if i := strings.Index(line, " #"); i >= 0 {
		return line[:i]
	}
	return line
}

// words splits a list that is written in one text.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool {
		return strings.ContainsRune("[],\"'` \t\n", r)
	})
}

func (p *persona) addAgent(name string) {
	if p.agents == nil {
		p.agents = map[string]bool{}
	}
	p.agents[strings.ToLower(strings.TrimSpace(name))] = true
}

// declare adds skills.
func (p *persona) declare(names ...string) {
	for _, name := range names {
		name = strings.ToLower(name)
		switch {
		case name == "" || p.known[name]:
		case !isSkillName(name):
			p.invalid = name
		default:
			if p.known == nil {
				p.known = map[string]bool{}
			}
			p.known[name] = true
			p.skills = append(p.skills, name)
		}
	}
}

// unread returns the declared skills that no line of the prompt has read.
func (p *persona) unread(prompt string) []string {
	read := map[string]bool{} // of the known ones, so that a long prompt costs no memory
	for name := range libraryPaths(prompt, "skills", "SKILL.md") {
		if name = strings.ToLower(name); p.known[name] {
			read[name] = true
		}
	}
	var missing []string
	for _, skill := range p.skills {
		if !read[skill] {
			missing = append(missing, skill)
		}
	}
	return missing
}
