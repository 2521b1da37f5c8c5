package effects

import "strings"

// gitConfig judges the settings that a command of git is given: some are commands, and an alias may be the subcommand.
func gitConfig(c *call) {
	for _, t := range c.tokens {
		if t.kind != optionToken || t.names != "c" && t.names != "c|config" && t.names != "config-env" {
			continue
		}
		if isUnknown(t.value.Text) {
			c.opaque = "a setting that is known only when it runs decides over what git runs"
		}
		name, value, set := strings.Cut(t.value.Text, "=")
		if t.names == "config-env" {
			if _, alias := cutPrefixFold(name, "alias."); alias || gitSettingUse(name) != '-' {
				c.opaque = "the environment decides over what git runs"
			}
			continue
		}
		if alias, found := cutPrefixFold(name, "alias."); found && set {
			c.gitAlias(alias, Word{Text: value, Splits: t.value.Splits})
			continue
		}
		c.gitSettingValue(name, Word{Text: value, Splits: t.value.Splits})
	}
}

// gitAlias judges an alias that is set for one command. One that is used is the command that runs.
func (c *call) gitAlias(alias string, value Word) {
	if command, found := strings.CutPrefix(value.Text, "!"); found {
		c.use('s', Word{Text: command, Splits: value.Splits})
		return
	}
	for _, t := range c.tokens {
		if t.kind == optionToken {
			continue
		}
		if w := c.words[t.at]; strings.EqualFold(w.Text, alias) || w.unknown() {
			words := []Word{c.words[0]}
			for field := range strings.FieldsSeq(value.Text) {
				words = append(words, Word{Text: strings.Trim(field, `'"`), Splits: value.Splits})
			}
			c.startWords(append(words, c.words[t.at+1:]...)...)
		}
		return
	}
}

// gitSettingValue judges one setting.
func (c *call) gitSettingValue(name string, value Word) {
	use := gitSettingUse(name)
	if value.Text == "" {
		return
	}
	switch {
	case use == 's':
		command := strings.TrimPrefix(value.Text, "!")
		if boolean(command) || command == "cat" {
			return
		}
		c.use('s', Word{Text: command, Splits: value.Splits})
	case use == 'E' && value.Text != "/dev/null":
		c.use('E', value)
	case use == 'r':
		c.use('r', value)
	}
}

// gitSettingUse returns the use of the value of a setting (git-config(1)).
func gitSettingUse(name string) byte {
	name = lower(name)
	switch name {
	case "core.sshcommand", "core.pager", "core.editor", "core.askpass", "core.gitproxy", "core.fsmonitor",
		"core.alternaterefscommand", "sequence.editor", "diff.external", "interactive.difffilter", "gpg.program",
		"credential.helper", "web.browser", "uploadpack.packobjectshook", "sendemail.smtpserver",
		"sendemail.sendmailcmd", "sendemail.tocmd", "sendemail.cccmd", "gpg.ssh.defaultkeycommand", "gpg.ssh.program",
		"gpg.openpgp.program", "gpg.x509.program":
		return 's'
	case "core.hookspath", "init.templatedir", "include.path":
		return 'E'
	case "core.excludesfile", "commit.template", "blame.ignorerevsfile":
		return 'r'
	}
	section, key := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		section, key = name[:dot], name[dot+1:]
	}
	section, _, _ = strings.Cut(section, ".")
	switch section + "." + key {
	case "diff.command", "diff.textconv", "merge.driver", "filter.clean", "filter.smudge", "filter.process",
		"difftool.cmd", "mergetool.cmd", "difftool.path", "mergetool.path", "credential.helper", "remote.uploadpack",
		"remote.receivepack", "browser.cmd", "man.cmd", "guitool.cmd", "trailer.cmd", "trailer.command", "tar.command",
		"submodule.update", "pager.diff":
		return 's'
	case "includeif.path":
		return 'E'
	}
	if section == "pager" {
		return 's'
	}
	return '-'
}

// gitSetting judges "git config NAME VALUE": what is set now runs later.
func gitSetting(c *call) {
	operands := c.operands
	if len(operands) > 0 {
		switch operands[0].Text {
		case "set":
			operands = operands[1:]
		case "get", "list", "unset", "edit", "rename-section", "remove-section":
			return
		}
	}
	for _, t := range c.tokens {
		if t.kind == optionToken && strings.HasPrefix(t.names, "get") {
			return
		}
	}
	if len(operands) < 2 {
		return
	}
	name, value := operands[0].Text, operands[1]
	if _, found := cutPrefixFold(name, "alias."); found {
		text := value.Text
		if command, shell := strings.CutPrefix(text, "!"); shell {
			c.use('s', Word{Text: command, Splits: value.Splits})
		} else {
			c.use('s', Word{Text: "git " + text, Splits: value.Splits})
		}
		return
	}
	if gitSettingUse(name) != 'E' { // hooks that are set for good do not run here
		c.gitSettingValue(name, value)
	}
}

// boolean reports whether a value of a setting is no command but a choice.
func boolean(value string) bool {
	switch lower(value) {
	case "true", "false", "yes", "no", "on", "off", "0", "1", "auto", "never", "always", "store", "cache",
		"osxkeychain", "manager", "manager-core", "wincred", "libsecret", "checkout", "rebase", "merge", "none":
		return true
	}
	return false
}

// cutPrefixFold cuts off a prefix of lower-case letters whatever the case.
func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || lower(text[:len(prefix)]) != prefix {
		return text, false
	}
	return text[len(prefix):], true
}
