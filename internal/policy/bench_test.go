package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/internal/policy"
)

// fiftyRules is a policy of 50 rules in JSON.
func fiftyRules() string {
	var list []string
	for i := range 50 {
		switch i % 5 {
		case 0:
			list = append(list, fmt.Sprintf(`{"id":"run-%d","decision":"deny","runs":["tool-%d *","tool-%d --force *"]}`, i, i, i))
		case 1:
			list = append(list, fmt.Sprintf(`{"id":"path-%d","decision":"deny","reads":["**/secret-%d/**"],"writes":["~/.config/app-%d/**"]}`, i, i, i))
		case 2:
			list = append(list, fmt.Sprintf(`{"id":"tool-%d","decision":"ask","tools":["mcp__srv%d__*"],"reason":"Ask the owner."}`, i, i))
		case 3:
			list = append(list, fmt.Sprintf(`{"id":"git-%d","decision":"deny","runs":["git verb-%d --flag *"]}`, i, i))
		default:
			list = append(list, fmt.Sprintf(`{"id":"when-%d","decision":"deny","tools":["Write"],"args":{"content":{"matches":"x{%d}"}},"when":"args.file_path startsWith '/x%d'"}`, i, i+1, i))
		}
	}
	return `{"version":2,"default":"allow","rules":[` + strings.Join(list, ",\n") + `]}`
}

const longCommand = `set -eu; cd src && go build ./... && for f in cmd/*; do go vet "./$f" | tee -a build/vet.log; done; git add src/a.go src/b.go && git commit -m "build: vet every command" && git status --short | head -20`

func BenchmarkParse(b *testing.B) {
	text := []byte(fiftyRules())
	compiled, err := policy.Compile("p", text)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if _, err := policy.Parse("p", text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compiled", func(b *testing.B) {
		for b.Loop() {
			if _, err := policy.ParseCompiled("p", text, compiled); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("starter", func(b *testing.B) {
		for b.Loop() {
			policy.StarterPack()
		}
	})
	yaml := policy.StarterText()
	b.Run("YAML", func(b *testing.B) {
		for b.Loop() {
			if _, err := policy.Parse("p", yaml); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCombine(b *testing.B) {
	text := []byte(fiftyRules())
	own := policy.Own{Files: []string{"/etc/sallyport/policy.yaml", "/work/app/.sallyport/policy.yaml"}, Folders: []string{"/home/u/.local/state/sallyport"}}
	p, err := policy.Parse("p", text)
	if err != nil {
		b.Fatal(err)
	}
	starter := policy.StarterPack()
	for b.Loop() {
		policy.Combine(policy.Layer{Policy: p, Level: policy.User}, policy.Layer{Policy: starter, Level: policy.Starter}, policy.Layer{Policy: policy.Guard(own), Level: policy.BuiltIn})
	}
}

func BenchmarkVersion2(b *testing.B) {
	fifty := mustParse(b, fiftyRules())
	all := policy.Combine(policy.Layer{Policy: fifty, Level: policy.User}, policy.Layer{Policy: policy.StarterPack(), Level: policy.Starter},
		policy.Layer{Policy: policy.Guard(policy.Own{Folders: []string{"/home/u/.local/state/sallyport"}}), Level: policy.BuiltIn})
	for name, p := range map[string]*policy.Policy{"50 rules": fifty, "all layers": all} {
		for what, command := range map[string]string{"200 characters": longCommand, "ls": "ls", "1000 commands": strings.Repeat("true a b && ", 999) + "true"} {
			r := shell(command)
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if d, why := p.Evaluate(r); d != policy.Allow {
						b.Fatal(d, why)
					}
				}
			})
		}
	}
}
