package effects

import "strings"

// How the tables of programs speak of options. A table is a text of entries with a blank between them:
//
//	entry = names [ "=" [ "?" ] [ use ] ] { mark }
//	names = name { "|" name }
//
// A name of one letter is a short option, a longer one a long option; the names of an entry mean the same. "=" says that
// the option takes a value, "=?" that it takes one only in its own word. The use says what the value is:
//
//	-  nothing that we judge, as when there is none
//	r  a file that is read
//	w  a file that is written; d: and everything below it; b: it is read, too; m: read, written and everything below it
//	D  the folder in which the command works
//	s  a text for a shell
//	c  code in another language
//	u  a URL, or host:path; U: or a host without a scheme; h: a host
//	l  host:path or a file that is read; L: or a file that is written
//	g  git's way to name a file that is read: PATH or REV:PATH
//	@  curl's way to name a file that is read: @FILE, NAME@FILE, NAME=@FILE
//	k  NAME=FILE or a file that is read
//	v  docker's HOST:CONTAINER[:ro]; V: its type=bind,src=HOST,…
//	a  an argument of a program that is not known: a file that is read, if it is no option
//	E  what decides over other programs that are run, so that nobody can tell which
//
// and a mark what the option does to the operands:
//
//	!       it takes the place of the first one
//	$       it takes the place of the last one
//	^USE    they have that use too
//	:SHAPE  they have that shape instead
//
// A shape says what the operands are: a use for each, of which one may have "*" behind it, for any number. The use x
// is a command that is started; the words behind it are its own.

// style is how a program takes its words.
type style uint16

const (
	stops    style = 1 << iota // options end at the first operand
	oneDash                    // -name is a long option: go, find, openssl
	inherits                   // the options of the program hold behind its subcommand, too
	assigns                    // NAME=VALUE may stand before a command that is started
	fromIn                     // words of the standard input are added to the command that is started
	dashed                     // what stands behind -- is a command that is started
	names                      // words are names, even if they look like paths
	folds                      // the case of long options does not count
	slashes                    // options begin with a slash, too, and case does not count: cmd
)

// program is what is known of a program, or of a subcommand.
type program struct {
	options  string
	operands string // a shape
	style    style
	stdin    stdinUse

	// sub returns the usual name of a subcommand, and what is known of it; "" where there is no such subcommand.
	sub func(name string) (string, program)

	// more is what the tables cannot say.
	more func(*call)
}

// kind is what a token is.
type kind uint8

const (
	operandToken kind = iota
	optionToken
	subToken // an operand that is a subcommand
)

// token is an option of a command with its value, or an operand.
type token struct {
	kind   kind
	names  string // of an option, as in the table; of a subcommand the usual name
	says   string // what the table says behind the names of an option
	value  Word   // of an option; of an operand the word itself
	valued bool   // an option has a value
	listed bool   // an option is in the table
	global bool   // an option of the program, not of its subcommand
	short  bool   // an option with one dash
	loose  bool   // a word that may become options, or an option that may be any
	behind bool   // stands behind --
	at     int    // the index of its word
	end    int    // the index of the word behind it
}

// reading is how the words of a command are read.
type reading struct {
	words  []Word
	tokens []token
	tables [3]string // the options that hold where we are: of the innermost subcommand first
	known  int       // how many of tables
	inner  program   // of the innermost subcommand
	ended  bool      // -- was read, or an operand that ends the options
	dashes int       // the index of --, 0 if there is none
}

// read reads the words behind a program. The tokens are appended to buf.
func read(p program, words []Word, buf []token) reading {
	r := reading{words: words, tokens: buf, inner: p}
	r.tables[0], r.known = p.options, 1
	for i := 1; i < len(words); {
		i = r.word(i)
	}
	return r
}

// word reads the word at i, and returns the index of the next one.
func (r *reading) word(i int) int {
	w := r.words[i]
	text := w.Text
	switch {
	case r.ended || text == "" || text == "-":
		return r.operand(i)
	case text == "--":
		if r.inner.sub == nil { // of "npm -- publish" the subcommand is still to come
			r.ended, r.dashes = true, i
		}
		return i + 1
	case r.inner.style&slashes != 0 && text[0] == '/' && len(text) > 1:
		return r.long(i, lower(text[1:]))
	case text[0] != '-':
		return r.operand(i)
	case strings.HasPrefix(text, "--"):
		return r.long(i, text[2:])
	case r.inner.style&oneDash != 0:
		return r.long(i, text[1:])
	}
	return r.cluster(i, text[1:])
}

// operand reads a word that is no option.
func (r *reading) operand(i int) int {
	w := r.words[i]
	t := token{kind: operandToken, value: w, behind: r.dashes > 0, at: i, end: i + 1, loose: !r.ended && w.loose()}
	if r.inner.sub != nil {
		name, p := r.inner.sub(w.Text)
		if name != "" {
			t.kind, t.names = subToken, name
			r.enter(p)
		} else {
			r.enter(program{operands: r.inner.operands, style: r.inner.style &^ stops, more: r.inner.more})
		}
	} else if r.inner.style&stops != 0 && !(r.inner.style&assigns != 0 && strings.Contains(w.Text, "=")) {
		r.ended = true
	}
	r.tokens = append(r.tokens, t)
	return i + 1
}

// enter goes on with what is known of a subcommand.
func (r *reading) enter(p program) {
	outer := r.tables
	n := r.known
	if r.inner.style&inherits == 0 {
		n = 0
	}
	r.tables[0], r.known = p.options, 1
	for i := 0; i < n && r.known < len(r.tables); i++ {
		r.tables[r.known] = outer[i]
		r.known++
	}
	p.style |= r.inner.style & (inherits | oneDash | names)
	r.inner = p
}

