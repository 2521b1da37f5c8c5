package effects

import "strings"

// searchesHere judges a search that names no files but goes through all that is below.
func searchesHere(c *call) {
	if first, _, _ := strings.Cut(c.shape, "r"); len(c.operands) > len(first) {
		return
	}
	recursive := c.program == "rg"
	for _, t := range c.tokens {
		recursive = recursive || t.kind == optionToken && (t.names == "r|recursive" || t.names == "R|dereference-recursive")
	}
	if recursive && c.shape != "" {
		c.use('r', Word{Text: "."})
	}
}

// searchesFor judges a search, and the names to which it is narrowed: grep -r --include=.env.
func searchesFor(c *call) {
	if c.program != "ag" && c.program != "ack" && c.program != "pt" && c.program != "sift" {
		searchesHere(c)
	}
	for _, t := range c.tokens {
		if t.kind != optionToken || !t.valued {
			continue
		}
		switch t.names {
		case "include", "g|glob", "iglob":
			c.narrowed(globBytes(t.value.Text))
		case "G|file-search-regex":
			c.narrowed(regexBytes(t.value.Text, false))
		}
	}
}

// narrowed adds the files of a name that stand in the folders that are searched.
func (c *call) narrowed(name string) {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if strings.HasPrefix(name, "!") || isOnlyUnknown(name) {
		return
	}
	roots := c.operands
	if strings.HasPrefix(c.shape, "-") && len(roots) > 0 {
		roots = roots[1:]
	}
	if len(roots) == 0 {
		roots = []Word{{Text: "."}}
	}
	for _, root := range roots {
		c.use('r', Word{Text: strings.TrimSuffix(root.Text, "/") + "/" + name})
	}
}

// isOnlyUnknown reports whether nothing of a name is known.
func isOnlyUnknown(name string) bool {
	for i := range len(name) {
		if strings.IndexByte(unknownBytes, name[i]) < 0 {
			return false
		}
	}
	return true
}

// regexBytes returns a name that a regular expression matches, with the bytes that stand for what is not known. Whole
// says that the expression matches all of a text, and not only a part of it.
func regexBytes(pattern string, whole bool) string {
	const any = "\xfe"
	if strings.ContainsAny(pattern, "|(") {
		return any
	}
	start, begins := strings.CutPrefix(pattern, "^")
	start, ends := strings.CutSuffix(start, "$")
	var b strings.Builder
	if !whole && !begins && !strings.HasPrefix(start, `\.`) { // a wildcard does not stand for the dot of a hidden file

		b.WriteString(any)
	}
	for i := 0; i < len(start); i++ {
		switch ch := start[i]; {
		case ch == '\\' && i+1 < len(start):
			if i++; isNameByte(start[i]) {
				b.WriteByte(anyName)
			} else {
				b.WriteByte(start[i])
			}
		case ch == '[' && strings.IndexByte(start[i:], ']') > 0:
			i += strings.IndexByte(start[i:], ']')
			b.WriteByte(anyRune)
		case ch == '.' && i == 0 && begins: // most likely the dot is meant
			b.WriteByte('.')
		case ch == '.' && (i+1 == len(start) || strings.IndexByte("*+?{", start[i+1]) < 0):
			b.WriteByte(anyRune)
		case strings.IndexByte(".*+?{}", ch) >= 0:
			b.WriteByte(anyName)
		default:
			b.WriteByte(ch)
		}
	}
	if !whole && !ends {
		b.WriteString(any)
	}
	return b.String()
}

// yqLoads judges the files that an expression of yq loads: load("FILE").
func yqLoads(c *call) {
	for _, w := range c.operands {
		_, rest, found := strings.Cut(w.Text, "load")
		if _, rest, open := strings.Cut(rest, "(\""); found && open {
			path, _, _ := strings.Cut(rest, "\"")
			c.use('r', Word{Text: path})
		}
	}
}

// patchInput judges a patch that comes in.
func patchInput(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && strings.HasPrefix(t.names, "i|") {
			return
		}
	}
	if len(c.operands) < 2 {
		c.stdin = stdinPatch
	}
}
