package effects

import (
	"strings"
	"testing"
)

// pathWorld is a world whose files do not exist.
func pathWorld() *World {
	return &World{Dir: "/srv/app", Workspace: "/srv/app", Homes: []string{"/home/u"}, User: "u"}
}

func TestPathPatternMatch(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          Match
	}{
		{"**/.env", ".env", Yes},
		{"**/.env", "/.env", Yes},
		{"**/.env", "/srv/app/sub/../.env", Yes},
		{"**/.env", "/srv//app/./.env/", Yes},
		{"**/.env", ".ENV", Yes},
		{"**/.env", ".env.local", No},
		{"**/.env", "x.env", No},
		{"**/.env", ".env/x", No},
		{"**/.env", "\xff/.env", Yes},
		{"**/.env", "/srv/\xff/.env", Yes},
		{"**/.env", "/srv/a\xffb/.env", Yes},
		{"**/.env", "\xff", No},
		{"**/.env", "/srv/\xff", No},
		{"**/.env", "\xff/\xff", No},
		{"**/.env", ".e\xfe", Maybe},
		{"**/.env", ".en\xfd", Maybe},
		{"**/.env", ".env\xfe", Maybe},
		{"**/.env", ".env\xfd", No},
		{"**/.env", "\xfe.tmp", No},
		{"**/.env", "\xfe", No},
		{"**/.env", "\xfeenv", No},
		{"**/.env", "\xfdenv", No},
		{"**/.env", "\xffenv", No},
		{"**/.env", "\xff.json", No},
		{"**/.env", "\xff/\xff.\xff", No},
		{"**/.env", "\xff.env\xfe", Maybe},
		{"**/.env", ".\xff", No},
		{"**/.env", "\xff.env", Maybe},
		{"**/.env", "\xff.envrc", No},
		{"**/.env", "\xfe/\xfe.go", No},
		{"**/.env", "\xff/main.go", No},
		{"**/.env", ".e\xff", Maybe},
		{"**/.env", ".e\xff/x", No},
		{"**/.env", `C:\proj\.env`, Yes},
		{"**/.env", `C:\proj\.env::$DATA`, Yes},
		{"**/.env", `.env. `, Yes},
		{"**/.env", "file:///srv/app/.env", Yes},
		{"**/.env", "file:///srv/app/%2eenv", Yes},
		{"**/.env", "FILE://localhost/srv/app/.env?x#y", Yes},
		{"**/.env", "/proc/self/cwd/.env", Yes},
		{"**/secrets/**", "secrets", Yes},
		{"**/secrets/**", "secrets/", Yes},
		{"**/secrets/**", "a/Secrets/b/c", Yes},
		{"**/secrets/**", "secrets.md", No},
		{"**/secrets/**", "\xfe/\xfe.go", No},
		{"**/secrets/**", "\xfe", No},
		{"**/secrets/**", "\xff/index.ts", No},
		{"**/secrets/**", "bin/\xff", No},
		{"**/secrets/**", "s\xfe/x", Maybe},
		{"**/secrets/**", "secrets/\xff", Yes},
		{"**/secrets/**", "secrets\xff", Maybe},
		{"**/secrets/**", "x/secrets\xff/y", Maybe},
		{"**/secrets/**", "/proc/self/cwd/secrets/x", Yes},
		{"~/.ssh/**", "~/.ssh/id_rsa", Yes},
		{"~/.ssh/**", "~u/.ssh", Yes},
		{"~/.ssh/**", "~/.ssh/\xff", Yes},
		{"~/.ssh/**", "~/.ssh/id\xfe", Yes},
		{"~/.ssh/**", "~/.sshd_notes", No},
		{"~/.ssh/**", "/home/u/.SSH/x", Yes},
		{"~/.ssh/**", "/home/v/.ssh/x", No},
		{"~/.ssh/**", "~/\xff", No},
		{"~/.ssh/**", "\xff/.ssh/id_rsa", Maybe},
		{"~/.ssh/**", "\xff/id_rsa", No},
		{"~/.ssh/**", "/home/\xff/.ssh/x", Maybe},
		{"~/.ssh/**", "../../home/u/.ssh/x", Yes},
		{"${home}/.ssh/**", "~/.ssh/x", Yes},
		{"/etc/passwd", "/etc/passwd", Yes},
		{"/etc/passwd", "/etc/../etc//passwd", Yes},
		{"/etc/passwd", "/proc/self/root/etc/passwd", Yes},
		{"/etc/passwd", "/proc/1/root/etc/passwd", Yes},
		{"/no/passwd", "/no/\xfe", No},
		{"/no/passwd", "/no/pass\xfe", Maybe},
		{"/etc/passwd", "etc/passwd", No},
		{"/etc/*", "/etc/x", Yes},
		{"/etc/*", "/etc/x/y", No},
		{"/no/*", "/no/\xfe", Yes},
		{"/no/*", "/no/\xff", Maybe},
		{"**/.git/hooks/**", ".git/hooks/pre-commit", Yes},
		{"**/.git/hooks/**", "\xff/hooks/pre-commit", Maybe},
		{"**/.git/hooks/**", "a/hooks/pre-commit", No},
		{"build/**", "build/x", Yes},
		{"build/**", "sub/build/x", No},
		{"build/", "/srv/app/build", Yes},
		{"./build", "build", Yes},
		{"${workspace}/a", "a", Yes},
		{"${workspace}/a", "\xff/a", No},
		{"${workspace}/a/b", "\xff/a/b", Maybe},
		{"${workspace}/a", "\xff/app/a", Maybe},
		{"${workspace}/**/a.txt", "\xff/a.txt", Maybe},
		{"${workspace}/a/**", "\xff/a", No},
		{"${workspace}/a/**", "\xff/a/b", Maybe},
		{"${workspace}/a/**", "\xff/a/\xff", No},
		{"/etc/x/policy.yaml", "\xff/policy.yaml", No},
		{"/etc/x/policy.yaml", "\xff/\xfe.yaml", No},
		{"/etc/x/policy.yaml", "\xff/\xff.yaml", No},
		{"/etc/x/policy.yaml", "\xff/x/policy.yaml", Maybe},
		{"/etc/x/policy.yaml", "/etc/\xff/policy.yaml", No},
		{"/etc/x/policy.yaml", "/etc/x/p\xff", Maybe},
		{"/etc/x/policy.yaml", "/etc/x/\xff.yaml", No},
		{"/etc/x/**", "/etc/x/\xff", Yes},
		{"~/.docker/config.json", "\xff/config.json", No},
		{"~/.docker/config.json", "\xff/.docker/config.json", Maybe},
		{"~/.bashrc", "\xff/.bashrc", Maybe},
		{"~/.ssh/**", "\xff/.ssh", Maybe},
		{"~/.ssh/**", "~/.ss\xff", Maybe},
		{"${workspace}/**", "../x", No},
		{"${workspace}/**", "\xff", No},
		{"${workspace}/private/**", "/srv/app/\xff", No},
		{"**", "\xff", Yes},
		{"/**", `C:\x`, Yes},
		{"**/*.pem", "a.PEM", Yes},
		{"**/*.pem", ".pem", Yes},
		{"**/*.pem", "\xff.pem", Yes},
		{"**/*.pem", "a/\xfe.pem", Yes},
		{"**/*.pem", "a\xfe", No},
		{"**/*.pem", "a.p\xfe", Maybe},
		{"**/id_*", "id_\xfe", Yes},
		{"**/id_*", "\xfe_rsa", No},
		{"**/id_*", "i\xfe", Maybe},
		{"**/{a,b}.txt", "b.txt", Yes},
		{"{~/.ssh,~/.aws}/**", "~/.aws/x", Yes},
		{"**/[abc]?[!x-z].t", "bqa.t", Yes},
		{"**/[abc]?[!x-z].t", "BqA.t", Yes},
		{"**/[abc]?[!x-z].t", "bqy.t", No},
		{"**/[]]x", "]x", Yes},
		{"**/straße", "STRAẞE", Yes},
		{"**/.git/**", ".g\u200cit/config", Yes},
		{"**/sky", "S\u212aY", Yes},
		{"C:/Users/**", "/c/Users/dave", Yes},
		{"C:/Users/**", "/mnt/c/users/dave", Yes},
		{"C:/Users/**", "/cygdrive/C/users/dave", Yes},
		{"C:/Users/**", `\\?\c:\Users\dave`, Yes},
		{"C:/Users/**", `\\localhost\C$\Users\dave`, Yes},
		{"/c/Users/**", `C:/Users\dave`, Yes},
		{`C:\Users\**`, `c:\users`, Yes},
		{"/mnt/c/Users/**", `C:\users\x`, Yes},
		{"~/.ssh/**", `\\wsl.localhost\Debian\home\u\.ssh\id`, Yes},
		{"~/.ssh/**", `~\.ssh\id`, Yes},
		{"**/a/**/b", "a/b", Yes},
		{"**/a/**/b", "a/x/y/b", Yes},
		{"**/a/**/b", "x/b", No},
	}
	for _, test := range tests {
		p, err := ParsePath(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		w := pathWorld()
		path := w.Resolve(test.path)
		if got := p.Match(path, false, w); got != test.want {
			t.Errorf("%s on %q: got %d, want %d; forms %q", test.pattern, test.path, got, test.want, path.Forms)
		}
		if p.Covers(path, w) && p.Match(path, false, w) != Yes {
			t.Errorf("%s on %q: covered, but not matched", test.pattern, test.path)
		}
	}
}

