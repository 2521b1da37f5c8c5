//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sallyport/internal/ledger"
)

const (
	hookRules   = 50
	hookRecords = 100_000
	hookRounds  = 400
)

// hooked is a place where a coding agent calls the hook.
type hooked struct {
	home, work, ledger string
	json, yaml         string // the policy of 50 rules, in both spellings
	calls              int    // that must be in the ledger
}

// measureHook times the hook as a host sees it, from the start of its process to the end.
func (b *bench) measureHook() (err error) {
	h, err := b.newHooked()
	if err != nil {
		return err
	}
	if err := b.measureHookProcess(h); err != nil {
		return err
	}
	if err := b.measureHookStrain(h); err != nil {
		return err
	}
	if err := measureHookDecision(b); err != nil {
		return err
	}
	return h.check()
}

func (b *bench) newHooked() (*hooked, error) {
	home, err := b.folder("home")
	if err != nil {
		return nil, err
	}
	l, path, err := b.openLedger("hook")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if _, err := appendAtOnce(l, 1000, hookRecords); err != nil {
		return nil, err
	}
	h := &hooked{
		home: home, work: filepath.Join(home, "work"), ledger: filepath.Dir(path),
		json: filepath.Join(home, "policy.json"), yaml: filepath.Join(home, ".config", "sallyport", "policy.yaml"),
		calls: hookRecords,
	}
	for _, dir := range []string{h.work, filepath.Dir(h.yaml)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return h, errors.Join(
		os.WriteFile(h.json, policyJSON(), 0o600),
		os.WriteFile(h.yaml, policyYAML(), 0o600),
	)
}

// measureHookProcess compares whole processes with bare ones, all in turn.
func (b *bench) measureHookProcess(h *hooked) error {
	event := h.event("Bash", fmt.Sprintf(`{"command":"%s"}`, command200))
	synced := filepath.Join(h.home, "synced")
	times, err := turns(hookRounds,
		h.run(event, b.answer),
		h.run(event, b.answer, synced),
		h.ask(b, event, "", "--policy", h.json),
		h.ask(b, event, "", "--policy", h.yaml),
		h.ask(b, event, ""),
	)
	if err != nil {
		return err
	}
	bare, syncing := times[0], times[1]
	b.add(pairs{syncing, bare}.times("bare Go process that syncs a record (one that does not)", bar{}))
	b.add(tail(syncing, bar{})) // how quiet the machine is
	for i, what := range []string{
		fmt.Sprintf("%d rules in JSON", hookRules),
		fmt.Sprintf("%d rules in YAML", hookRules),
		fmt.Sprintf("%d rules in YAML and the starter pack", hookRules),
	} {
		own := times[2+i]
		b.add(pairs{own, bare}.times("hook, "+what+" (bare Go process)", atMost(3.5, "")))
		b.add(pairs{own, syncing}.times("    (bare Go process that syncs a record)", bar{}))
		b.add(tail(own, atMost(4, "")))
	}
	return b.measureHookEdited(h, event)
}

// tail makes a row that compares the slow ones with the one in the middle.
func tail(times []time.Duration, b bar) row {
	slow, middle := percentile(times, 99), median(times)
	return row{"    99th percentile (median)", brief(slow), brief(middle), float64(slow) / float64(middle), b}
}

// measureHookEdited times the first call after the policy was changed, which has to read YAML.
func (b *bench) measureHookEdited(h *hooked, event []byte) error {
	asked, edits := h.ask(b, event, ""), 0
	p, err := inTurn(30, func() (time.Duration, error) {
		edits++
		text := fmt.Appendf(policyYAML(), "# edit %d\n", edits)
		if err := os.WriteFile(h.yaml, text, 0o600); err != nil {
			return 0, err
		}
		return asked()
	}, h.run(event, b.answer))
	if err != nil {
		return err
	}
	b.add(p.times("hook, the first call after an edit of the YAML (bare Go process)", bar{}))
	return nil
}

// measureHookStrain times what is large, or made to take long.
func (b *bench) measureHookStrain(h *hooked) error {
	large := strings.Repeat("All work and no play makes Jack a dull boy.\\n", 5_000_000/45)
	for _, c := range []struct {
		what, tool, input, want string
		most                    float64 // ms
	}{
		{"a Write of 5 MB", "Write", fmt.Sprintf(`{"file_path":"%s/out.txt","content":"%s"}`, h.work, large), "", 60},
		{"200,000 nested $(", "Bash", fmt.Sprintf(`{"command":"%s"}`, strings.Repeat("$(", 200_000)), `"permissionDecision":"`, 200},
	} {
		event := h.event(c.tool, c.input)
		p, err := inTurn(20, h.ask(b, event, c.want, "--policy", h.json), h.run(event, b.answer))
		if err != nil {
			return err
		}
		took := median(p.ours)
		b.add(row{"hook, " + c.what, brief(took), "", float64(took) / float64(time.Millisecond), atMost(c.most, " ms")})
		b.add(p.times("    (bare Go process)", bar{}))
	}
	return nil
}

// event is what Claude Code says before a tool call.
func (h *hooked) event(tool, input string) []byte {
	return fmt.Appendf(nil, `{"session_id":"5f0c8f3e-6f0b-4f5e-9d3a-1c2b3a4d5e6f","transcript_path":"%s/t.jsonl","cwd":"%s",`+
		`"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"%s","tool_input":%s,"tool_use_id":"toolu_01"}`,
		h.home, h.work, tool, input)
}

// run times a program that is given an event and has to end well.
func (h *hooked) run(event []byte, name string, args ...string) timed {
	return func() (time.Duration, error) {
		took, _, err := h.answer(event, name, args...)
		return took, err
	}
}

// ask times the hook, whose answer must hold a text, or be empty where the text is.
func (h *hooked) ask(b *bench, event []byte, want string, flags ...string) timed {
	// A machine that others load must not make it give up at its own deadline.
	args := append([]string{"hook", "claude", "--ledger", h.ledger, "--deadline", "20s"}, flags...)
	return func() (time.Duration, error) {
		h.calls++
		took, answer, err := h.answer(event, b.server, args...)
		if err == nil && (want == "" && len(answer) > 0 || !bytes.Contains(answer, []byte(want))) {
			err = fmt.Errorf("the hook answered %q, want %q", answer, want)
		}
		return took, err
	}
}

func (h *hooked) answer(event []byte, name string, args ...string) (time.Duration, []byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = h.work, []string{"HOME=" + h.home, "PATH=/usr/bin:/bin"}, bytes.NewReader(event), os.Stderr
	start := time.Now()
	answer, err := cmd.Output()
	return time.Since(start), answer, err
}

// check holds the ledger against the calls that were made: whoever forgets to write is fast.
func (h *hooked) check() error {
	file, err := os.Open(filepath.Join(h.ledger, ledger.FileName))
	if err != nil {
		return err
	}
	defer file.Close()
	verdict, err := ledger.Verify(file)
	if err == nil && (!verdict.OK || verdict.Records != int64(h.calls)) {
		err = fmt.Errorf("the ledger has not what was decided, %d records: %+v", h.calls, verdict)
	}
	return err
}

// turns measures several things in turn, after one round that does not count.
func turns(rounds int, what ...timed) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(what))
	for round := range rounds + 1 {
		for i, once := range what {
			took, err := once()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				times[i] = append(times[i], took)
			}
		}
	}
	return times, nil
}
