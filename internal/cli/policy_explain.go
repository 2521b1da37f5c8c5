package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/effects"
	"sallyport/internal/hook"
	"sallyport/internal/output"
	"sallyport/internal/policy"
)

type explainOptions struct {
	event, policy, host string
	json                bool
}

func newPolicyExplain() *cobra.Command {
	var opt explainOptions
	cmd := &cobra.Command{
		Use:   "explain --event FILE",
		Short: "Explain what is decided of a call, rule by rule",
		Long: `Shows what is understood of the call in a hook's event, what each rule makes of it and why, and the decision. The event
is what a host gives its hook before a call; FILE is - for stdin. The policies are those that a hook would judge by: the
one of --policy, or else the user's, the project's and the starter pack; and always the machine's and the built-in rules.
FILE may also hold a request that a client sends to a server, {"method": "tools/call", "params": {...}}: it is judged by the
one of --policy alone, as a server does.
Unlike records it shows paths and commands: it is for whoever sees the event anyway.`,
		Example: `  echo '{"tool_name":"Bash","tool_input":{"command":"git push -f"}}' | sallyport policy explain --event -`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.event == "" {
				return withHint(errors.New("no event is named"), "name a file with --event, or - for stdin")
			}
			return explain(opt, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.event, "event", "", "the `FILE` of the event")
	flags.StringVar(&opt.policy, "policy", "", "the policy `FILE`, instead of the user's, the project's and the starter pack")
	flags.StringVar(&opt.host, "host", "claude", "the `HOST` whose event it is")
	flags.BoolVar(&opt.json, "json", false, "print JSON")
	return cmd
}

func explain(opt explainOptions, stdin io.Reader, stdout io.Writer) error {
	if _, err := hostNamed(opt.host); err != nil {
		return err
	}
	event, err := readEventFile(opt.event, stdin)
	if err != nil {
		return err
	}
	c, p, err := explained(opt, event)
	if err != nil {
		return err
	}
	e := explanation{request: c.request(p)}
	e.decision, e.why = p.Evaluate(e.request)
	e.steps, e.terms = p.Explain(e.request), p.Terms(e.request)
	if opt.json {
		_, err := stdout.Write(append(e.json(), '\n'))
		return err
	}
	return e.print(stdout)
}

// explained is the call that an event or a request describes, and the policy that judges it.
func explained(opt explainOptions, event canon.Value) (describedCall, *policy.Policy, error) {
	if !isRequest(event) {
		c, err := eventCall(event, opt.host)
		if err != nil {
			return c, nil, err
		}
		p, err := policiesFor(opt.policy, worldOf(c.dir))
		return c, p, err
	}
	c, err := requestCall(event)
	switch {
	case err != nil:
		return c, nil, err
	case opt.policy == "":
		return c, nil, withHint(errors.New("no policy is named that judges the request"), "name the server's own with --policy")
	}
	text, err := readPolicyFile(opt.policy)
	if err != nil {
		return c, nil, err
	}
	p, err := policy.Parse(opt.policy, text)
	return c, p, err
}

func readEventFile(name string, stdin io.Reader) (canon.Value, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return canon.Value{}, withHint(fmt.Errorf("reading the event: %w", err), "name a file with --event, or - for stdin")
	}
	v, err := canon.Parse([]byte(strings.TrimPrefix(string(text), "\ufeff")))
	if err != nil {
		return v, withHint(fmt.Errorf("the event cannot be read: %w", err), "it is one JSON object")
	}
	return v, nil
}

// policiesFor are the policies by which a hook would judge calls in a world.
func policiesFor(named string, w *effects.World) (*policy.Policy, error) {
	places := hook.Places{Managed: hook.ManagedPolicy(), Homes: w.Homes, Dir: w.Dir}
	if named != "" {
		full, err := filepath.Abs(named)
		if err != nil {
			return nil, err
		}
		if _, err := readPolicyFile(named); err != nil {
			return nil, err
		}
		places.Named = full
	}
	if len(w.Homes) > 0 {
		places.State = hook.StateDir(w.Homes[0])
		places.Ledger = places.State
	}
	loaded, err := hook.Load(durable.OS, places)
	return loaded.Policy, err
}

// explanation is what is said of a call.
type explanation struct {
	request  policy.Request
	decision policy.Decision
	why      policy.Why
	steps    []policy.Step
	terms    policy.Terms
}