func TestPathPatternMatchDeep(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          Match
	}{
		{"~/.ssh/**", "~", Yes},
		{"~/.ssh/**", "/", Yes},
		{"~/.ssh/**", "~/.ssh", Yes},
		{"~/.ssh/**", "~/.SSH/keys", Yes},
		{"~/.ssh/**", "~/other", No},
		{"~/.bashrc", "~/", Yes},
		{"**/secrets/**", "build", No},
		{"**/secrets/**", "/", No},
		{"**/secrets/**", "secrets", Yes},
		{"config/prod.yaml", "config", Yes},
		{"config/prod.yaml", ".", Yes},
		{"config/prod.yaml", "build", No},
		{"${workspace}/**/.env", ".", Yes},
		{"${workspace}/**/.env", "build", No},
		{"~/.ssh/**", "\xff", No},
		{"~/*/x", "~/a", Yes},
		{"C:/Users/**", "c:/", Yes},
	}
	for _, test := range tests {
		p, err := ParsePath(test.pattern)
		if err != nil {
			t.Fatalf("%s: %v", test.pattern, err)
		}
		w := pathWorld()
		if got := p.Match(w.Resolve(test.path), true, w); got != test.want {
			t.Errorf("%s on %q: got %d, want %d", test.pattern, test.path, got, test.want)
		}
	}
}

