package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/hook"
	"sallyport/internal/policy"
	"sallyport/internal/yaml"
)

func newPolicyTest() *cobra.Command {
	var cases string
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Hold a policy to the cases that are written down beside it",
		Long: `Judges described calls by a policy file alone, without starter pack and built-in rules, and compares the decisions with
those that are expected. The cases of policy.yaml are in policy.test.yaml or policy.test.json beside it: a list of
  - name: force push is denied
    command: git push --force origin main    # or call: {tool, input, cwd, host, principal, tenant}, or event: what a hook gets,
                                             # or request: {method: tools/call, params: {...}}, what a client sends
    expect: deny                             # deny, ask or allow
    rule: force-push                         # optional: the rule that decides
    observed: ask                            # optional: what rules in mode observe would make of it
    read_only: true                          # optional: whether rules say that it only reads
    key: request_id                          # optional: the key of the mutation that rules say it is
Calls are judged in the working folder where they name none. Nothing is run.
Exit code 0: all cases hold. 1: one does not. 2: the policy or the cases cannot be read.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readPolicyFile(args[0])
			if err != nil {
				return err
			}
			p, err := policy.Parse(args[0], text)
			if err != nil {
				return err
			}
			if cases == "" {
				if cases, err = casesBeside(args[0]); err != nil {
					return err
				}
			}
			all, err := readCases(cases)
			if err != nil {
				return err
			}
			if !runCases(cmd.OutOrStdout(), p, all) {
				return exit(exitNo)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&cases, "cases", "", "the `FILE` of the cases")
	return cmd
}

// casesBeside is the file of the cases of a policy file.
func casesBeside(name string) (string, error) {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	for _, ext := range []string{".test.yaml", ".test.yml", ".test.json"} {
		if _, err := os.Stat(stem + ext); err == nil {
			return stem + ext, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", withHint(fmt.Errorf("there is no %s.test.yaml", stem), "write cases there, or name their file with --cases; sallyport policy test --help shows one")
}

// policyCase is one call and what is expected of it.
type policyCase struct {
	name                   string
	call                   describedCall
	expect, rule, observed string
	readOnly, key          *string // of the terms, nil where the case does not say
}

func readCases(name string) ([]policyCase, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the cases: %w", err), "sallyport policy test --help shows some")
	}
	r := caseReader{name: name, text: text}
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '[' {
		read, err := yaml.Parse(text)
		if e, ok := errors.AsType[*yaml.Error](err); ok {
			return nil, &policy.Error{File: name, Line: e.Line, Col: e.Column, Msg: e.Msg, Hint: e.Hint}
		}
		r.yaml, r.text = &read, read.JSON
	}
	root, err := canon.Parse(r.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if root.Kind() != canon.Array || len(slices.Collect(root.Elements())) == 0 {
		return nil, r.errorAt(root, "the cases are not a list", "sallyport policy test --help shows one")
	}
	var all []policyCase
	for v := range root.Elements() {
		c, err := r.one(v)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// caseReader reads the file of the cases.
type caseReader struct {
	name string
	text []byte // JSON
	yaml *yaml.Document
}

func (r *caseReader) errorAt(v canon.Value, msg, hint string) error {
	offset := v.OffsetIn(r.text)
	line, column := canon.Place(r.text, offset)
	if r.yaml != nil {
		line, column = r.yaml.Place(offset)
	}
	return &policy.Error{File: r.name, Line: line, Col: column, Msg: msg, Hint: hint}
}

func (r *caseReader) one(v canon.Value) (c policyCase, err error) {
	described := 0
	for key, member := range v.Members() {
		switch key {
		case "name":
			c.name, err = r.words(key, member)
		case "expect":
			c.expect, err = r.words(key, member, "deny", "ask", "allow")
		case "observed":
			c.observed, err = r.words(key, member, "deny", "ask", "allow")
		case "rule":
			c.rule, err = r.words(key, member)
		case "command":
			described++
			if _, err = r.words(key, member); err == nil {
				input, _ := canon.Parse(append(append([]byte(`{"command":`), member.Bytes()...), '}'))
				c.call = describedCall{tool: "Bash", input: input, host: "claude", principal: "local"}
			}
		case "call":
			described++
			c.call, err = r.call(member)
		case "event":
			described++
			if c.call, err = eventCall(member, "claude"); err != nil {
				err = r.errorAt(member, err.Error(), "")
			}
		case "request":
			described++
			c.call, err = r.request(member)
		case "read_only":
			c.readOnly, err = r.flag(key, member)
		case "key":
			var name string
			name, err = r.words(key, member)
			c.key = &name
		default:
			err = r.errorAt(member, fmt.Sprintf("unknown key %q", key), "known here: name, command, call, event, request, expect, rule, observed, read_only, key")
		}
		if err != nil {
			return c, err
		}
	}
	switch {
	case v.Kind() != canon.Object:
		return c, r.errorAt(v, "the case is not an object", "sallyport policy test --help shows one")
	case described != 1:
		return c, r.errorAt(v, "a case has one of: command, call, event, request", "")
	case c.expect == "":
		return c, r.errorAt(v, `the case has no "expect"`, "write one of: deny, ask, allow")
	case c.name == "":
		c.name = fmt.Sprintf("%.60s", c.call.input.Bytes())
	}
	return c, nil
}

// words reads a string; of some, if they are given.
func (r *caseReader) words(key string, v canon.Value, words ...string) (string, error) {
	text, ok := v.Text()
	if !ok || text == "" || words != nil && !slices.Contains(words, text) {
		hint := ""
		if words != nil {
			hint = "write one of: " + strings.Join(words, ", ")
		}
		return "", r.errorAt(v, fmt.Sprintf("this is no value for %q", key), hint)
	}
	return text, nil
}

// request reads what a client sends to a server.
func (r *caseReader) request(v canon.Value) (describedCall, error) {
	c, err := requestCall(v)
	if err == nil && !isRequest(v) {
		err = errors.New("the request has no method and params")
	}
	if err != nil {
		err = r.errorAt(v, err.Error(), `write {method: resources/read, params: {uri: "file:///x"}}`)
	}
	return c, err
}

// flag reads true or false, as a word.
func (r *caseReader) flag(key string, v canon.Value) (*string, error) {
	b, ok := v.Bool()
	if !ok {
		return nil, r.errorAt(v, fmt.Sprintf("this is no value for %q", key), "write true or false")
	}
	word := strconv.FormatBool(b)
	return &word, nil
}

func (r *caseReader) call(v canon.Value) (c describedCall, err error) {
	c = describedCall{host: "claude", principal: "local"}
	for key, member := range v.Members() {
		switch key {
		case "tool":
			c.tool, err = r.words(key, member)
		case "cwd":
			c.dir, err = r.words(key, member)
		case "host":
			c.host, err = r.words(key, member, hook.Hosts()...)
		case "principal":
			c.principal, err = r.words(key, member)
		case "tenant":
			c.tenant, err = r.words(key, member)
		case "input":
			c.input = member
		default:
			err = r.errorAt(member, fmt.Sprintf("unknown key %q", key), "known here: tool, input, cwd, host, principal, tenant")
		}
		if err != nil {
			return c, err
		}
	}
	if c.tool == "" {
		return c, r.errorAt(v, `the call has no "tool"`, `write {tool: Bash, input: {command: "ls"}}`)
	}
	return c, nil
}

// runCases judges the cases, prints a table and reports whether all hold.
func runCases(w io.Writer, p *policy.Policy, all []policyCase) bool {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	failed := 0
	for _, c := range all {
		request := c.call.request(p)
		decision, why := p.Evaluate(request)
		var faults []string
		if decision.String() != c.expect {
			faults = append(faults, "want "+c.expect)
		}
		if c.rule != "" && why.Rule != c.rule {
			faults = append(faults, "want it by "+c.rule)
		}
		observed := ""
		if why.Observed.Rule != "" {
			observed = why.Observed.Decision.String()
		}
		if c.observed != "" && c.observed != observed {
			faults = append(faults, "want observed "+c.observed)
		}
		terms := p.Terms(request)
		if got := strconv.FormatBool(terms.ReadOnly); c.readOnly != nil && *c.readOnly != got {
			faults = append(faults, "want read_only "+*c.readOnly)
		}
		if c.key != nil && *c.key != terms.Key {
			faults = append(faults, fmt.Sprintf("want key %s, have %q", *c.key, terms.Key))
		}
		mark := "ok"
		if faults != nil {
			mark = "FAIL"
			failed++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s by %s", mark, shownName(c.name), decision, why.Rule)
		if observed != "" {
			fmt.Fprintf(tw, ", observed %s by %s", observed, why.Observed.Rule)
		}
		if faults != nil {
			fmt.Fprintf(tw, "\t%s: %s", strings.Join(faults, ", "), why.Reason)
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
	if failed > 0 {
		fmt.Fprintf(w, "%d of %d cases fail\n", failed, len(all))
	} else {
		fmt.Fprintf(w, "all %d cases hold\n", len(all))
	}
	return failed == 0
}

// shownName is a case's name in one line.
func shownName(name string) string { return strings.Join(strings.Fields(name), " ") }
