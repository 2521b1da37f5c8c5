//go:build linux

package main

import (
	"fmt"
	"strings"
)

// command200 is a shell command of 200 characters, as agents write them, with escapes for JSON.
const command200 = `cd internal/policy && go test ./... -run 'TestParse|TestEvaluate' -count=1 2>&1 | grep -v '^ok' | head -40; ` +
	`git status --short && git diff --stat HEAD -- internal docs/reference | tail -12 || echo bad`

// rule is a rule of the policy for the hook, its values as JSON, which YAML takes as well.
type rule struct {
	decision string
	keys     [][2]string
}

// policyRules are 50 rules of the kinds that people write: what agents must not run, read, write and reach, and what
// they may do with the tools of MCP servers.
func policyRules() []rule {
	var rules []rule
	add := func(decision string, keys ...[2]string) { rules = append(rules, rule{decision, keys}) }
	for _, pattern := range []string{
		"rm -r -f *", "git push --force *", "git reset --hard *", "git clean -f *", "git checkout -- *", "curl *", "wget *",
		"dd *", "mkfs *", "shutdown *", "chmod -R *", "chown -R *", "docker system prune *", "kubectl delete *",
		"terraform destroy *", "npm unpublish *", "yarn", "psql *", "aws s3 rm *", "gcloud projects delete *",
	} {
		add("deny", [2]string{"runs", fmt.Sprintf("[%q]", pattern)}, [2]string{"reason", `"Ask a person to do this."`})
	}
	for _, pattern := range []string{
		"**/.env", "~/.ssh/**", "~/.aws/**", "**/secrets/**", "**/*.pem", "/etc/shadow", "~/.netrc", "~/.kube/config",
		"**/.git/hooks/**", "~/.bashrc", "**/node_modules/**", "**/vendor/**",
	} {
		add("deny", [2]string{"reads", fmt.Sprintf("[%q]", pattern)}, [2]string{"writes", fmt.Sprintf("[%q]", pattern)})
	}
	for _, pattern := range []string{"npm publish *", "cargo publish *", "gh release *", "twine upload *", "make deploy *", "git tag *"} {
		add("ask", [2]string{"runs", fmt.Sprintf("[%q]", pattern)})
	}
	for i := range 6 {
		add("allow", [2]string{"tools", fmt.Sprintf(`["mcp__server%d__*"]`, i)},
			[2]string{"args", `{"request_id": {"type": "string", "min_len": 8}}`})
	}
	for i := range 6 {
		add("deny", [2]string{"tools", fmt.Sprintf(`["mcp__server%d__delete_*"]`, i)},
			[2]string{"when", fmt.Sprintf(`"args.count > %d"`, 10*i)})
	}
	return rules
}

func policyJSON() []byte {
	var lines []string
	for i, r := range policyRules() {
		members := []string{fmt.Sprintf(`"id":"rule-%d"`, i), fmt.Sprintf(`"decision":%q`, r.decision)}
		for _, key := range r.keys {
			members = append(members, fmt.Sprintf("%q:%s", key[0], key[1]))
		}
		lines = append(lines, "{"+strings.Join(members, ",")+"}")
	}
	return fmt.Appendf(nil, "{\"version\":2,\"default\":\"allow\",\"rules\":[\n%s\n]}\n", strings.Join(lines, ",\n"))
}

func policyYAML() []byte {
	text := []byte("version: 2\ndefault: allow\nrules:\n")
	for i, r := range policyRules() {
		text = fmt.Appendf(text, "  - id: rule-%d\n    decision: %s\n", i, r.decision)
		for _, key := range r.keys {
			text = fmt.Appendf(text, "    %s: %s\n", key[0], key[1])
		}
	}
	return text
}