func TestPathPatternCovers(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"${workspace}/**", "a/b", true},
		{"${workspace}/**", "a/../../b", false},
		{"${workspace}/**", "\xff", false},
		{"${workspace}/**", "a/\xff", false},
		{"${workspace}/**", "a/\xfe.go", true},
		{"${workspace}/**", "a/.\xfe", false},
		{"${workspace}/**", "/proc/self/cwd/a", false},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "SRC/a.go", false},
		{"src/*.go", "src/a.GO", false},
		{"**/*.txt", "x.txt", true},
		{"**", "x::$DATA", true},
		{"**/[a-c].txt", "B.txt", false},
		{"~/x/**", "~/x/y", true},
		{"C:/w/**", `c:\w\x`, false}, // on a system where \ is a character of a name too
		{"C:/w/**", `c:/w/x`, true},
	}
	for _, test := range tests {
		p, err := ParsePath(test.pattern)
		if err != nil {
			t.Fatalf("%s: %v", test.pattern, err)
		}
		w := pathWorld()
		path := w.Resolve(test.path)
		if got := p.Covers(path, w); got != test.want {
			t.Errorf("%s on %q: got %v, want %v; forms %q", test.pattern, test.path, got, test.want, path.Forms)
		}
	}
}

// TestPathPatternWhereRootsAreUnknown holds that a deny rule does not sleep where ~ or the workspace is not known.
func TestPathPatternWhereRootsAreUnknown(t *testing.T) {
	w := &World{}
	for pattern, path := range map[string]string{
		"~/.ssh/**":            "/home/x/.ssh/id",
		"${workspace}/.hidden": "/x/.hidden",
		"build/**":             "build",
	} {
		p, err := ParsePath(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(w.Resolve(path), false, w); got != Yes {
			t.Errorf("%s on %s: got %d", pattern, path, got)
		}
		if p.Covers(w.Resolve(path), w) {
			t.Errorf("%s covers %s", pattern, path)
		}
	}
}

func TestParsePathErrors(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"", "empty"},
		{"../x", "go up"},
		{"/a/../x", "go up"},
		{"a/[bc", "not closed"},
		{"a/b]", "not opened"},
		{"a/[b/c]", "not closed"},
		{"{a,b", "not closed"},
		{"a}", "not opened"},
		{"{}", "is empty"},
		{"${worksapce}/x", "did you mean ${workspace}?"},
		{"$HOME/x", "did you mean ${home}?"},
		{"${HOME}/x", "did you mean ${home}?"},
		{"x/${home}", "at the start"},
		{"~bob/x", "~bob"},
		{"a\x00", "bytes"},
		{"\xff/x", "bytes"},
		{strings.Repeat("{a,b}", 7), "more than 64"},
		{strings.Repeat("{a,b}", 100_000), "more than 64"},
	}
	for _, test := range tests {
		_, err := ParsePath(test.pattern)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: got %v, want %q", test.pattern, err, test.want)
		}
	}
}

