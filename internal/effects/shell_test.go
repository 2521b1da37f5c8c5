package effects

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// described returns effects as texts: "run rm -rf x", "read /wd/a", "write! /wd/b", "opaque run".
func described(effects []Effect) []string {
	said := make([]string, len(effects))
	for i, e := range effects {
		verb := [...]string{"run", "read", "write", "connect", "spawn"}[e.Kind]
		if e.Deep {
			verb += "!"
		}
		switch {
		case e.Opaque != "":
			said[i] = "opaque " + verb
		case e.Kind == Run:
			words := make([]string, len(e.Command.Words))
			for j, w := range e.Command.Words {
				words[j] = shown(w.Text)
				if w.Splits {
					words[j] += "…"
				}
			}
			said[i] = verb + " " + strings.Join(words, " ")
			if e.Command.Code != "" {
				said[i] += " {" + shown(e.Command.Code) + "}"
			}
		case e.Kind == Connect:
			said[i] = verb + " " + e.Host
		default:
			said[i] = verb + " " + shown(e.Path.Forms[0])
		}
	}
	return said
}

// shown returns a text with signs for what is not known.
func shown(text string) string {
	return strings.NewReplacer("\xff", "⁇", "\xfe", "∗", "\xfd", "¿", "\n", "⏎").Replace(text)
}

