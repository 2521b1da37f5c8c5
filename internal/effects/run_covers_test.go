package effects

import "testing"

func TestRunPatternCovers(t *testing.T) {
	for _, test := range coversTests {
		p, err := ParseRun(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		c := &Command{Words: shellWords(test.command)}
		if got := p.Covers(c); got != test.want {
			t.Errorf("%q covers %q: %v", test.pattern, test.command, got)
		}
		if test.want && p.Match(c) != Yes {
			t.Errorf("%q covers %q, and does not match it", test.pattern, test.command)
		}
	}
}

var coversTests = []struct {
	pattern, command string
	want             bool
}{
	{"git status", "git status", true},
	{"git status", "git status -s", false},
	{"git status", "git status x", false},
	{"git status", "git -C x status", true},
	{"git status", "git --no-pager status", true},
	{"git status", "git -c a.b=c status", true},
	{"git status", "git -c core.fsmonitor='rm x' status", true}, // that is a run of its own
	{"git status", "git -c core.hooksPath=x status", false},
	{"git status", `git -c "$X" status`, false},
	{"git status", "git --exec-path=/x status", false},
	{"git status", "git --exec-path", false},
	{"git status *", "git status -s x", true},
	{"git status -s", "git status --short", true},
	{"git status -s", "git status", false},
	{"git status", "/usr/bin/git status", true},
	{"git status", "GIT status", false},
	{"git status", "git.exe status", true},
	{"git status", "git STATUS", false},
	{"git status", "git $X", false},
	{"git status", `git "$X"`, false},
	{"git *", "git push -f", true},
	{"git *", "git -c core.hooksPath=x commit", false},
	{"git *", `git -C "$X" log`, true},
	{"git *", "git $X", false},
	{"git", "git push -f", true},
	{"git", "gitk", false},
	{"git push *", "git --unknown x push", false},
	{"git push origin *", `git push origin "$X"`, true},
	{"git push origin *", "git push origin $X", false},
	{"git push origin main", `git push origin "$X"`, false},
	{"git push", "git push +main", false},
	{"gofmt *", `gofmt -l "$X"`, true},
	{"gofmt *", "gofmt -l *.go", true},
	{"gofmt -l *", "gofmt x", false},
	{"rm *", "rm -rf x", true},
	{"rm -r *", "rm -rf x", true},
	{"rm -r x", "rm -rf x", false},
	{"rm -r -f x", "rm -rf x", true},
	{"rm x", "rm $X", false},
	{"ls", "ls -la", true},
	{"ls *", "ls -la", true},
	{"ls -l", "ls -la", false},
	{"ls -la", "ls -al", true},
	{"kubectl --context dev delete *", "kubectl --context dev delete x", true},
	{"kubectl --context dev delete *", "kubectl --context prod delete x", false},
	{"kubectl --context dev delete *", "kubectl delete x", false},
	{"kubectl delete *", "kubectl --context prod delete x", true},
	{"find *", "find . -name x", true},
	{"find *", "find . -exec rm {} ;", true}, // rm is a run of its own
	{"docker run img", "docker -H tcp://x run img", true},
	{"deploy-tool x", "deploy-tool x", true},
	{"deploy-tool x", "deploy-tool --y x", false},
	{"deploy-tool -rf x", "deploy-tool -fr x", true},
	{"python3 -c *", "python3 -c 'x'", true},
	{"python*", "python3 -c 'x'", true},
	{"curl *", "curl -K cfg", true},
	{"sudo *", "sudo rm x", true},
}
