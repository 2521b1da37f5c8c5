package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Scope is whose settings are meant.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // of the person, for every project
	Project Scope = "project" // of the project in the working folder
)

// Where is what a settings file's path depends on.
type Where struct {
	Home      string              // the person's home folder
	Dir       string              // the working folder, where a project's settings are looked for
	Getenv    func(string) string //
	ConfigDir string              // instead of the host's own configuration folder, or ""
	Agent     string              // Kiro's agent: a name, or the path of its file
}

// File returns the path of the settings file that install edits.
func (h *Host) File(scope Scope, w Where) (string, error) {
	dir := h.folder(scope, w)
	if h.Name != "kiro" {
		return filepath.Join(dir, h.fileName(scope)), nil
	}
	switch agent := w.Agent; {
	case agent == "":
		return "", &Error{Msg: "Kiro's hooks belong to an agent, and none is named", Hint: "name it with --agent NAME, or its file with --agent FILE.json"}
	case filepath.Ext(agent) == ".json":
		return filepath.Abs(agent)
	case strings.ContainsAny(agent, `/\`):
		return "", fmt.Errorf("%q is neither an agent's name nor a .json file", agent)
	default:
		return filepath.Join(dir, agent+".json"), nil
	}
}

// folder is the host's configuration folder.
func (h *Host) folder(scope Scope, w Where) string {
	if w.ConfigDir != "" {
		return w.ConfigDir
	}
	if scope == Project {
		switch h.Name {
		case "copilot":
			return filepath.Join(w.Dir, ".github", "hooks")
		case "cline":
			return filepath.Join(w.Dir, ".clinerules", "hooks")
		case "kiro":
			return filepath.Join(w.Dir, ".kiro", "agents")
		}
		return filepath.Join(w.Dir, "."+h.Name)
	}
	own := func(variable string, fallback ...string) string {
		if dir := w.Getenv(variable); dir != "" {
			return dir
		}
		return filepath.Join(append([]string{w.Home}, fallback...)...)
	}
	switch h.Name {
	case "claude":
		return own("CLAUDE_CONFIG_DIR", ".claude")
	case "codex":
		return own("CODEX_HOME", ".codex")
	case "copilot":
		return filepath.Join(own("COPILOT_HOME", ".copilot"), "hooks")
	case "windsurf":
		return filepath.Join(w.Home, ".codeium", "windsurf")
	case "cline":
		return filepath.Join(w.Home, "Documents", "Cline", "Hooks")
	case "kiro":
		return filepath.Join(w.Home, ".kiro", "agents")
	}
	return filepath.Join(w.Home, "."+h.Name)
}

// fileName is the settings file's name in the configuration folder.
func (h *Host) fileName(scope Scope) string {
	switch h.Name {
	case "claude", "gemini":
		return "settings.json"
	case "copilot":
		return "sallyport.json"
	case "cline":
		return "PreToolUse"
	}
	return "hooks.json"
}

// Managed returns the path of the settings file that an administrator writes for everybody, or "" where there is none that
// we know.
func (h *Host) Managed() string {
	mac := runtime.GOOS == "darwin"
	switch {
	case h.Name == "claude" && mac:
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	case h.Name == "claude":
		return "/etc/claude-code/managed-settings.json"
	case h.Name == "windsurf" && mac:
		return "/Library/Application Support/Windsurf/hooks.json"
	case h.Name == "windsurf":
		return "/etc/windsurf/hooks.json"
	}
	return ""
}

// Files returns the paths of every settings file in which an entry of ours could stand: of both scopes, and the managed one.
// Not all need exist.
func (h *Host) Files(w Where) []string {
	user, project := h.folder(User, w), h.folder(Project, Where{Dir: w.Dir})
	var paths []string
	add := func(path string) {
		for _, known := range paths {
			if known == path {
				return
			}
		}
		paths = append(paths, path)
	}
	for _, dir := range []string{user, project} {
		switch h.Name {
		case "kiro", "copilot": // whichever file there
			found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.json"))
			if errors.Is(err, filepath.ErrBadPattern) {
				continue
			}
			for _, path := range found {
				add(path)
			}
		case "claude":
			add(filepath.Join(dir, "settings.json"))
			add(filepath.Join(dir, "settings.local.json"))
		default:
			add(filepath.Join(dir, h.fileName(User)))
		}
	}
	if h.Name == "kiro" && w.Agent != "" {
		if path, err := h.File(User, w); err == nil {
			add(path)
		}
	}
	if managed := h.Managed(); managed != "" {
		add(managed)
	}
	return paths
}

// escapeGlob makes a folder's name match itself alone.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// NeedsFile reports whether the settings file must be there already: one with hooks alone would be of no use.
func (h *Host) NeedsFile() bool { return h.Name == "kiro" }

// Script reports whether the host's hook is an executable file of its own.
func (h *Host) Script() bool { return h.script }
