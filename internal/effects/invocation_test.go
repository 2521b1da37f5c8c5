package effects

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shellWords parts a command at its blanks, as a shell would: $X is an expansion that may split, "$X" one that may not, and
// * outside quotes stands for names.
func shellWords(text string) []Word {
	var words []Word
	var w Word
	var quote byte
	started := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == quote:
			quote = 0
		case ch == '$' && quote != '\'' && strings.HasPrefix(text[i+1:], "X"):
			w.Text += string([]byte{anyText})
			w.Splits = w.Splits || quote == 0
			started = true
			i++
		case quote != 0:
			w.Text += string(ch)
		case ch == '\'' || ch == '"':
			quote, started = ch, true
		case ch == '*':
			w.Text += string([]byte{anyName})
			started = true
		case ch == ' ':
			if started {
				words, w, started = append(words, w), Word{}, false
			}
		default:
			w.Text += string(ch)
			started = true
		}
	}
	if started {
		words = append(words, w)
	}
	return words
}

// spell writes words for people: unknown parts as ?, blanks within a word as _.
func spell(words ...Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = strings.NewReplacer("\xff", "?", "\xfe", "*", "\xfd", ".", " ", "_", "\n", "/n").Replace(w.Text)
	}
	return strings.Join(texts, " ")
}

// describe says what an invocation does, in the order of its fields.
func describe(does invocation) string {
	var said []string
	for _, s := range does.started {
		kind := "run: "
		if s.stdin {
			kind = "run with words: "
		}
		said = append(said, kind+spell(s.words...))
	}
	for _, w := range does.shell {
		said = append(said, "shell: "+spell(w))
	}
	for _, w := range does.code {
		said = append(said, "code: "+spell(w))
	}
	for _, o := range does.operands {
		kind := ""
		if o.read {
			kind = "read"
		}
		if o.write {
			kind += "write"
		}
		if o.deep {
			kind += " all"
		}
		said = append(said, kind+" "+spell(o.word))
	}
	for _, host := range does.hosts {
		said = append(said, "host "+host)
	}
	said = append(said, [...][]string{nil, {"stdin is shell"}, {"stdin is code"}, {"stdin is words"}, {"stdin is query"}, {"stdin is patch"}, {"stdin is names"}}[does.stdin]...)
	if does.dir != nil {
		said = append(said, map[bool]string{true: "move to ", false: "in "}[does.moves]+spell(*does.dir))
	}
	if does.opaque != "" {
		said = append(said, "opaque")
	}
	return strings.Join(said, "; ")
}

func TestInvoke(t *testing.T) {
	for _, test := range slices.Concat(invokeFilesTests, invokeStartTests, invokeToolsTests) {
		if diff := cmp.Diff(test.want, describe(invoke(shellWords(test.command)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.command, diff)
		}
	}
}

type invokeTest struct{ command, want string }
