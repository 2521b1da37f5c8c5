package effects

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// linked makes a folder with files ("a/b") and links ("a -> b"), and returns a world in it.
func linked(t *testing.T, entries ...string) *World {
	t.Helper()
	dir := t.TempDir()
	for _, entry := range entries {
		name, target, isLink := strings.Cut(entry, " -> ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "$", dir), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o700)
		default:
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &World{Dir: dir, Workspace: dir, Homes: []string{filepath.Join(dir, "home")}}
}

func matches(t *testing.T, w *World, pattern, path string) Match {
	t.Helper()
	p, err := ParsePath(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return p.Match(w.Resolve(path), false, w)
}

func TestResolveForms(t *testing.T) {
	tests := []struct {
		path string
		dirs []string
		want []string
	}{
		{"a", nil, []string{"/srv/app/a"}},
		{"", nil, []string{"/srv/app"}},
		{".", nil, []string{"/srv/app"}},
		{"../../../..", nil, []string{"/"}},
		{"a", []string{"/one", "", "/two\xff"}, []string{"/one/a", "\xff/a", "/two\xff/a"}},
		{"\xff/../a", nil, []string{"\xff/a"}},
		{"x/\xfe/../a", nil, []string{"/srv/app/x/a"}},
		{"x\xff/../a", nil, []string{"/srv/app/\xff/a"}},
		{"~", nil, []string{"/home/u"}},
		{"~+/x", nil, []string{"/srv/app/x"}},
		{"~-/x", nil, []string{"\xff/x"}},
		{"~bob/x", nil, []string{"/home/bob/x", "/Users/bob/x"}},
		{"~root/x", nil, []string{"/root/x", "/var/root/x"}},
		{"~\xff/x", nil, []string{"\xff/x"}},
		{"a~", nil, []string{"/srv/app/a~"}},
		{"c:/A/../b", nil, []string{"c:/b"}},
		{"C:", nil, []string{"c:"}},
		{"c:/../..", nil, []string{"c:"}},
		{"/c/x", nil, []string{"/c/x", "c:/x"}},
		{"/proc/thread-self/cwd/x", nil, []string{"/proc/thread-self/cwd/x", "/srv/app/x"}},
		{"/proc/self/task/77/root/x", nil, []string{"/proc/self/task/77/root/x", "/x"}},
		{"file:/x%20y", nil, []string{"/x y"}},
		{"file:///C:/x", nil, []string{"c:/x"}},
		{"filename", nil, []string{"/srv/app/filename"}},
		{"a:b", nil, []string{"/srv/app/a:b", "/srv/app/a", "/srv/app/b"}},
		{"a/... /b.", nil, []string{"/srv/app/a/... /b.", "/srv/app/a/... /b"}},
	}
	for _, test := range tests {
		w := pathWorld()
		if diff := cmp.Diff(test.want, w.Resolve(test.path, test.dirs...).Forms); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", test.path, test.dirs, diff)
		}
	}
}

func TestResolveFollowsLinks(t *testing.T) {
	w := linked(t, ".env", "secrets/a.txt", "sub/deep/x", "home/.ssh/id", "home/dot/bashrc", "home/.bashrc -> dot/bashrc",
		"link -> .env", "abs -> $/.env", "chain -> chain2", "chain2 -> .env", "linkdir -> secrets", "up -> sub/deep",
		"dangling -> secrets/none", "loop -> loop", "loop2 -> loop3/x", "loop3 -> loop2/x", "mid/x -> ../secrets",
		"cwd -> /proc/self/cwd/secrets", "l1 -> secrets", "tilde/~ -> $/secrets")
	tests := []struct {
		pattern, path string
		want          Match
	}{
		{"**/.env", "link", Yes},
		{"**/.env", "abs", Yes},
		{"**/.env", "chain", Yes},
		{"**/chain2", "chain", Yes},
		{"**/.env", "./sub/../link", Yes},
		{"**/.env", "nothing/../link", Yes},
		{"**/.env", "up/../../link", Yes},
		{"**/secrets/**", "linkdir", Yes},
		{"**/secrets/**", "linkdir/new/file.txt", Yes},
		{"**/secrets/**", "linkdir/\xff", Yes},
		{"**/secrets/**", "linkdir/\xfe", Yes},
		{"**/secrets/**", "dangling", Yes},
		{"**/secrets/**", "mid/x/y", Yes},
		{"**/secrets/**", "cwd/a.txt", Yes},
		{"**/sub/**", "up/../y", Yes},
		{"**/sub/**", "up/../../y", No},
		{"**/secrets/**", "loop/x", No},
		{"**/loop/x", "loop/x", Yes},
		{"**/secrets/**", "loop2", No},
		{"**/secrets/**", "tilde/~/x", Yes},
		{"~/.bashrc", "home/dot/bashrc", Yes},
		{"**/.env", "l\xfe", Yes},
		{"**/.env", "li\xfdk", Yes},
		{"**/secrets/**", "\xfe/a.txt", Yes},
		{"**/secrets/**", "\xfe", Yes}, // linkdir and its like
		{"**/.env", "sub/\xfe", No},
		{"**/.env", "\xfe", Yes}, // link
	}
	for _, test := range tests {
		if got := matches(t, w, test.pattern, test.path); got != test.want {
			t.Errorf("%s on %q: got %d, want %d; forms %q", test.pattern, test.path, got, test.want, w.Resolve(test.path).Forms)
		}
	}
	here := *w
	here.Dir = filepath.Join(w.Dir, "tilde")
	if got := matches(t, &here, "**/secrets/**", "~/x"); got != Yes {
		t.Errorf("a folder that is really named ~ is passed over")
	}
}

func TestResolveWildcardsOnDisk(t *testing.T) {
	w := linked(t, ".env", "secrets/a.txt", "src/a.go", "src/b.go", "src/.hidden.go", "config/prod.yaml")
	tests := []struct {
		pattern, path string
		deep          bool
		want          Match
	}{
		{"**/.env", "\xfe", false, No},
		{"**/.env", ".\xfe", false, Yes},
		{"**/.env", ".e\xfd\xfd", false, Yes},
		{"**/secrets/**", "\xfe", false, No},
		{"**/secrets/**", "\xfe", true, Yes},
		{"**/secrets/**", "s\xfe", false, Yes},
		{"**/secrets/**", "\xfe/\xfe.txt", false, Yes},
		{"**/secrets/**", "\xfe/\xfe.go", false, No},
		{"**/.hidden.go", "src/\xfe.go", false, No},
		{"config/prod.yaml", "\xfe", true, Yes},
		{"config/prod.yaml", "\xfe", false, No},
		{"config/prod.yaml", "c\xfe", true, Yes},
	}
	for _, test := range tests {
		p, err := ParsePath(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		path := w.Resolve(test.path)
		if got := p.Match(path, test.deep, w); got != test.want {
			t.Errorf("%s on %q: got %d, want %d; forms %q", test.pattern, test.path, got, test.want, path.Forms)
		}
	}
	want := []string{"src/\xfe.go", "src/a.go", "src/b.go"}
	for i, form := range w.Resolve("src/\xfe.go").Forms {
		if form != w.Dir+"/"+want[i] {
			t.Errorf("form %d: got %q, want %q", i, form, want[i])
		}
	}
}

// TestResolveInAFullFolder holds that a wildcard with more names behind it than are looked at is not taken for harmless.
func TestResolveInAFullFolder(t *testing.T) {
	w := linked(t)
	w.Budget = 20
	for i := range 2 * w.Budget {
		if err := os.WriteFile(filepath.Join(w.Dir, fmt.Sprintf("%05d.log", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]Match{"**/id_rsa": Maybe, "**/.env": No, "**/*.log": Yes} {
		if got := matches(t, w, pattern, "\xfe"); got != want && !(pattern == "**/*.log" && got != No) {
			t.Errorf("%s: got %d, want %d", pattern, got, want)
		}
	}
	if got := matches(t, w, "**/id_rsa", "\xfe.log"); got != No {
		t.Errorf("*.log: got %d", got)
	}
	p, err := ParsePath("**")
	if err != nil {
		t.Fatal(err)
	}
	if p.Covers(w.Resolve("\xfe"), w) {
		t.Error("names that were not looked at are covered")
	}
}

// TestResolveBeyondItsBudget holds that a path whose links were not followed may be any.
func TestResolveBeyondItsBudget(t *testing.T) {
	w := linked(t, "a/b/c/d/link -> /etc/passwd")
	w.Budget = 3
	if got := matches(t, w, "**/.env", "a/b/c/d/link"); got != Maybe {
		t.Errorf("got %d", got)
	}
	p, err := ParsePath("${workspace}/**")
	if err != nil {
		t.Fatal(err)
	}
	if p.Covers(w.Resolve("a/b/c/d/link"), w) {
		t.Error("covered")
	}
}

// TestCoversLooksThroughLinks holds that a link which leads out of what is allowed is not followed.
func TestCoversLooksThroughLinks(t *testing.T) {
	w := linked(t, "w/in.txt", "w/out -> /etc", "w/file -> ../x", "x", "ws -> w")
	w.Workspace, w.Dir = filepath.Join(w.Dir, "ws"), filepath.Join(w.Dir, "ws")
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"${workspace}/**", "in.txt", true},
		{"${workspace}/**", "new/file", true},
		{"${workspace}/**", filepath.Join(filepath.Dir(w.Dir), "w/in.txt"), true},
		{"${workspace}/**", "out/passwd", false},
		{"${workspace}/out/**", "out/passwd", false},
		{"${workspace}/**", "file", false},
		{"${workspace}/**", "\xfe", false},
		{"${workspace}/**", "i\xfe", true},
		{"${workspace}/**", "o\xfe/passwd", false},
	}
	for _, test := range tests {
		p, err := ParsePath(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers(w.Resolve(test.path), w); got != test.want {
			t.Errorf("%s on %q: got %v; forms %q", test.pattern, test.path, got, w.Resolve(test.path).Forms)
		}
	}
}

// TestResolveOfHostilePaths holds that no path takes long.
func TestResolveOfHostilePaths(t *testing.T) {
	w := linked(t, "a/b", "d -> .", "e -> d/d/d/d/d/d/d/d/d/d", "f -> e/e/e/e/e/e/e/e/e/e")
	w.disk = newDisk(0)
	patterns := []string{"**/.env", "~/.ssh/**", "**/a/**/b/**/c/**/d", "**/*a*b*c*d*e*f*.x", "/etc/passwd", "**/[a-z]*[0-9]"}
	for name, path := range map[string]string{
		"long name":      strings.Repeat("x", maxPath),
		"many names":     strings.Repeat("a/", maxPath/2),
		"up and down":    strings.Repeat("a/../", maxPath/6) + ".env",
		"up from no":     strings.Repeat("no/../", maxPath/6) + ".env",
		"deep, then up":  strings.Repeat("no/", 10_000) + strings.Repeat("../", 10_000) + ".env",
		"unknown names":  strings.Repeat("a\xff/b\xfe/", 10_000),
		"wildcards":      strings.Repeat("\xfe/", 10_000),
		"one wild name":  strings.Repeat("a\xfe", maxPath/2),
		"unknowns":       strings.Repeat("\xff", maxPath),
		"links":          strings.Repeat("d/", 2000) + "a/b",
		"links in links": "f/f/f/f",
		"dots":           strings.Repeat("./", maxPath/2) + ".env",
		"slashes":        strings.Repeat("/", maxPath),
		"backslashes":    strings.Repeat(`..\`, maxPath/6),
		"percent":        "file://" + strings.Repeat("%2e", maxPath/6),
		"tildes":         strings.Repeat("~", maxPath),
		"spaces":         strings.Repeat("x. /", maxPath/6),
	} {
		started := time.Now()
		resolved := w.Resolve(path)
		for _, pattern := range patterns {
			p, err := ParsePath(pattern)
			if err != nil {
				t.Fatal(err)
			}
			p.Match(resolved, true, w)
			p.Covers(resolved, w)
		}
		took := time.Since(started)
		t.Logf("%-15s %v, %d forms", name, took.Round(time.Millisecond), len(resolved.Forms))
		if took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	if got := matches(t, w, "**/.env", strings.Repeat("a/", maxPath)); got != Maybe {
		t.Errorf("a path that is too long: got %d", got)
	}
	if got := matches(t, w, "**/.env", strings.Repeat("a/../", maxPath/6)+".env"); got != Yes {
		t.Errorf("behind many steps: got %d", got)
	}
}

// TestResolveDoesNotWait holds that a pipe is not opened.
func TestResolveDoesNotWait(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no such files
	}
	w := linked(t)
	makePipe(t, filepath.Join(w.Dir, "pipe"))
	done := make(chan Path, 1)
	go func() { done <- w.Resolve("pipe/\xfe") }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for the other end of a pipe")
	}
}

func TestResolveIsDeterministic(t *testing.T) {
	w := linked(t, "b", "a", "c -> a", "d/e")
	first := w.Resolve("\xfe").Forms
	for range 10 {
		if again := w.Resolve("\xfe").Forms; !slices.Equal(first, again) {
			t.Fatalf("got %q, then %q", first, again)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"a", "~/x", "../\xff/.env", `C:\x`, "file:///%2e", "/proc/self/cwd/../x", "\xfe/\xfd", "~u", "//?/UNC/a/b"} {
		f.Add(seed, "/w")
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, text, dir string) {
		w := pathWorld()
		path := w.Resolve(text, dir, "/srv/app")
		if len(path.Forms) == 0 {
			t.Fatal("no form")
		}
		for _, form := range path.Forms {
			if clean(form) != form && form != "" {
				t.Errorf("form %q is not clean: %q", form, clean(form))
			}
			names := splitNames(form)
			if slices.Contains(names, "..") || slices.Contains(names, ".") || slices.Contains(names, "") {
				t.Errorf("form %q has names that are none", form)
			}
		}
		if again := w.Resolve(text, dir, "/srv/app"); !again.Equal(path) {
			t.Errorf("two readings differ: %q, %q", path.Forms, again.Forms)
		}
	})
}

func FuzzPathPattern(f *testing.F) {
	for _, pattern := range []string{"**/.env", "~/.ssh/**", "/etc/*", "${workspace}/a/{b,c}?", "[!a-c]*x", "**", `C:\a\**`} {
		for _, path := range []string{".env", "\xff/.ENV", "~/.ssh/x", `c:\A\b`, "a\xfeb/\xfd", "/etc/x"} {
			f.Add(pattern, path)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := ParsePath(pattern)
		if err != nil {
			return
		}
		w := pathWorld()
		path := w.Resolve(text)
		started := time.Now()
		match := p.Match(path, false, w)
		if p.Covers(path, w) && match != Yes {
			t.Errorf("%q covers %q and does not match it", pattern, text)
		}
		if deep := p.Match(path, true, w); deep < match {
			t.Errorf("%q on %q: %d, but deep %d", pattern, text, match, deep)
		}
		p.In(text, w)
		if took := time.Since(started); took > 30*time.Second { // an exponential match, not a busy machine
			t.Errorf("took %v", took)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	w := pathWorld()
	w.disk = newDisk(0)
	var patterns []*PathPattern
	for i := range 20 {
		for _, text := range []string{"**/.env", "~/.ssh/**", "/etc/passwd", "**/secrets/**", "**/*.pem"} {
			p, err := ParsePath(text + strings.Repeat("x", i))
			if err != nil {
				b.Fatal(err)
			}
			patterns = append(patterns, p)
		}
	}
	for _, text := range []string{"internal/effects/some/file.go", "internal/\xfe.go", "\xff/file.go"} {
		path := w.Resolve(text)
		b.Run(fmt.Sprintf("%q", text), func(b *testing.B) {
			for b.Loop() {
				for _, p := range patterns {
					p.Match(path, false, w)
				}
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	dir := b.TempDir()
	w := &World{Dir: dir, Workspace: dir, Homes: []string{dir}}
	for b.Loop() {
		w.disk = newDisk(0)
		w.Resolve("internal/effects/some/file.go")
	}
}
