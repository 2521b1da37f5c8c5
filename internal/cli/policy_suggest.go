package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

func newPolicySuggest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suggest [LEDGER]",
		Short: "Suggest a policy that allows what a ledger has seen",
		Long: `Reads the effects of calls that a ledger recorded and prints a policy that allows them, with comments on how often each
was seen. Begin with a policy in mode observe, work for some days, then let this write the list, and read it: what was
seen need not be right. What was denied or asked about, or would have been by a rule that was observed, is left out.
LEDGER is the ledger's folder or file; else LEDGER_DIR, else .ledger. One ledger gives one text.`,
		Example: `  sallyport policy suggest ~/.local/state/sallyport > policy.yaml`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := ledgerFile(args, "")
			if err != nil {
				return err
			}
			s, err := surveyLedger(path)
			if err != nil {
				return err
			}
			text := s.policy()
			if _, err := policy.Parse("suggestion", text); err != nil {
				return fmt.Errorf("the suggestion cannot be read back: %w", err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	return cmd
}

// seen counts, by name.
type seen map[string]int

// suggestion is what a ledger has seen.
type suggestion struct {
	calls, left, opaque                   int
	runs, reads, writes, connects, spawns seen
	methods                               seen            // other than tools/call
	idle                                  seen            // tools that were called without effects
	busy                                  map[string]bool // tools that were called with some
}

func surveyLedger(path string) (*suggestion, error) {
	f, err := ledger.Snapshot(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &suggestion{runs: seen{}, reads: seen{}, writes: seen{}, connects: seen{}, spawns: seen{}, methods: seen{}, idle: seen{}, busy: map[string]bool{}}
	if err := ledger.Read(f, s.add); err != nil && err != io.EOF {
		return nil, withHint(fmt.Errorf("reading %s: %w", path, err), "sallyport verify tells what is wrong with it")
	}
	return s, nil
}

// add counts a record.
func (s *suggestion) add(line canon.Value) error {
	text := func(key string) string {
		value, _ := line.Get(key).Text()
		return value
	}
	method := text("method")
	other := slices.Contains(policy.GovernedMethods(), method)
	isCall := (method == "tools/call" || strings.HasPrefix(method, "hook/")) && line.Get("name").Exists()
	if !isCall && !other {
		return nil
	}
	rule := text("observed_rule")
	if text("decision") != "allow" || text("observed") == "deny" && rule != "default" || text("observed") == "ask" && rule != "default" {
		s.left++
		return nil
	}
	switch text("outcome") {
	case "failed", "conflict", "in_flight", "inconclusive", "not_executed":
		s.left++
		return nil
	}
	s.calls++
	if other {
		s.methods[method]++
		return nil
	}
	summary := line.Get("effects")
	if !summary.Exists() {
		s.idle[text("name")]++
		return nil
	}
	s.busy[text("name")] = true
	if opaque, _ := summary.Get("opaque").Bool(); opaque {
		s.opaque++
	}
	for key, counts := range map[string]seen{"runs": s.runs, "reads": s.reads, "writes": s.writes, "connects": s.connects, "spawns": s.spawns} {
		for v := range summary.Get(key).Elements() {
			if name, ok := v.Text(); ok {
				counts[name]++
			}
		}
	}
	return nil
}

// policy is the suggestion as the text of a policy file.
func (s *suggestion) policy() []byte {
	b := fmt.Appendf(nil, `# Suggested by "sallyport policy suggest" from %s of a ledger; %d others were denied, asked about or failed,
# and are left out. What was seen need not be right: read it, and delete what nobody needs.
version: 2
default: ask   # what no rule allows
mode: observe  # nothing is enforced yet; remove this line once the ledger shows no more surprises
`, countOf(s.calls, "call"), s.left)
	if s.opaque > 0 {
		b = fmt.Appendf(b, "# %s did something that cannot be read; no rule can allow that.\n", countOf(s.opaque, "call"))
	}
	for tool := range s.busy {
		delete(s.idle, tool)
	}
	rules := slices.Concat(
		s.rule("tools", "tools", s.idle, toolPattern, "tools that have no effects of which we know"),
		s.rule("runs", "runs", s.runs, runPattern, "commands with all their arguments, and what they do through those"),
		s.rule("reads", "reads", s.reads, folderPattern, "folders that were read"),
		s.rule("writes", "writes", s.writes, folderPattern, "folders that were written to"),
		s.rule("connects", "connects", s.connects, hostPattern, "hosts that were reached"),
		s.rule("methods", "methods", s.methods, toolPattern, "other requests to servers"),
		s.rule("spawns", "spawns", s.spawns, toolPattern, "agents that were started"),
	)
	if len(rules) == 0 {
		return append(b, "rules: []     # nothing was seen that could be allowed\n"...)
	}
	return append(append(b, "rules:\n"...), rules...)
}

// rule is one rule of the suggestion, nil if nothing is to be allowed. What is no pattern, or too much of one, stands in a
// comment.
func (s *suggestion) rule(id, key string, counts seen, pattern func(string) (text, doubt string), about string) []byte {
	var list, doubts []byte
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		text, doubt := pattern(name)
		quoted := string(canon.AppendString(nil, text))
		if doubt != "" {
			doubts = fmt.Appendf(doubts, "    #  - %s  # %s: %s\n", quoted, countOf(counts[name], "call"), doubt)
			continue
		}
		list = fmt.Appendf(list, "      - %s  # %s\n", quoted, countOf(counts[name], "call"))
	}
	var b []byte
	if len(list) > 0 {
		b = fmt.Appendf(b, "  - id: seen-%s  # %s\n    decision: allow\n    %s:\n%s", id, about, key, list)
	}
	if len(doubts) > 0 {
		b = append(fmt.Appendf(b, "    # Left to you, under %q:\n", key), doubts...)
	}
	return b
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func toolPattern(name string) (text, doubt string) {
	if name == "" || strings.ContainsAny(name, `*?[]{}\`) {
		return name, "it cannot be written as a pattern"
	}
	return name, ""
}

func runPattern(name string) (text, doubt string) {
	text = name + " *"
	program, _, _ := strings.Cut(name, " ")
	switch {
	case strings.ContainsAny(name, `*?[]{}"'`):
		return text, "it cannot be written as a pattern"
	case runsAnything(program):
		return text, "it can run anything"
	}
	if _, err := effects.ParseRun(text); err != nil {
		return text, "it cannot be written as a pattern"
	}
	return text, ""
}

// runsAnything reports whether a program runs whatever code it is given.
func runsAnything(program string) bool {
	switch program {
	case "sh", "bash", "zsh", "dash", "fish", "ksh", "pwsh", "powershell", "cmd", "eval", "source", ".", "python", "python3", "node", "deno",
		"bun", "perl", "ruby", "php", "lua", "awk", "gawk", "osascript", "ssh", "docker", "podman", "kubectl", "npx", "uvx":
		return true
	}
	return false
}

// folderPattern is the pattern of a folder in a summary, which is cut off below the second level.
func folderPattern(name string) (text, doubt string) {
	root, rest, below := strings.Cut(name, "/")
	if root == "." {
		root = "${workspace}"
	}
	text = root + "/*"
	switch {
	case strings.ContainsAny(name, `*?[]{}$`):
		return name, "it cannot be written as a pattern"
	case root == "" && rest == "":
		return "/*", "it is the root of all"
	case below && strings.Count(rest, "/") >= 1:
		text = root + "/" + rest + "/**"
	case below:
		text = root + "/" + rest + "/*"
	}
	if _, err := effects.ParsePath(text); err != nil {
		return text, "it cannot be written as a pattern"
	}
	return text, ""
}

func hostPattern(name string) (text, doubt string) {
	if _, err := effects.ParseHost(name); err != nil || strings.ContainsAny(name, `*?[]{}`) {
		return name, "it cannot be written as a pattern"
	}
	return name, ""
}
