package effects

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func plainWorld() *World {
	return &World{Dir: "/wd", Workspace: "/wd", Homes: []string{"/hm"}, User: "dev"}
}

const usualText = `cd "$dir" && git commit -m 'fix: the thing' | tee log; for f in *.go; do gofmt -l "$f" || echo "$(date) bad: $f"; done; ` +
	`find . -name '*.tmp' -not -path './vendor/*' | xargs rm -f; curl -sf http://localhost:8080/x`

// BenchmarkShell reads texts as agents write them, and long ones of each kind.
func BenchmarkShell(b *testing.B) {
	for name, text := range map[string]string{
		"200 characters":        usualText,
		"1,000 chained":         strings.Repeat("go test ./... && ", 999) + "ls",
		"1,000 lines":           strings.Repeat("cat a/b.txt\n", 1000),
		"100,000 substitutions": strings.Repeat("$(", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Shell(text, plainWorld())
			}
		})
	}
}

// TestShellTakesTimeInProportion holds texts of many kinds to a time that a quadratic reader would not keep.
func TestShellTakesTimeInProportion(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const n = 10_000
	for name, text := range map[string]string{
		"chain":                  many(n, "a%d && ") + "b",
		"chain of or":            many(n, "x=%d || ") + "b",
		"chain of assignments":   many(n, "x%[1]d=%[1]d && ") + "b",
		"pipe":                   many(n, "a%d | ") + "b",
		"lines":                  many(n, "cat a%d\n"),
		"variables":              many(n, "x%[1]d=%[1]d; echo $x%[1]d\n"),
		"one variable":           many(n, "x=%d\n") + "echo $x",
		"one variable in a loop": "while a; do " + many(n, "x=%d\n") + "done; echo $x",
		"appended":               many(n, "x+=%d\n") + "echo $x",
		"appended to arrays":     many(n, "x+=(%d)\n") + "echo ${x[@]}",
		"words":                  "echo " + many(n, "a%d "),
		"items":                  "for x in " + many(n, "a%d ") + "; do echo $x; done",
		"long word":              "echo " + many(n, "a%d"),
		"parts":                  "echo " + many(n, "$a%d"),
		"defaults":               "echo " + many(n, "${a%d:-b}"),
		"ifs":                    many(n, "if a; then x=%d; fi\n"),
		"nested ifs":             strings.Repeat("if a; then x=1; ", 250) + "b" + strings.Repeat("; fi", 250),
		"nested loops":           strings.Repeat("while a; do x=1; cd b; ", 100) + "b" + strings.Repeat("; done", 100),
		"elifs":                  "if a; then b; " + many(n, "elif a%d; then b; ") + "fi",
		"cases":                  "case x in " + many(n, "a%[1]d) x=%[1]d;; ") + "esac",
		"functions":              many(n, "f%d() { rm x; }\n"),
		"calls":                  "f() { rm $1; }\n" + many(n, "f %d\n"),
		"calls of calls":         many(n, "f%[1]d() { f1%[1]d; f1%[1]d; }\n") + "f1",
		"function tree":          many(30, "f%[1]d() { f1%[1]d; f1%[1]d; }\n") + strings.ReplaceAll(many(12, "g%[1]d() { gg%[1]d; gg%[1]d; }\n"), "gg", "g1"),
		"arithmetic":             "echo $((" + many(n, "%d+") + "1))",
		"tests":                  "[[ " + many(n, "a%d && ") + "b ]]",
		"substitutions":          many(n, "echo $(a%d)\n"),
		"nested substitutions":   strings.Repeat("echo $(", n) + strings.Repeat(")", n),
		"redirections":           "a " + many(n, ">f%d "),
		"here-documents":         many(n, "cat <<E%[1]d\na\nE%[1]d\n"),
		"aliases":                many(n, "alias a%[1]d='b'\na%[1]d\n"),
		"code":                   many(n, "bash -c 'a%d'\n"),
		"echo to shell":          "{ " + many(n, "echo a%d; ") + "} | sh",
		"subshells":              many(n, "(cd a; x=%d)\n"),
		"braces":                 many(1000, "echo {a,b}{c,d}{e,f}%d\n"),
		"brace bomb":             "echo " + strings.Repeat("{a,b}", 16),
		"choices":                "for a in 1 2 3 4; do for b in 1 2 3 4; do for c in 1 2 3 4; do for d in 1 2 3 4 5 6; do for e in 1 2 3 4 5 6; do echo $a $b $c $d $e; done; done; done; done; done",
		"xargs":                  many(n, "echo a%d; ") + "{ " + many(2000, "echo a%d; ") + "} | xargs rm",
		"cd":                     many(n, "cd a%d\n"),
		"long":                   "cat > f <<'E'\n" + strings.Repeat("x\n", 5<<19) + "E\n",
		"eval":                   strings.Repeat("eval ", n) + "a",
		"masks":                  "x=$(a); " + many(n, "bash -c \"b $x%d\"\n"),
	} {
		started := time.Now()
		got := Shell(text, plainWorld())
		took := time.Since(started)
		t.Logf("%-24s %8d bytes %6d effects %v", name, len(text), len(got), took.Round(100*time.Microsecond))
		if took > 3*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}
