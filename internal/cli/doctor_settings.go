package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/hook"
	"sallyport/internal/install"
)

// settings looks at what is written in a host's file.
func (d *doctor) settings(host *install.Host, file *install.File, entries []install.Entry) {
	again := d.again(host, file)
	before := len(d.symptoms)
	gates, others := host.Events()
	for _, event := range gates {
		if !slices.ContainsFunc(entries, func(e install.Entry) bool { return e.Event == event }) {
			d.add(host.Name, "settings", healthFail, fmt.Sprintf("%s has no entry for %s: those calls pass unjudged", file.Path, event), again)
		}
	}
	for _, event := range others {
		if !slices.ContainsFunc(entries, func(e install.Entry) bool { return e.Event == event }) {
			d.add(host.Name, "settings", healthWarn, fmt.Sprintf("%s has no entry for %s", file.Path, event), again)
		}
	}
	if err := installError(file.Path, host.Ignores(file.Text)); err != nil {
		d.add(host.Name, "settings", healthFail, fmt.Sprintf("%v: nothing asks sallyport before a call", err), hintOf(err))
	}
	for _, e := range entries {
		at := fmt.Sprintf("%s:%d:%d: %s", file.Path, e.Line, e.Col, e.Event)
		c, named, ok := e.Command()
		switch {
		case ok && named != host.Name:
			d.add(host.Name, "settings", healthFail, fmt.Sprintf("%s: the command speaks to %s, not to %s", at, named, host.Name), again)
		case e.Duplicate:
			d.add(host.Name, "settings", healthWarn, at+" has our entry a second time", again)
		case e.Narrow != "" && e.Gate:
			d.add(host.Name, "settings", healthFail, at+": "+e.Narrow, again)
		case e.CanBlock && !e.OnFailure:
			d.add(host.Name, "settings", healthFail, at+": a hook that fails lets the call pass, though this host can be told to block it", again)
		case e.Timeout > 0 && e.Timeout < time.Second:
			d.add(host.Name, "settings", healthFail, fmt.Sprintf("%s: its timeout of %v is too short to be kept", at, e.Timeout), again)
		case ok && e.Gate && install.Slowest(deadlineOf(c)) >= timeoutOf(e):
			d.add(host.Name, "settings", healthWarn, fmt.Sprintf("%s: a hook with a deadline of %v may take %v, and the host waits for %v only",
				at, deadlineOf(c), install.Slowest(deadlineOf(c)), timeoutOf(e)), again+"; with a shorter --deadline, if that is not enough")
		case !e.Exact:
			d.add(host.Name, "settings", healthWarn, at+" is not what this version would write", again)
		}
	}
	if len(d.symptoms) == before {
		d.add(host.Name, "settings", healthOK, file.Path, "")
	}
}

// deadlineOf is the deadline that a hook keeps with a command line.
func deadlineOf(c install.Command) time.Duration {
	if c.Deadline == 0 {
		return hook.DefaultDeadline
	}
	return c.Deadline
}

// timeoutOf is how long the host waits for an entry's hook.
func timeoutOf(e install.Entry) time.Duration {
	if e.Timeout == 0 {
		return probeWait
	}
	return e.Timeout
}

// again says how a file's entries are written anew.
func (d *doctor) again(host *install.Host, file *install.File) string {
	command := "run sallyport install " + host.Name
	if file.Path == host.Managed() {
		return "ask the administrator to mend the entry in " + file.Path
	}
	if host.NeedsFile() {
		return command + " --agent " + file.Path
	}
	user, err := host.File(install.User, d.where)
	if err == nil && filepath.Dir(file.Path) != filepath.Dir(user) {
		command += " --scope project"
	}
	return command
}

// particular looks at what only this host has.
func (d *doctor) particular(host *install.Host, file *install.File, entries []install.Entry) {
	switch host.Name {
	case "claude":
		d.claudeSwitches(file)
		d.claudeVersion()
	case "codex":
		d.codexTrust(file, entries)
	case "gemini":
		d.geminiSwitches(file)
	case "copilot":
		if root, err := canon.Parse(file.Text); err == nil {
			if off, _ := root.Get("disableAllHooks").Bool(); off {
				d.add("copilot", "switches", healthFail, file.Path+` says "disableAllHooks": true`, "take that out")
			}
		}
	}
	if how := afterFailure(host.Name); how != "" {
		d.add(host.Name, "failure", healthNote, how, "see the page of this host in docs/hosts")
	}
}

// afterFailure says what a host does with a call whose hook fails, where it cannot be told to block it.
func afterFailure(host string) string {
	switch host {
	case "codex", "gemini", "kiro":
		return "this host lets a call pass whose hook crashes or times out, and cannot be told otherwise"
	case "copilot":
		return "this host lets a call pass whose hook times out; after a crash it depends on the version"
	case "windsurf":
		return "this host does not say what becomes of a call whose hook crashes or times out; expect it to pass"
	}
	return ""
}

