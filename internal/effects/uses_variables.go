package effects

import "strings"

// assign judges NAME=VALUE: some variables name programs that others run.
func (c *call) assign(w Word) {
	name, value, _ := strings.Cut(w.Text, "=")
	use, text := variableEffect(name, value)
	if use == 'w' && (!isAbsolute(text) || isUnknown(text)) || use == 's' && isCompiler(name) && isUnknown(text) {
		return
	}
	c.use(use, Word{Text: text, Splits: w.Splits})
}

// variableEffect returns the use of the value of an environment variable, and the part of the value that has it.
func variableEffect(name, value string) (use byte, part string) {
	switch name {
	case "GOFLAGS":
		if _, command, found := strings.Cut(value, "exec="); found { // -exec=, -toolexec=
			return 's', command
		}
		return '-', value
	case "NODE_OPTIONS":
		for field := range strings.FieldsSeq(value) {
			for _, option := range [...]string{"--require=", "--import=", "--loader=", "-r=", "--experimental-loader="} {
				if path, found := strings.CutPrefix(field, option); found {
					return 'r', path
				}
			}
		}
		return '-', value
	}
	return variableUse(name), value
}

// variableUse returns the use of the value of an environment variable: of some it is a command that common programs
// run, or a file that they run.
func variableUse(name string) byte {
	switch name {
	case "BROWSER", "EDITOR", "FCEDIT", "FZF_DEFAULT_COMMAND", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_SSH",
		"GIT_SSH_COMMAND", "HGEDITOR", "HGMERGE", "KUBECTL_EXTERNAL_DIFF", "LESSOPEN", "LESSCLOSE", "MANPAGER", "PAGER",
		"PROMPT_COMMAND", "RSYNC_RSH", "SSH_ASKPASS", "SUDO_ASKPASS", "SVN_SSH", "VISUAL", "npm_config_editor",
		"npm_config_script_shell", "npm_config_shell", "NPM_CONFIG_SCRIPT_SHELL":
		return 's'
	case "BASH_ENV", "ENV", "PYTHONSTARTUP", "ZDOTDIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_DIR", "GIT_INDEX_FILE",
		"KUBECONFIG", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "NETRC", "PGPASSFILE":
		return 'r'
	case "PERL5DB":
		return 'c'
	case "GIT_EXEC_PATH", "GIT_CONFIG_PARAMETERS", "GIT_TEMPLATE_DIR", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES":
		return 'E'
	}
	switch {
	case strings.HasPrefix(name, "GIT_TRACE"):
		return 'w'
	case isCompiler(name), strings.HasSuffix(name, "_PAGER"), strings.HasSuffix(name, "_EDITOR"):
		return 's'
	}
	return '-'
}

// isCompiler reports whether a variable names a compiler or linker, or what runs them.
func isCompiler(name string) bool {
	switch name {
	case "CC", "CXX", "LD", "FC", "RUSTC", "RUSTDOC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER":
		return true
	}
	rest, found := strings.CutPrefix(name, "CARGO_TARGET_")
	return found && (strings.HasSuffix(rest, "_RUNNER") || strings.HasSuffix(rest, "_LINKER")) ||
		strings.HasPrefix(name, "CMAKE_") && strings.HasSuffix(name, "_COMPILER_LAUNCHER")
}
