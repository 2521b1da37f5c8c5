package effects

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		name, text, want string // the words between blanks
	}{
		{"nothing", "", ""},
		{"one", "del /f x", "del"},
		{"case is kept", "DEL x", "DEL"},
		{"lists and pipes", "a; b && c || d | e & f\ng", "a b c d e f g"},
		{"comment", "# del everything", ""},
		{"argument", "echo 'del x' del", "echo"},
		{"keywords", "if a; then b; elif c; then d; else e; fi; while f; do g; done; until h; do i; done", "a b c d e f g h i"},
		{"for, case and select", "for del in copy; do a; done; case move in del) b;; esac; select x in y; do c; done", "a b c"},
		{"negated and timed", "! a; time b; time -p c", "a b c"},
		{"groups", "(a); { b; }; ((1 + 2)); [[ del ]]", "a b"},
		{"functions", "del() { a; }; function copy { b; }; coproc c", "a b c"},
		{"substitutions", "echo $(a) `b` \"$(c)\" <(d) >(e) ${x:-$(f)} $(( $(g) ))", "echo a b c d e f g"},
		{"assignments and redirections", "x=$(a) b >del <$(c); y=1; export z=$(d); arr=($(e))", "a b c d e"},
		{"substitution as command", "$(a) b", "a"},
		{"order is that of the text", "del $(dir)", "del dir"},
		{"variable as command", "$EDITOR x; \"$HOME/bin/ruff\" y", ""},
		{"here-document", "cat <<EOF\ndel $(a)\nEOF\ncat <<'EOF'\n$(b)\nEOF", "cat a cat"},
		{"quotes", `d'e'l; "co"py; mo\ve; $'\x64ir'; $"ren"; de\` + "\nl", "del copy move dir ren del"},
		{"ANSI quotes", `$'d\145l'; $'\'\?\"'; $'\q'; $'a\`, "del"},
		{"backslashes of Windows", `C:\bin\del.exe x; "C:\bin\del.exe"`, `C:bindel.exe C:\bin\del.exe`},
		{"braces", "{del,x}; {a,b}c; a{1..3}; {x}", "del ac a1 {x}"},
		{"sudo", "sudo -u root -H A=1 del x; sudo -uroot del; sudo --user root dir; sudo --user=root ren", "sudo del sudo del sudo dir sudo ren"},
		{"env", "env -i A=1 B=2 del x; /usr/bin/env dir; env; env A=1", "env del /usr/bin/env dir env env"},
		{"xargs", "ls | xargs -0 -n 1 -I{} del {}", "ls xargs del"},
		{"wrapper in wrapper", "nohup nice -n 5 timeout -k 1 5s command del", "nohup nice timeout command del"},
		{"wrapper with only options", "sudo -v; nohup; timeout 5; xargs -0; command --", "sudo nohup timeout xargs command"},
		{"looking", "command -v del; command -V copy; type dir; which ren", "command command type which"},
		{"find", `find . -name del -exec copy {} \; -o -execdir dir +`, "find copy dir"},
		{"find without a command", "find . -exec", "find"},
		{"cmd", "cmd /c del x; cmd.exe /c dir", "cmd cmd.exe"},
		{"bash -c", "bash -c 'a; b' c; sh -ec \"d $x\"; /bin/bash -c -x e; BASH.EXE -o pipefail -c f --", "bash a b sh d /bin/bash e BASH.EXE f"},
		{"bash without code", "bash script.sh -c del; bash -c; bash -x; bash -c -- ", "bash bash bash bash"},
		{"bash -c of an unknown", `bash -c "$x"; bash -c "${y}del"`, "bash _ bash _del"},
		{"code in code", `bash -c "bash -c 'dir'; del"; ren`, "bash bash dir del ren"},
		{"code on standard input", "bash <<'EOF'\na\nEOF\nsh -s x <<< 'b'; zsh <<E\nc $x\nE", "bash a sh b zsh c"},
		{"eval and trap", "eval del x; eval 'a;' \"b\"; trap 'c; d' EXIT; trap -- e INT; trap", "eval del eval a b trap c d trap e trap"},
		{"substitution within code", `bash -c 'echo "$(dir)"'`, "bash echo dir"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Commands(test.text)
			if err != nil && !strings.HasPrefix(test.name, "ANSI") {
				t.Errorf("error: %v", err)
			}
			if test.name == "ANSI quotes" {
				got = got[:1]
			}
			if diff := cmp.Diff(strings.Fields(test.want), append([]string{}, got...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

// TestCommandsBeforeAnError holds the words of texts that bash, or our parser, does not read to their end.
func TestCommandsBeforeAnError(t *testing.T) {
	tests := []struct{ text, want string }{
		{"del x (", "del"},
		{"echo ) ; del x", "echo"},
		{`del "x`, "del"},
		{"a; del 'x", "a del"},
		{`del "C:\build\"`, "del"},
		{"if true; then del x", "true del"},
		{"(del x", "del"},
		{"{ a; del x", "a del"},
		{`echo "$(del x`, "echo del"},
		{"del <<EOF\nfoo", "del"},
		{"echo hi; fi; del x", "echo"},
		{"a && del x &&", "a del"},
		{"ls |", "ls"},
		{"case x in a) del x", "del"},
		{"a\n)\ndel x", "a"},
		{"while true; do dir", "true dir"},
		{"echo $(ls; del", "echo ls del"},
		{"echo ${x; del y", "echo"},
		{"del ;; x", "del"},
		{"bash -c 'a; del ('; b", "bash a del b"},
		{"bash -c 'a; (' | dir", "bash a dir"},
		{")", ""},
	}
	for _, test := range tests {
		got, err := Commands(test.text)
		if err == nil {
			t.Errorf("%q: no error", test.text)
		}
		if diff := cmp.Diff(strings.Fields(test.want), append([]string{}, got...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

// TestCommandsWhereOnlyBashReads has texts that bash 5.2 runs and the parser takes for arithmetic.
func TestCommandsWhereOnlyBashReads(t *testing.T) {
	for text, want := range map[string]string{
		"x=$((del x) | cat)": "del cat",
		"((del x); echo y)":  "del echo",
	} {
		got, err := Commands(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestCommandsOfHostileTexts gives the parser what would overflow its stack, or ours: that would end the process.
func TestCommandsOfHostileTexts(t *testing.T) {
	patterns := []string{"(", "$(", "{ ", "`", "! ", "if ", "while ", "until ", "for i in a; do ", "case x in a) ", "x() ", "[[ ", "[[ ( ",
		"((", "$((-", "$((a,", "$((a?", "$((a**", "$((a=", "${a:-", `"$(`, "<(", "${a[", "a[", "a=(", "coproc ", "time ", "<<A ", "let (",
		"a|", "a&&", "a;", "a\n", "$((1+", "[[ a && ", "bash -c '", `bash -c "`, "eval ", "{a,", "@(", "$'", "sudo "}
	for _, pattern := range patterns {
		text := "del x\n" + strings.Repeat(pattern, (MaxText-len("del x\n"))/len(pattern))
		started := time.Now()
		got, err := Commands(text)
		if len(got) == 0 || got[0] != "del" {
			t.Errorf("%q: del was not found; %v", pattern, err)
		}
		t.Logf("%-20q %v, %v", pattern, time.Since(started).Round(time.Millisecond), err)
	}
}

func TestCommandsTooDeep(t *testing.T) {
	text := "del x; " + strings.Repeat("(", 100_000) + "a" + strings.Repeat(")", 100_000)
	got, err := Commands(text)
	if !errors.Is(err, ErrTooDeep) {
		t.Errorf("got %v, want ErrTooDeep", err)
	}
	if len(got) == 0 || got[0] != "del" {
		t.Errorf("the words before the depth are not there")
	}
	if _, err := Commands(strings.Repeat("( ", 100) + "a" + strings.Repeat(")", 100)); err != nil {
		t.Errorf("a hundred subshells: %v", err)
	}
	code := "del"
	for range 2 * maxCode {
		code = "eval eval " + code
	}
	if _, err := Commands(code); !errors.Is(err, ErrTooDeep) {
		t.Errorf("code within code: got %v, want ErrTooDeep", err)
	}
}

func TestCommandsTooLong(t *testing.T) {
	text := "del x\n" + strings.Repeat("a\n", MaxText)
	got, err := Commands(text)
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want ErrTooLong", err)
	}
	if len(got) == 0 || got[0] != "del" {
		t.Error("the words before the limit are not there")
	}
}

// TestCommandsBehindALongChain reads code that stands deep in the tree.
func TestCommandsBehindALongChain(t *testing.T) {
	got, err := Commands("bash -c 'del x'" + strings.Repeat("|a", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bash", "del", "a"}, got[:3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzCommands(f *testing.F) {
	for _, seed := range []string{"del x", "a; b | c && (d)", "bash -c 'x $(y)'", "x=$((a) | b)", "<<E a\nb\nE", "if a; then", "{a,b}{c,d}",
		`"$'\x64`, "sudo -u x env A=1 y", "find . -exec a ;", "case x in a) b;; esac", "${x:-`y`}", "trap 'a' EXIT"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		watchdog := time.AfterFunc(10*time.Second, func() { panic(text) })
		defer watchdog.Stop()
		words, err := Commands(text)
		again, _ := Commands(text)
		if diff := cmp.Diff(words, again); diff != "" {
			t.Errorf("two readings differ:\n%s", diff)
		}
		if err != nil {
			return
		}
		// What parses goes on to parse behind another command, and its words follow that one's.
		behind, err := Commands("first\n" + text)
		if err != nil {
			return // a here-document or an alias of bash's may not like it
		}
		if diff := cmp.Diff(append([]string{"first"}, words...), behind); diff != "" {
			t.Errorf("behind another command (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkCommands(b *testing.B) {
	for b.Loop() {
		Commands(`cd "$dir" && git commit -m 'fix: the thing' | tee log; echo "$(date)"`)
	}
}

// TestNothingBehindAnErrorIsRead: a text that goes wrong in the middle is judged by what stands
// before, not by what a parser makes of the rest.
func TestNothingBehindAnErrorIsRead(t *testing.T) {
	for text, want := range map[string][]string{
		"echo a && && del x":  {"echo"},
		"echo a | | del x":    {"echo"},
		"ls |; del":           {"ls"},
		"echo a <; del x":     {"echo"},
		"for x in; del":       nil,
		"(( x ; del":          nil,
		"if true; then del x": {"true", "del"}, // only not finished
		"echo $(del":          {"echo", "del"},
		`del "C:\a\" x`:       {"del"},
		"del x)":              {"del"},
	} {
		got, err := Commands(text)
		if err == nil {
			t.Errorf("%q: no error", text)
		}
		for _, command := range got {
			if command == "del" && !slices.Contains(want, "del") {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
		for _, command := range want {
			if !slices.Contains(got, command) {
				t.Errorf("%q: %q, want %q", text, got, want)
			}
		}
	}
}