// claudeSwitches looks for what switches hooks off, in every file that Claude Code reads.
func (d *doctor) claudeSwitches(file *install.File) {
	host := install.HostNamed("claude")
	before := len(d.symptoms)
	for _, path := range host.Files(d.where) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		root, err := canon.Parse(text)
		if err != nil {
			if path != file.Path {
				d.add("claude", "switches", healthWarn, path+" cannot be read as JSON, so that nobody knows whether it switches hooks off", "mend the file")
			}
			continue
		}
		if off, _ := root.Get("disableAllHooks").Bool(); off {
			d.add("claude", "switches", healthFail, path+` says "disableAllHooks": true`, "take that out")
		}
		if only, _ := root.Get("allowManagedHooksOnly").Bool(); only && path == host.Managed() && file.Path != path {
			d.add("claude", "switches", healthFail, path+` says "allowManagedHooksOnly": true, so that the hooks of `+file.Path+" are not run",
				"let the administrator put the hook into the managed settings")
		}
	}
	if len(d.symptoms) == before {
		d.add("claude", "switches", healthOK, "no settings file switches hooks off", "")
	}
}

// onFailureSince is the first Claude Code that knows onFailure.
var onFailureSince = []int{2, 1, 295}

func (d *doctor) claudeVersion() {
	const need = "onFailure needs 2.1.295 or newer: before it a hook that cannot start or times out lets the call pass"
	path, err := exec.LookPath("claude")
	if err != nil {
		d.add("claude", "version", healthNote, "claude is not on PATH; "+need, "compare it with claude --version yourself")
		return
	}
	out, err := runBriefly(path, "--version")
	version := parseVersion(out)
	switch {
	case err != nil || version == nil:
		d.add("claude", "version", healthWarn, fmt.Sprintf("%s --version does not say its version; %s", path, need), "")
	case slices.Compare(version, onFailureSince) < 0:
		d.add("claude", "version", healthWarn, fmt.Sprintf("%s is %s; %s", path, strings.TrimSpace(out), need), "update Claude Code")
	default:
		d.add("claude", "version", healthOK, strings.TrimSpace(out), "")
	}
}

// runBriefly runs a command that only prints something, and returns what.
func runBriefly(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out), err
}

// parseVersion reads the three numbers that a text begins with, or returns nil.
func parseVersion(text string) []int {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word, _, _ = strings.Cut(word, "-")
	parts := strings.Split(word, ".")
	if len(parts) != 3 {
		return nil
	}
	var version []int
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		version = append(version, n)
	}
	return version
}

// codexTrust looks for the approval of each entry in config.toml. Whether an approval is of this very command only Codex
// can tell: it compares a hash of its own making.
func (d *doctor) codexTrust(file *install.File, entries []install.Entry) {
	const approve = "start codex, open /hooks, and approve it; codex exec has no such question"
	path := filepath.Join(filepath.Dir(file.Path), "config.toml")
	if strings.HasPrefix(file.Path, d.where.Dir+string(filepath.Separator)) { // a project's hooks are approved in the user's file
		if user, err := install.HostNamed("codex").File(install.User, d.where); err == nil {
			path = filepath.Join(filepath.Dir(user), "config.toml")
		}
	}
	text, _ := os.ReadFile(path)
	config := string(text)
	missing := 0
	for _, e := range entries {
		place := fmt.Sprintf(":%s:%d:%d", snakeCase(e.Event), e.Group, e.Handler)
		if !strings.Contains(config, file.Path+place) && !strings.Contains(config, file.Target()+place) {
			missing++
		}
	}
	switch {
	case hooksOff(config):
		d.add("codex", "switches", healthFail, path+" switches the feature hooks off", "take that out")
	case missing > 0:
		d.add("codex", "trust", healthFail, fmt.Sprintf("%d of %d entries have no approval in %s: Codex leaves them out without a word", missing, len(entries), path), approve)
	case !strings.Contains(config, "trusted_hash"):
		d.add("codex", "trust", healthFail, "there is no trusted_hash in "+path+": Codex leaves the hooks out without a word", approve)
	default:
		d.add("codex", "trust", healthOK, "approved in "+path+"; whether for this very command, only /hooks in codex can tell", "")
	}
}

// hooksOff reports whether a config.toml has "hooks = false" in its section of features.
func hooksOff(config string) bool {
	section := ""
	for line := range strings.Lines(config) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.ReplaceAll(strings.TrimSpace(line), " ", "")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[features]" && line == "hooks=false", line == "features.hooks=false":
			return true
		}
	}
	return false
}

// snakeCase is how Codex spells an event in config.toml.
func snakeCase(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// geminiSwitches looks for what switches hooks off in a file of Gemini CLI.
func (d *doctor) geminiSwitches(file *install.File) {
	root, err := canon.Parse(file.Text)
	if err != nil {
		return
	}
	config := root.Get("hooksConfig")
	if on, is := config.Get("enabled").Bool(); is && !on {
		d.add("gemini", "switches", healthFail, file.Path+` says "hooksConfig": {"enabled": false}`, "take that out")
		return
	}
	for name := range config.Get("disabled").Elements() {
		if text, _ := name.Text(); strings.Contains(text, "sallyport") {
			d.add("gemini", "switches", healthFail, file.Path+` lists our hook under "hooksConfig", "disabled"`, "run /hooks enable sallyport in Gemini CLI")
			return
		}
	}
	d.add("gemini", "switches", healthOK, file.Path+" does not switch hooks off", "")
}
