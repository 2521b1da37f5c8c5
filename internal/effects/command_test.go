package effects

import "testing"

func TestSubcommand(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"rm -rf secret", "rm"},
		{"/usr/bin/git -C x push origin main", "git push"},
		{"git stash push -m x", "git stash push"},
		{"git hunter2", "git"},
		{"git --password hunter2", "git"},
		{"npm run deploy:prod", "npm run"},
		{"npm i x", "npm install"},
		{"docker --context c run img cmd", "docker run"},
		{"docker container run img", "docker run"},
		{"docker compose -f x up -d", "docker compose up"},
		{"go test ./...", "go test"},
		{"go mod tidy", "go mod tidy"},
		{"cargo +nightly build", "cargo"},
		{"kubectl -n prod delete pod x", "kubectl delete"},
		{"gh pr create --body x", "gh pr create"},
		{"deploy-tool secret", "deploy-tool"},
		{"curl -u a:b http://x", "curl"},
		{"GIT.EXE push", "git push"},
		{`git "$X"`, "git"},
		{"", ""},
	} {
		c := Command{Words: shellWords(test.command)}
		if got := c.Subcommand(); got != test.want {
			t.Errorf("%q: %q, want %q", test.command, got, test.want)
		}
	}
}
