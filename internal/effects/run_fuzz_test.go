package effects

import (
	"slices"
	"testing"
)

// FuzzInvoke holds that any words can be judged, and that of a program that is not known only reads are said.
func FuzzInvoke(f *testing.F) {
	for _, test := range slices.Concat(invokeFilesTests, invokeStartTests, invokeToolsTests) {
		f.Add(test.command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words := shellWords(command)
		does := invoke(words)
		for _, s := range does.started {
			if len(s.words) == 0 {
				t.Errorf("%q starts a command without words", command)
			}
		}
		for _, o := range does.operands {
			if o.word.Text == "" || !o.read && !o.write {
				t.Errorf("%q names a file %q, and does nothing with it", command, o.word.Text)
			}
		}
		if len(words) == 0 {
			return
		}
		words = append([]Word{{Text: "no-such-program"}}, words[1:]...)
		does = invoke(words)
		if len(does.started)+len(does.shell)+len(does.code) > 0 || does.opaque != "" || does.dir != nil {
			t.Errorf("%q does more than read and reach", command)
		}
		for _, o := range does.operands {
			if !o.read || o.write {
				t.Errorf("%q writes %q", command, o.word.Text)
			}
		}
		c := &Command{Words: words}
		if got := c.Subcommand(); got != "no-such-program" {
			t.Errorf("subcommand %q of a program that is not known", got)
		}
	})
}

// FuzzRunPattern holds that a pattern matches the command that it spells, and what it covers.
func FuzzRunPattern(f *testing.F) {
	for _, test := range matchTests {
		f.Add(test.pattern, test.command, "os.system('"+test.command+"')")
	}
	f.Fuzz(func(t *testing.T, pattern, command, code string) {
		p, err := ParseRun(pattern)
		if err != nil {
			return
		}
		words, err := patternWords(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(words); n > 1 && words[n-1].Text == "*" {
			words = words[:n-1]
		}
		if got := p.Match(&Command{Words: words}); got != Yes {
			t.Errorf("%q matches what it spells: %v", pattern, got)
		}
		c := &Command{Words: shellWords(command), Code: code}
		match, covers := p.Match(c), p.Covers(c)
		if covers && match != Yes {
			t.Errorf("%q covers %q, and does not match it: %v", pattern, command, match)
		}
		if key := p.Program(); key != "" && match != No && code == "" && key != c.Program() {
			t.Errorf("%q matches %q, a program %q", pattern, command, c.Program())
		}
	})
}

// BenchmarkJudge reads a command of 200 characters and matches it with 50 patterns.
func BenchmarkJudge(b *testing.B) {
	words := shellWords("git -C /work/repository -c user.name=somebody commit --all --message 'a message that says in one sentence what was done, and why it was done so, at some length' --no-verify --signoff src/main.go src/x.go")
	var patterns []*RunPattern
	for _, test := range matchTests[:50] {
		p, err := ParseRun(test.pattern)
		if err != nil {
			b.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	b.ReportAllocs()
	for b.Loop() {
		invoke(words)
		c := &Command{Words: words}
		for _, p := range patterns {
			p.Match(c)
		}
	}
}

// BenchmarkParseRun reads 50 patterns.
func BenchmarkParseRun(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, test := range matchTests[:50] {
			if _, err := ParseRun(test.pattern); err != nil {
				b.Fatal(err)
			}
		}
	}
}