// long reads the long option at i, without its dashes.
func (r *reading) long(i int, text string) int {
	name, value, valued := strings.Cut(text, "=")
	if r.inner.style&folds != 0 {
		name = lower(name)
	}
	t := token{kind: optionToken, names: name, at: i, end: i + 1, global: r.inner.sub != nil}
	unknown := unknownAt(name)
	if unknown >= 0 {
		t.names, t.loose, valued = name[:unknown], true, false
	} else if entry, table := r.find(name, true); entry != "" {
		t.names, t.says = splitEntry(entry)
		t.listed, t.global = true, t.global || table > 0
	}
	if valued {
		t.value, t.valued = Word{Text: value, Splits: r.words[i].Splits}, true
	} else if strings.HasPrefix(t.says, "=") && !strings.HasPrefix(t.says, "=?") && i+1 < len(r.words) {
		t.value, t.valued, t.end = r.words[i+1], true, i+2
	}
	r.tokens = append(r.tokens, t)
	return t.end
}

// cluster reads the short options of the word at i, without their dash.
func (r *reading) cluster(i int, text string) int {
	for j := 0; j < len(text); j++ {
		t := token{kind: optionToken, names: text[j : j+1], at: i, end: i + 1, global: r.inner.sub != nil, short: true}
		if strings.IndexByte(unknownBytes, text[j]) >= 0 {
			t.names, t.loose = "", true
			r.tokens = append(r.tokens, t)
			return i + 1
		}
		entry, table := r.find(t.names, false)
		if entry == "" {
			if r.known == 1 && r.tables[0] == "" { // nothing is known of it: the word may be one option
				t.names = text[j:]
				name, value, valued := strings.Cut(t.names, "=")
				if valued {
					t.names, t.value, t.valued = name, Word{Text: value, Splits: r.words[i].Splits}, true
				}
				r.tokens = append(r.tokens, t)
				return i + 1
			}
			r.tokens = append(r.tokens, t)
			continue
		}
		t.names, t.says = splitEntry(entry)
		t.listed, t.global = true, t.global || table > 0
		if strings.HasPrefix(t.says, "=") {
			switch {
			case j+1 < len(text):
				t.value, t.valued = Word{Text: strings.TrimPrefix(text[j+1:], "="), Splits: r.words[i].Splits}, true
			case !strings.HasPrefix(t.says, "=?") && i+1 < len(r.words):
				t.value, t.valued, t.end = r.words[i+1], true, i+2
			}
			r.tokens = append(r.tokens, t)
			return t.end
		}
		r.tokens = append(r.tokens, t)
	}
	return i + 1
}

// find returns the entry of an option, and in which of the tables it stands.
func (r *reading) find(name string, long bool) (entry string, table int) {
	for i, options := range r.tables[:r.known] {
		if entry := findOption(options, name); entry != "" {
			return entry, i
		}
	}
	if long {
		for i, options := range r.tables[:r.known] {
			if entry := findAbbreviated(options, name); entry != "" {
				return entry, i
			}
		}
	}
	return "", 0
}

// findOption returns the entry that has a name, or "".
func findOption(table, name string) string {
	for at := 0; name != ""; {
		i := strings.Index(table[at:], name)
		if i < 0 {
			return ""
		}
		i += at
		at = i + 1
		end := i + len(name)
		if (i == 0 || table[i-1] == ' ' || table[i-1] == '|') && (end == len(table) || isNameEnd(table[end])) {
			start := strings.LastIndexByte(table[:i], ' ') + 1
			if stop := strings.IndexByte(table[i:], ' '); stop >= 0 {
				return table[start : i+stop]
			}
			return table[start:]
		}
	}
	return ""
}

// isNameEnd reports whether a byte of a table stands behind a name.
func isNameEnd(b byte) bool { return strings.IndexByte(" |=!$^:", b) >= 0 }

// findAbbreviated returns the only entry that has a long name which begins so, or "".
func findAbbreviated(table, name string) (found string) {
	if name == "" {
		return ""
	}
	for len(table) > 0 {
		var entry string
		entry, table, _ = strings.Cut(table, " ")
		names, _ := splitEntry(entry)
		if !begins(names, name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = entry
	}
	return found
}

// splitEntry parts an entry into its names and what it says of them.
func splitEntry(entry string) (names, says string) {
	for i := 0; i < len(entry); i++ {
		switch entry[i] {
		case '=', '!', '$', '^', ':':
			return entry[:i], entry[i:]
		}
	}
	return entry, ""
}

// hasName reports whether a name is one of those of an entry.
func hasName(names, name string) bool {
	if !strings.Contains(names, name) { // most are told apart here
		return false
	}
	for len(names) > 0 {
		var one string
		one, names, _ = strings.Cut(names, "|")
		if one == name {
			return true
		}
	}
	return false
}

// begins reports whether a long name of an entry begins with a text.
func begins(names, text string) bool {
	for len(names) > 0 {
		var one string
		one, names, _ = strings.Cut(names, "|")
		if len(one) > 1 && strings.HasPrefix(one, text) {
			return true
		}
	}
	return false
}

// unknownBytes are those that stand for what is not known.
const unknownBytes = "\xff\xfe\xfd"

// unknown reports whether a part of the word is not known.
func (w Word) unknown() bool { return hasUnknown(w.Text) }

// loose reports whether the word may become options, or no word at all. What a shell finds for a pattern of file names
// is taken for names, and so is an expansion within a path.
func (w Word) loose() bool {
	i := strings.IndexByte(w.Text, anyText)
	if !w.Splits || i < 0 || i > 0 && w.Text[0] != '-' {
		return false
	}
	return !strings.HasPrefix(w.Text[i+1:], "/")
}
