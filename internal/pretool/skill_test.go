package pretool

import (
	"strings"
	"testing"
)

func TestSuggestSkill(t *testing.T) {
	for _, tt := range []struct{ path, ext, skill string }{
		{"A.java", ".java", "java-spring-boot-microservices"},
		{"main.tf", ".tf", "kubernetes"},
		{"View.swift", ".swift", "swiftui-core"},
		{"x.Tsx", ".tsx", "react-core"},
		{"X.PY", ".py", "python-core"},
		{`C:\src\a.py`, ".py", "python-core"},
		{`src\ci/Jenkinsfile`, "", "jenkins-pipeline"},
		{"JENKINSFILE", "", "jenkins-pipeline"},
		{"docker/DOCKERFILE", "", "docker"},
		{"api.Dockerfile", ".dockerfile", "docker"},
		{".dockerfile", "", "docker"},
		{"Dockerfile.dev", ".dev", ""},
		{"my-Dockerfile", "", ""},
		{"Dockerfile/x", "", ""},
		{"Dockerfile/", "", "docker"},
		{" a.py\n", ".py", "python-core"},
		{"a.p\x00y\x00", ".py", "python-core"},
		{"a.tar.gz", ".gz", ""},
		{"a.min.js", ".js", "javascript-core"},
		{"a.py.bak", ".bak", ""},
		{".gitignore", "", ""},
		{".py", "", ""},
		{"x/.py", "", ""},
		{"..py", "", ""},
		{".env.json", ".json", "json-core"},
		{"a.", "", ""},
		{"a..", "", ""},
		{"py", "", ""},
		{"a.d/b", "", ""},
		{`a.py\b`, "", ""},
		{"README.MD", ".md", ""},
		{"a.pyx", ".pyx", ""},
		{"ü.ÄÖ", ".äö", ""},
		{"", "", ""},
		{".", "", ""},
		{"..", "", ""},
		{"/", "", ""},
		{`\\`, "", ""},
		{"\x00 ", "", ""},
	} {
		if ext, skill := suggestSkill(tt.path, nil); ext != tt.ext || skill != tt.skill {
			t.Errorf("skill for %q = %q, %q; want %q, %q", tt.path, ext, skill, tt.ext, tt.skill)
		}
	}
}

func TestProjectsOwnSkills(t *testing.T) {
	own := map[string]string{
		".zig": "zig-core", ".D.TS": "typing-core", ".ts": "deno-core", "Makefile": "make-core", "Dockerfile": "podman", ".gitignore": "git-core",
		".md": "",
	}
	for _, tt := range []struct{ path, ext, skill string }{
		{"a.zig", ".zig", "zig-core"},
		{"a.ZIG", ".zig", "zig-core"},
		{".zig", "", "zig-core"}, // the whole name
		{"azig", "", ""},
		{"a.ts", ".ts", "deno-core"},
		{"a.d.ts", ".ts", "typing-core"},
		{"makefile", "", "make-core"},
		{"x.makefile", ".makefile", ""},
		{"Dockerfile", "", "podman"},
		{"a.dockerfile", ".dockerfile", "docker"},
		{".gitignore", "", "git-core"},
		{"a.py", ".py", "python-core"},
		{"a.md", ".md", ""},
	} {
		if ext, skill := suggestSkill(tt.path, own); ext != tt.ext || skill != tt.skill {
			t.Errorf("skill for %q = %q, %q; want %q, %q", tt.path, ext, skill, tt.ext, tt.skill)
		}
	}
}

func TestOwnSkillsThatDifferInCaseAreTakenAlways(t *testing.T) {
	own := map[string]string{".ZIG": "b", ".zig": "a", ".Zig": "c"}
	for range 100 {
		if _, skill := suggestSkill("x.zig", own); skill != "a" {
			t.Fatalf("skill %q, want %q each time", skill, "a")
		}
	}
}

func FuzzSuggestSkill(f *testing.F) {
	for _, path := range []string{"A.java", `C:\src\Dockerfile`, ".gitignore", "a.tar.gz", "\x00 ..py/", "İ.Ṡ"} {
		f.Add(path, ".zig")
	}
	f.Fuzz(func(t *testing.T, path, key string) {
		ext, skill := suggestSkill(path, map[string]string{key: "own"})
		if ext != "" && (len(ext) < 2 || ext[0] != '.' || ext != strings.ToLower(ext) || strings.ContainsAny(ext, `/\`)) {
			t.Errorf("extension of %q = %q", path, ext)
		}
		if !strings.Contains(strings.ToLower(strings.ReplaceAll(path, "\x00", "")), ext) {
			t.Errorf("extension of %q = %q, which is not in it", path, ext)
		}
		if _, builtin := suggestSkill(path, nil); skill != builtin && skill != "own" {
			t.Errorf("skill for %q = %q, want own or %q", path, skill, builtin)
		}
	})
}
