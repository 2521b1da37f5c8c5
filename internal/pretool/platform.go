package pretool

import (
	"path/filepath"
	"runtime"
	"strings"
)

// OnWindows reports whether the shell that the agent uses runs on Windows: SALLYPORT_PLATFORM says so, or else the
// machine.
func OnWindows(env func(string) string) bool {
	platform := strings.TrimSpace(env("SALLYPORT_PLATFORM"))
	if platform == "" {
		platform = runtime.GOOS
	}
	return strings.EqualFold(platform, "windows")
}

// ConfigDir returns the agent's configuration folder: CLAUDE_CONFIG_DIR, or else .claude in the home folder.
func ConfigDir(env func(string) string, home string) string {
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(home, ".claude")
}