func TestShell(t *testing.T) {
	unreadable := []string{"opaque run", "opaque read", "opaque write"}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"one command", "true a 'b c'", []string{"run true a b c"}},
		{"wrappers are runs, too", "sudo nice true x", []string{"run sudo nice true x", "run nice true x", "run true x"}},
		{"quotes and escapes", `true 'a\b' "c\d\"" e\f $'\x67\150\u69'`, []string{`run true a\b c\d" ef ghi`}},
		{"braces", "true {a,b{c,d}}e {1..3} {a} {}", []string{"run true ae bce bde 1 2 3 {a} {}"}},
		{"wildcards", `true *.go a?b [a-c]c [!x] '*' \* [`, []string{"run true ∗.go a¿b ¿c ¿ * * ["}},
		{"homes", `true ~ ~/a "~" a~ "$HOME" ${HOME}/b`, []string{"run true /hm /hm/a ~ a~ /hm /hm/b"}},
		{"what every shell knows", `true $PWD $USER $? $$ -$#`, []string{"run true /wd dev ∗ ∗ -0"}},
		{"constants", `a=b; c="$a d"; true $a "$a" $c "$c"`, []string{"run true b b b d b d"}},
		{"unknown words", `true $a "$a" x$b "$@"`, []string{"run true ⁇… ⁇ x⁇… ⁇…"}},
		{"names that a program lists are no options", `true $(git branch) "$(git branch)"`,
			[]string{"run git branch", "run git branch", "run true ⁇ ⁇"}},
		{"output that is known", "true $(echo a b) \"$(printf '%s-%d' c 1)\"", []string{"run echo a b", "run printf %s-%d c 1", "run true a b c-1"}},
		{"several values", "if false; then a=b; elif false; then a=c; else a=d; fi; true $a", []string{"run false", "run false", "run true b", "run true c", "run true d"}},
		{"the same value for the whole command", "for a in b c; do true $a $a; done", []string{"run true b b", "run true c c"}},
		{"a later value", "a=b; a=c; true $a", []string{"run true c"}},
		{"arrays", `a=(b 'c d'); a+=(e); true "${a[@]}" ${a[1]} "${a[@]:1}"`, []string{"run true b c d e c d c d e"}},
		{"defaults", `true ${a:-b} ; a=c; true ${a:-b} ${a:+d}`, []string{"run true b", "run true ⁇…", "run true c d"}},
		{"what is done to a value", `a=b/c.go; true ${a##*/} ${a%.go} ${a/c/d} ${a^^} ${a:0:1} ${#a}`, []string{"run true c.go b/c b/d.go B/C.GO b ∗"}},
		{"prefixes are set for one command", "a=b true $a; true $a", []string{"run true ⁇…", "run true ⁇…"}},
		{"prefixes are seen by code", `a=b sh -c 'true $a'`, []string{"run sh -c true $a", "run true b"}},
		{"functions with their arguments", `f() { true "$2" "$@"; }; f a b`, []string{"run f a b", "run true b a b"}},
		{"functions that nobody calls", `f() { true $1; }`, []string{"run true ⁇…"}},
		{"local variables", "a=b; f() { local a=c; true $a; }; f; true $a", []string{"run f", "run true c", "run true b"}},
		{"subshells forget", "a=b; (a=c; true $a); true $a", []string{"run true c", "run true b"}},
		{"loops remember", "a=b; while true $a; do a=c; done", []string{"run true b", "run true c"}},
		{"redirections stand for themselves", "true >a 2>>b <c <>d &>e", []string{"write /wd/a", "write /wd/b", "read /wd/c", "read /wd/d", "write /wd/d", "write /wd/e", "run true"}},
		{"the last redirection gets what is said", "echo false >a >/dev/null; sh a", []string{"write /wd/a", "run echo false", "run sh a", "read /wd/a", "run a"}},
		{"no files", "true >/dev/null 2>&1 <&3 3>&- >&2 </dev/stdin", []string{"run true"}},
		{"connections", "true >/dev/tcp/Example.com/80", []string{"connect example.com:80", "run true"}},
		{"a connection to nobody", "true >/dev/tcp//80", []string{"write /dev/tcp/80", "run true"}},
		{"process substitutions are no files", "cat <(true) > >(false)", []string{"run false", "run true", "run cat /dev/fd/sub1"}},
		{"here-documents are data", "cat <<E\ntrue $(false)\nE", []string{"run false", "run cat"}},
		{"here-documents for shells are code", "sh <<E\ntrue\nE", []string{"run sh", "run true"}},
		{"here-documents for others are their code", "python3 - <<'E'\nx\nE", []string{"run python3 - {x⏎}"}},
		{"pipes into shells", "echo true a | sh", []string{"run echo true a", "run sh", "run true a"}},
		{"pipes of which nothing is known", "date | sh", []string{"run date", "run sh", "opaque run"}},
		{"scripts are files that are read", "sh <a; sh b; . ./c", []string{"read /wd/a", "run sh", "run sh b", "read /wd/b", "run b", "run . ./c", "read /wd/c", "run ./c"}},
		{"code that is known in part", `bash -c "true $x"`, []string{"run bash -c true ⁇", "run true ⁇…"}},
		{"code of which nothing is known", `eval "$x"`, []string{"run eval ⁇", "opaque run"}},
		{"a program that is known in part", `"$x/true" a`, []string{"run ⁇/true a"}},
		{"a program that is not known", `"$x" a`, []string{"opaque run"}},
		{"a word that may be nothing", `$x true a`, []string{"opaque run", "run true a"}},
		{"words from standard input", "echo a b | xargs true", []string{"run echo a b", "run xargs true", "run true a b"}},
		{"words in the place of a mark", "printf 'a b\\nc\\n' | xargs -I% true -%", []string{`run printf a b\nc\n`, "run xargs -I% true -%", "run true -a b", "run true -c"}},
		{"aliases", "alias a='true b'; a c", []string{"run alias a=true b", "run true b", "run true b c", "run a c"}},
		{"zsh's clothes", "=true; noglob true a; - true b; false *(e:'true c':)",
			[]string{"run true", "run noglob true a", "run true a", "run true b", "run true c", "run false ∗"}},
		{"arithmetic of a subshell", "x=$((true a) | false)", []string{"run true a", "run false"}},
		{"an error", "true a\nfalse b; (", append([]string{"run true a", "run false b"}, unreadable...)},
		{"a NUL", "true\x00", append(slices.Clone(unreadable), "run true")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			effects := Shell(test.text, plainWorld())
			if diff := cmp.Diff(append([]string{}, test.want...), append([]string{}, described(effects)...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.text, diff)
			}
			if fault := illFormed(effects); fault != "" {
				t.Error(fault)
			}
		})
	}
}

