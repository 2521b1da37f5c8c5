package servers

import (
	"errors"
	"path/filepath"
	"strings"

	"sallyport/internal/upstream"
)

// Wrapped is the server that a command line starts, with no more of our environment than an entry of a file would get.
// Its name is made of the command's, as NameOf says.
func Wrapped(command []string) (upstream.Config, error) {
	if err := Nested(); err != nil {
		return upstream.Config{}, err
	}
	if len(command) == 0 || command[0] == "" {
		return upstream.Config{}, errors.New("there is no command to run")
	}
	if runsUs(command[0], command[1:]) {
		return upstream.Config{}, errors.New("the command runs sallyport itself: name the server behind it instead")
	}
	return upstream.Config{Name: NameOf(command), Command: command[0], Args: command[1:], Env: Environment(nil)}, nil
}

// NameOf makes a server's name of the command that starts it: that of the program, or of the package or script where a
// launcher runs it. The same command always gives the same name; a version behind @ is no part of it.
func NameOf(command []string) string {
	if len(command) == 0 {
		return "server"
	}
	word := command[0]
	if launches(word) || interprets(word) {
		for _, next := range command[1:] {
			if strings.HasPrefix(next, "-") || strings.Contains(next, "=") || next == "run" || next == "x" || next == "dlx" || next == "exec" {
				continue
			}
			word = next
			break
		}
	}
	name := filepath.Base(strings.ReplaceAll(word, `\`, "/"))
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	for _, suffix := range []string{".exe", ".cmd", ".js", ".mjs", ".cjs", ".ts", ".py", ".sh"} {
		name = strings.TrimSuffix(name, suffix)
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameLetters, r) {
			return r
		}
		return '-'
	}, name)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if name = strings.TrimRight(name[:min(len(name), maxName)], "_"); strings.Trim(name, "-_.") == "" {
		return "server"
	}
	return name
}

// interprets reports whether a program runs what a file or a package has.
func interprets(command string) bool {
	switch strings.TrimRight(strings.TrimSuffix(filepath.Base(command), ".exe"), "0123456789.") {
	case "node", "python", "deno", "bun", "uv", "docker", "podman", "pnpm", "yarn", "npm", "ruby", "java", "go", "sh", "bash", "pipx":
		return true
	}
	return false
}