func TestPathPatternIn(t *testing.T) {
	const env, ssh, secrets, passwd = "**/.env", "~/.ssh/**", "**/secrets/**", "/etc/passwd"
	tests := []struct {
		pattern, code string
		want          bool
	}{
		{env, `open(".env").read()`, true},
		{env, `open('.ENV')`, true},
		{env, `open F, "<.env"`, true},
		{env, "fs.readFileSync(`${dir}/.env`)", true},
		{env, `open(d + "/.env")`, true},
		{env, `process.env.HOME`, false},
		{env, `require("process").env`, false},
		{env, `f"{name}.env"`, false},
		{env, `os.environ[".environment"]`, false},
		{env, `re.sub(r".*", "", x)`, false},
		{ssh, `open(os.path.expanduser("~/.ssh/id_rsa"))`, true},
		{ssh, `os.path.join(home, ".ssh", "id_rsa")`, true},
		{ssh, `Path.home() / ".ssh"`, true},
		{ssh, `File.read("#{ENV['HOME']}/.ssh/id_rsa")`, true},
		{ssh, `open("/home/u/.ssh/x")`, true},
		{ssh, `open("/home/u/x.txt")`, false},
		{ssh, `import sshtunnel`, false},
		{secrets, `import secrets; print(secrets.token_hex(16))`, false},
		{secrets, `os.listdir("secrets")`, true},
		{secrets, `os.path.join("secrets", "a.txt")`, true},
		{secrets, `d["secrets"], e.get('secrets'), {"secrets": 1}`, false},
		{secrets, `open('secrets/a.txt')`, true},
		{passwd, `open("/etc/passwd")`, true},
		{passwd, `system("cat /etc/passwd")`, true},
		{passwd, `{print $1}`, false},
		{"**", `anything "x/y"`, false},
		{"config/prod.yaml", `open("config/prod.yaml")`, true},
		{"config/prod.yaml", `open("other/config/prod.yaml")`, false},
	}
	for _, test := range tests {
		p, err := ParsePath(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.In(test.code, pathWorld()); got != test.want {
			t.Errorf("%s in %s: got %v", test.pattern, test.code, got)
		}
	}
}