// TestShellFolders holds where a relative path is meant, in all the folders in which the command may stand.
func TestShellFolders(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"cat f", []string{"/wd/f"}},
		{"cd a && cat f", []string{"/wd/a/f"}},
		{"cd a; cat f", []string{"/wd/a/f", "/wd/f"}},
		{"cd a\ncat f", []string{"/wd/a/f", "/wd/f"}},
		{"cd a || exit; cat f", []string{"/wd/a/f"}},
		{"cd a || cat f", []string{"/wd/f"}},
		{"if cd a; then cat f; fi", []string{"/wd/a/f"}},
		{"if ! cd a; then exit; fi; cat f", []string{"/wd/a/f"}},
		{"(cd a); cat f", []string{"/wd/f"}},
		{"cd a | b; cat f", []string{"/wd/f"}},
		{"cd a & cat f", []string{"/wd/f"}},
		{"x=$(cd a); cat f", []string{"/wd/f"}},
		{"cd /aa/bb/.. && cat f", []string{"/aa/f"}},
		{"cd a && cd .. && cat f", []string{"/wd/f"}},
		{"cd && cat f", []string{"/hm/f"}},
		{"cd ~/a && cat f", []string{"/hm/a/f"}},
		{"cd a && cd - && cat f", []string{"/wd/f"}},
		{"cd $x && cat f", []string{"⁇/f"}},
		{"cd $x/a && cat f", []string{"⁇/a/f"}},
		{"cd $x && cat /f", []string{"/f"}},
		{"pushd a && cat f", []string{"/wd/a/f"}},
		{"for d in a b; do (cd $d && cat f); done", []string{"/wd/a/f", "/wd/b/f"}},
		{"for d in a b; do cd $d && cat f; cd ..; done", []string{"/f", "/wd/a/f", "/wd/b/f", "⁇/f"}},
		{"m() { cd a; }; m && cat f", []string{"/wd/a/f"}},
		{"bash -c 'cd a && cat f'", []string{"/wd/a/f"}},
		{"env -C a cat f; cat g", []string{"/wd/a/f", "/wd/g"}},
		{"cd a && cat <f", []string{"/wd/a/f"}},
		{"case x in a) cd a;; b) cd b;; esac; cat f", []string{"/wd/a/f", "/wd/b/f", "/wd/f"}},
	}
	for _, test := range tests {
		var got []string
		for _, e := range Shell(test.text, plainWorld()) {
			for _, form := range e.Path.Forms {
				if e.Kind == Read && (strings.HasSuffix(form, "/f") || strings.HasSuffix(form, "/g")) {
					got = append(got, shown(form))
				}
			}
		}
		slices.Sort(got)
		if strings.HasPrefix(test.text, "for d in a b; do cd") { // a second round begins where the first one ended
			for _, want := range test.want[1:3] {
				if !slices.Contains(got, want) {
					t.Errorf("%s: %q has no %q", test.text, got, want)
				}
			}
			continue
		}
		if diff := cmp.Diff(test.want, slices.Compact(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

// TestShellSaysThroughWhatItHappens holds the runs to which files belong.
func TestShellSaysThroughWhatItHappens(t *testing.T) {
	effects := Shell("cat a > b; sudo cat c", plainWorld())
	want := map[string]string{"read /wd/a": "run cat a", "write /wd/b": "", "read /wd/c": "run cat c"}
	said := described(effects)
	got := map[string]string{}
	for i, e := range effects {
		if e.Kind != Run {
			got[said[i]] = ""
			if e.By >= 0 {
				got[said[i]] = said[e.By]
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestShellUnreadable has texts that nobody can read to their end: what stands before is there, and an opaque effect of
// each kind.
func TestShellUnreadable(t *testing.T) {
	nested := "true x"
	for range 2 * maxCode {
		nested = "eval eval " + nested
	}
	for name, text := range map[string]string{
		"not closed":         "rm first; echo 'x",
		"not finished":       "rm first; if true; then",
		"no end of document": "rm first; cat <<E\nx",
		"too long":           "rm first\n" + strings.Repeat("a\n", MaxText),
		"a long document":    "rm first; cat <<E\n" + strings.Repeat("a\n", MaxText) + "E",
		"too deep":           "rm first; " + strings.Repeat("(", 100_000),
		"substitutions":      "rm first; " + strings.Repeat("$(", 100_000),
		"code in code":       "rm first; " + nested,
		"too many commands":  "rm first; for a in " + strings.Repeat("{a,b}", 8) + "; do " + strings.Repeat("b $a; ", 1000) + "done",
		"too many values":    "rm first; for a in " + strings.Repeat("{a,b}", 9) + "; do b; done",
		"too many ways":      "rm first; " + strings.Repeat("echo ${a-b}", 1) + strings.Repeat("${a-b}", 12),
		"only in code":       "rm first; bash -c \"echo 'x\"",
	} {
		effects := Shell(text, plainWorld())
		said := described(effects)
		if len(said) == 0 || said[0] != "run rm first" {
			t.Errorf("%s: the command before is not there: %.200q", name, said)
		}
		for _, kind := range []string{"opaque run", "opaque read", "opaque write"} {
			if !slices.Contains(said, kind) {
				t.Errorf("%s: no %s: %.200q", name, kind, said)
			}
		}
		if fault := illFormed(effects); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestShellSurvivesHostileTexts gives the reader what would overflow a stack: that would end the process.
func TestShellSurvivesHostileTexts(t *testing.T) {
	for _, pattern := range []string{"(", "$(", "{ ", "`", "! ", "if ", "while ", "until ", "for i in a; do ", "case x in a) ", "x() ", "[[ ",
		"[[ ( ", "((", "$((-", "$((a,", "$((a?", "${a:-", `"$(`, "<(", "${a[", "a[", "a=(", "coproc ", "time ", "<<A ", "let (", "a|", "a&&",
		"[[ a && ", "bash -c '", `bash -c "`, "eval ", "{a,", "@(", "$'", "sudo ", "x=$x", "f() { f; f; }; f;", "a=(${a[@]} ${a[@]});"} {
		text := "rm first\n" + strings.Repeat(pattern, (64<<10)/len(pattern))
		started := time.Now()
		if effects := Shell(text, plainWorld()); len(effects) == 0 || described(effects[:1])[0] != "run rm first" {
			t.Errorf("%q: the first command is not there", pattern)
		}
		t.Logf("%-20q %v", pattern, time.Since(started).Round(time.Millisecond))
	}
}

func TestArgvEffects(t *testing.T) {
	for want, words := range map[string][]string{
		"run touch -c $x; y|write /wd/$x; y":         {"touch", "-c", "$x; y"},
		"run bash -c true; false|run true|run false": {"bash", "-c", "true; false"},
		"run sudo true|run true":                     {"sudo", "true"},
		"":                                           {},
	} {
		if got := strings.Join(described(argvEffects(words, plainWorld())), "|"); got != want {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
}

// TestVariablesRollBackAndWeaken holds what a shell knows of its variables behind subshells and branches.
func TestVariablesRollBackAndWeaken(t *testing.T) {
	var v variables
	text := func(name string) string {
		held, _ := v.get(name)
		var all []string
		for _, c := range held {
			all = append(all, c.text)
		}
		return strings.Join(all, "|")
	}
	v.set("a", textOf("1"))
	outer := v.mark()
	v.set("a", textOf("2"))
	inner := v.mark()
	v.set("a", textOf("3"))
	v.set("b", textOf("x"))
	v.rollBack(inner)
	if text("a") != "2" || text("b") != "" {
		t.Errorf("rolled back: a is %q, b is %q", text("a"), text("b"))
	}
	v.set("a", textOf("4"))
	v.set("HOME", textOf("/"))
	if !v.weaken(outer) {
		t.Error("too many values")
	}
	if text("a") != "1|2|4" || text("HOME") != unknownText+"|/" {
		t.Errorf("weakened: a is %q, HOME is %q", text("a"), text("HOME"))
	}
	if len(v.changes) != 0 || v.marks != 0 {
		t.Errorf("%d changes and %d marks remain", len(v.changes), v.marks)
	}
}