func (e *explanation) print(w io.Writer) error {
	if e.isCall() {
		fmt.Fprintf(w, "tool     %s\n", e.request.Tool)
	} else {
		fmt.Fprintf(w, "method   %s\n", strings.TrimSpace(e.request.Method+" "+shownName(e.request.Tool)))
	}
	if len(e.request.Effects) == 0 {
		fmt.Fprintln(w, "effects  none are known")
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range e.request.Effects {
		kind, what := shownEffect(&e.request.Effects[i])
		fmt.Fprintf(tw, "%s\t%s\n", kind, what)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "rule\tdecision\tmatches\twhy")
	for _, s := range e.steps {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", s.Rule, shownDecision(s), s.Matches, s.Note)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\ndecision %s, by %s: %s\n", e.decision, e.why.Rule, e.why.Reason)
	if seen := e.why.Observed; seen.Rule != "" {
		fmt.Fprintf(w, "observed %s, by %s\n", seen.Decision, seen.Rule)
	}
	if terms := shownTerms(e.terms, e.isHooked()); terms != "" && e.decision != policy.Deny {
		fmt.Fprintf(w, "terms    %s\n", terms)
	}
	return nil
}

// isCall reports whether it is about a call of a tool.
func (e *explanation) isCall() bool { return e.request.Method == "tools/call" || e.isHooked() }

// isHooked reports whether it is about a call that a hook is asked about.
func (e *explanation) isHooked() bool { return strings.HasPrefix(e.request.Method, "hook/") }

// shownTerms says how a call that is allowed, or that a person agrees to, is carried out, where rules say it.
func shownTerms(t policy.Terms, hooked bool) string {
	var parts []string
	if t.ReadOnly {
		parts = append(parts, "it only reads")
	}
	if t.Key != "" {
		parts = append(parts, fmt.Sprintf("a mutation with the key %s, by %s", t.Key, t.Rule))
	}
	if t.Idempotent {
		parts = append(parts, "idempotent")
	}
	parts = append(parts, shownLater(t, hooked)...)
	if t.Output.MaxBytes > 0 {
		parts = append(parts, fmt.Sprintf("at most %d bytes of result", t.Output.MaxBytes))
	}
	if done := treated(t.Output.Control); done != "" {
		parts = append(parts, "control characters "+done)
	}
	if t.Output.Secrets {
		parts = append(parts, "secrets masked")
	}
	return strings.Join(parts, "; ")
}

// shownLater says what comes before and after a call: who must agree, and what verifies it. Of a hook's call the host asks, in
// its own time, and only files are verified; a server carries out no call of which only a hook could tell what it wrote.
func shownLater(t policy.Terms, hooked bool) (parts []string) {
	for _, v := range t.Verify {
		switch {
		case hooked && !v.Content:
		case !hooked && v.Content:
			parts = append(parts, "denied by a server, since by "+v.Rule+" it is verified by "+v.String()+", and only hooks know that")
		case v.For > 0:
			parts = append(parts, fmt.Sprintf("verified by %s, by %s, looked at again for %s", v, v.Rule, span(v.For)))
		default:
			parts = append(parts, fmt.Sprintf("verified by %s, by %s", v, v.Rule))
		}
	}
	switch {
	case t.Expires == 0 || hooked:
	case t.Operator:
		parts = append(parts, "an operator has "+span(t.Expires)+" to agree, at a terminal")
	default:
		parts = append(parts, "a person has "+span(t.Expires)+" to agree")
	}
	return parts
}

// span is a time without the smaller units that are zero.
func span(d time.Duration) string {
	text := d.String()
	if short, whole := strings.CutSuffix(text, "m0s"); whole {
		text = short + "m"
	}
	if short, whole := strings.CutSuffix(text, "h0m"); whole {
		text = short + "h"
	}
	return text
}

func treated(how output.Treatment) string {
	switch how {
	case output.Mark:
		return "marked"
	case output.Remove:
		return "removed"
	default:
		return ""
	}
}

func shownDecision(s policy.Step) string {
	if s.Observe {
		return s.Decision.String() + " (observed)"
	}
	return s.Decision.String()
}

// shownEffect is an effect in two words.
func shownEffect(e *effects.Effect) (kind, what string) {
	kind = e.Kind.String()
	switch {
	case e.Opaque != "":
		what = "cannot be read: " + e.Opaque
	case e.Kind == effects.Run:
		words := make([]string, len(e.Command.Words))
		for i, word := range e.Command.Words {
			words[i] = word.Text
		}
		what = strings.Join(words, " ")
		if e.Command.Code != "" {
			what += " (code that is judged by its words)"
		}
	case e.Kind == effects.Connect:
		what = e.Host
	case e.Kind == effects.Spawn:
		what = e.Agent
	default:
		what = strings.Join(e.Path.Forms, ", ")
		if e.Deep {
			what += " and all below"
		}
	}
	what = strings.ToValidUTF8(strings.NewReplacer("\xfe", "*", "\xfd", "?", "\n", " ", "\t", " ").Replace(what), "…")
	const most = 200
	if len(what) > most {
		what = strings.ToValidUTF8(what[:most], "") + "..."
	}
	return kind, what
}

func (e *explanation) json() []byte {
	b := canon.AppendString([]byte(`{"tool":`), e.request.Tool)
	b = append(b, `,"effects":[`...)
	for i := range e.request.Effects {
		kind, what := shownEffect(&e.request.Effects[i])
		b = comma(b, i)
		b = canon.AppendString(append(b, `{"kind":`...), kind)
		b = canon.AppendString(append(b, `,"what":`...), what)
		b = fmt.Appendf(b, `,"opaque":%t,"by":%d}`, e.request.Effects[i].Opaque != "", e.request.Effects[i].By)
	}
	b = append(b, `],"rules":[`...)
	for i, s := range e.steps {
		b = comma(b, i)
		b = canon.AppendString(append(b, `{"rule":`...), s.Rule)
		b = fmt.Appendf(b, `,"level":"%s","decision":"%s","observe":%t,"matches":"%s","why":`, s.Level, s.Decision, s.Observe, s.Matches)
		b = append(canon.AppendString(b, s.Note), '}')
	}
	b = canon.AppendString(append(b, `],"method":`...), e.request.Method)
	b = canon.AppendString(append(b, `,"terms":`...), shownTerms(e.terms, e.isHooked()))
	b = fmt.Appendf(b, `,"decision":"%s","rule":`, e.decision)
	b = canon.AppendString(b, e.why.Rule)
	b = canon.AppendString(append(b, `,"reason":`...), e.why.Reason)
	b = append(b, `,"observed":`...)
	if seen := e.why.Observed; seen.Rule == "" {
		b = append(b, "null"...)
	} else {
		b = fmt.Appendf(b, `{"decision":"%s","rule":`, seen.Decision)
		b = append(canon.AppendString(b, seen.Rule), '}')
	}
	return append(b, '}')
}

// comma separates the elements of a list.
func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}
