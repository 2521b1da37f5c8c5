package cli

import (
	"strconv"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

// attacksOnTerminals are texts that an agent could try: each would do something to the terminal that shows it.
var attacksOnTerminals = []string{
	"\x1b]0;title\x07", "\x1b[2J\x1b[H", "\u009b2J", "a\rb", "a\nType yes to go on: ", "\x1b]52;c;cm0gLXJm\x07", "\x08\x08\x08",
	"\u202egnp.exe", "\u2066hidden\u2069", "zero\u200bwidth", "\x7f", "\xff\xfe", "\U000e0041tag", "\u2028",
}

func isCalm(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// TestPrintableReachesTerminalsCalmly shows what an agent could have put into arguments and reasons.
func TestPrintableReachesTerminalsCalmly(t *testing.T) {
	for _, attack := range attacksOnTerminals {
		if isCalm(attack) && !strings.Contains(attack, "\xff") {
			t.Errorf("%q attacks nothing", attack)
		}
		if got := printable(attack); !isCalm(got) {
			t.Errorf("printable(%q): got %q", attack, got)
		}
	}
	for _, text := range []string{"plain", "a b", `quo"te \`, "Grüße, 日本 👍"} {
		if got := printable(text); got != text {
			t.Errorf("got %q, want it unchanged: %q", got, text)
		}
	}
}

// TestPrintableJSONIsTheSameValue escapes in JSON, and changes no value by it.
func TestPrintableJSONIsTheSameValue(t *testing.T) {
	for _, attack := range append(attacksOnTerminals, "plain", "日本 👍", `quo"te \`) {
		if strings.Contains(attack, "\xff") {
			continue // no JSON holds it
		}
		text := canon.AppendString(nil, attack)
		got := printableJSON(text)
		if !isCalm(got) {
			t.Errorf("printableJSON(%q): got %q", text, got)
		}
		v, err := canon.Parse([]byte(got))
		if err != nil {
			t.Errorf("%q became %s: %v", attack, got, err)
			continue
		}
		if back, _ := v.Text(); back != attack {
			t.Errorf("%q became %q", attack, back)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	for _, attack := range attacksOnTerminals {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := printable(s); !isCalm(got) {
			t.Errorf("printable(%q): got %q", s, got)
		}
	})
}
