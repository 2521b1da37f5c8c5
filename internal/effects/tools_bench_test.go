package effects

import (
	"strings"
	"testing"
)

func BenchmarkOf(b *testing.B) {
	dir := b.TempDir()
	var patterns []*PathPattern
	for _, text := range []string{"**/.env", "~/.ssh/**", "/etc/passwd", "**/secrets/**", "~/.bashrc", "**/.git/hooks/**", "${workspace}/x/**", "**/*.pem"} {
		p, err := ParsePath(text)
		if err != nil {
			b.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	for _, test := range []struct{ name, tool, input string }{
		{"200 characters", "Bash", `{"command":` + jsonText(`cd internal && go build -o bin/app ./cmd/app && cat go.mod | grep -v '^#' > out.txt && git status --short && rm -r build/out dist; for f in *.go; do gofmt -l "$f"; done; ls -la docs/reference internal`) + `}`},
		{"1000 commands", "Bash", `{"command":` + jsonText(strings.Repeat("cat a/b.txt && ", 999)+"ls") + `}`},
		{"a write of 5 MB", "Write", `{"file_path":"/srv/x","content":"` + strings.Repeat("x", 5<<20) + `"}`},
		{"an unknown tool's", "mcp__fs__write_file", `{"path":"a/b.txt","content":"x"}`},
	} {
		input := parsed(b, test.input)
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				w := &World{Dir: dir, Workspace: dir, Homes: []string{dir}}
				for _, e := range Of(test.tool, input, nil, w) {
					if e.Kind == Read || e.Kind == Write {
						for _, p := range patterns {
							p.Match(e.Path, e.Deep, w)
						}
					}
				}
			}
		})
	}
}
