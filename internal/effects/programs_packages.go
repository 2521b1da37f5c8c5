package effects

import "strings"

// packagePrograms are package managers of languages, and what runs programs out of packages.
func packagePrograms(name string) (program, bool) {
	switch name {
	case "npm":
		return program{options: npmOptions, style: inherits | names, sub: npmSubcommand}, true
	case "pnpm":
		return program{options: pnpmOptions + npmOptions, style: inherits | names, sub: pnpmSubcommand, more: pnpmBin}, true
	case "yarn":
		return program{options: yarnOptions, style: inherits | names, sub: yarnSubcommand}, true
	case "yarnpkg":
		return program{more: asProgram("yarn"), style: stops | names}, true
	case "npx", "bunx", "pnpx":
		return program{options: npxOptions, operands: "x", style: stops, more: packageRunner}, true
	case "uvx", "pipx":
		return program{options: uvOptions + uvxOptions, operands: "x", style: stops, more: pipxRun}, true
	case "uv":
		return program{options: uvOptions, style: names | stops, sub: uvSubcommand}, true
	case "poetry", "pipenv", "pdm", "rye", "hatch", "bundle", "bundler", "mise", "rtx", "direnv", "asdf", "rbenv",
		"pyenv", "nodenv", "volta", "nvm", "fnm", "conda", "mamba", "micromamba", "devbox", "pixi", "opam", "rustup",
		"sdk", "nodeenv", "proto", "hermit", "composer":
		return program{options: poetryOptions, style: names | stops, sub: execSubcommand}, true
	case "nix-shell":
		return program{options: nixShellOptions, operands: "r*"}, true
	case "nix":
		return program{options: "c|command= extra-experimental-features= I= f|file=r", style: names, more: nixCommand}, true
	case "pip", "pip3", "easy_install", "gem", "conan", "luarocks", "cpan", "cpanm", "twine", "cocoapods", "pod",
		"vcpkg", "ghcup", "hex", "brew":
		return program{options: pipOptions(name), style: names | inherits, sub: packageSubcommand}, true
	}
	return program{}, false
}

// pnpmOptions stand before those of npm, of which they have some in another sense.
const pnpmOptions = "dir=D F|filter= filter-prod= r|recursive aggregate-output w|workspace-root stream parallel "

const yarnOptions = "" +
	"cwd=D top-level use-yarnrc=r cache-folder= modules-folder= registry=U network-timeout= mutex= silent|s verbose " +
	"offline json flat frozen-lockfile immutable non-interactive ignore-scripts prod|production=? " +
	"W|ignore-workspace-root-check D|dev"

const npxOptions = "" +
	"p|package= c|call=s y|yes n|no no-install q|quiet bun shell= cache= userconfig= w|workspace= workspaces ws " +
	"prefix=D ignore-existing node-arg= npm= always-spawn silent verbose"

const uvxOptions = "from= with= with-editable=r spec= pip-args= fetch-missing-python"

const poetryOptions = "C|directory|project|P|cwd=D q|quiet v|verbose n|no-interaction"

const nixShellOptions = "run|command=s p|packages:-* A|attr= E|expr=c I= arg= argstr= pure i= keep= max-jobs="

func pipOptions(name string) string {
	switch name {
	case "pip", "pip3":
		return pipFlags
	case "gem":
		return gemOptions
	case "twine":
		return twineOptions
	}
	return "file=r"
}

const pipFlags = "" +
	"r|requirement=r c|constraint=r e|editable=r t|target=w d|dest=w w|wheel-dir=w i|index-url=u extra-index-url=u " +
	"f|find-links= log=w cert=r client-cert=r proxy= python= cache-dir= prefix= root= src= report=w platform= " +
	"python-version= implementation= abi= progress-bar= timeout= retries= trusted-host= U|upgrade user no-deps y|yes " +
	"q|quiet v|verbose pre no-cache-dir"

const gemOptions = "" +
	"i|install-dir=w n|bindir=w v|version= s|source=u p|http-proxy= P|trust-policy= k|key= host=U g|file=r otp= " +
	"config-file=r"

const twineOptions = "" +
	"r|repository= repository-url=U u|username= p|password= c|comment= config-file=r cert=r client-cert=r i|identity= " +
	"sign-with=s"

// packageSubcommand are the subcommands of pip, gem and their like.
func packageSubcommand(name string) (string, program) {
	switch name {
	case "install", "uninstall", "download", "freeze", "list", "show", "check", "config", "search", "cache", "index",
		"wheel", "hash", "debug", "inspect", "build", "push", "yank", "update", "upgrade", "cleanup", "outdated",
		"info", "environment", "owner", "signin", "signout", "fetch", "lock", "unpack", "upload", "register", "remove",
		"add", "sync", "publish", "help", "tap", "untap", "services", "doctor", "bundle", "reinstall", "link",
		"unlink", "pin", "deps", "uses", "cask", "leaves", "autoremove", "edit", "cat", "home", "log":
		p := program{style: names}
		if name == "upload" || name == "push" {
			p.operands = "r*"
		}
		return name, p
	}
	return "", program{}
}

// npmOptions are those settings of npm 11 that take values, and the flags that people use.
const npmOptions = "" +
	"prefix|C=D loglevel= registry=U userconfig=r globalconfig=r cache= access= tag= otp= w|workspace= ws|workspaces " +
	"iwr|include-workspace-root scope= script-shell=s shell=s editor=s viewer=s git=s node-options= omit= include= " +
	"only= auth-type= ca= cafile=r cert= key= cpu= os= libc= depth= diff= diff-unified= https-proxy= proxy= noproxy= " +
	"init-module=r init-author-name= location= lockfile-version= logs-dir=w maxsockets= message|m= node-gyp=s " +
	"pack-destination=w package= call|c=s preid= provenance-file=r sbom-format= sbom-type= searchexclude= " +
	"searchlimit= save-prefix= tag-version-prefix= fetch-retries= fetch-timeout= install-strategy= expect-results=? " +
	"dry-run=? provenance=? f|force g|global S|save|P|save-prod D|save-dev O|save-optional E|save-exact B|save-bundle " +
	"save-peer no-save no-audit audit=? no-fund fund=? ignore-scripts=? if-present legacy-peer-deps strict-peer-deps " +
	"json l|long a|all p|parseable q|quiet s|silent d|verbose dd ddd y|yes no production dev u|unicode v|version " +
	"h|help usage color=? no-color foreground-scripts prefer-offline prefer-online offline engine-strict " +
	"git-tag-version=? no-git-tag-version package-lock=? no-package-lock package-lock-only progress=? no-progress"

// npmCommands are the commands of npm 11, in order.
const npmCommands = "" +
	"access adduser audit bugs cache ci completion config dedupe deprecate diff dist-tag docs doctor edit exec " +
	"explain explore find-dupes fund get help help-search init install install-ci-test install-test link ll login " +
	"logout ls org outdated owner pack ping pkg prefix profile prune publish query rebuild repo restart root run sbom " +
	"search set shrinkwrap star stars start stop team test token trust undeprecate uninstall unpublish unstar update " +
	"version view whoami "

// npmSubcommand is what is known of a subcommand of npm.
func npmSubcommand(name string) (string, program) {
	name = npmName(name)
	switch name {
	case "always", "true", "false": // the value of an option
		return passedOver, program{options: npmOptions, style: inherits | names, sub: npmSubcommand}
	case "":
		return "", program{}
	case "exec":
		return name, program{operands: "x", style: stops, more: packageRunner}
	case "explore":
		return name, program{operands: "-x", style: stops}
	case "publish", "pack":
		return name, program{operands: "r"}
	case "run", "test", "start", "restart", "stop":
		return name, program{style: names, more: npmRun}
	case "config", "set", "pkg":
		return name, program{style: names, more: npmSetting}
	}
	return name, program{style: names}
}

// npmRun judges "npm run env -- COMMAND…", and the words that are given to a script.
func npmRun(c *call) {
	if len(c.operands) > 0 && c.operands[0].Text == "env" && c.dashes > 0 && c.dashes+1 < len(c.words) {
		c.start(c.dashes + 1)
		return
	}
	behindDashes(c)
}

// npmSetting judges "npm config set NAME VALUE" and "npm pkg set scripts.NAME=TEXT": what is set runs later.
func npmSetting(c *call) {
	words := c.operands
	if len(words) > 0 && words[0].Text == "set" {
		words = words[1:]
	}
	for i, w := range words {
		name, value, found := strings.Cut(w.Text, "=")
		if !found && i+1 < len(words) {
			value = words[i+1].Text
		}
		switch {
		case strings.HasPrefix(name, "scripts.") && found, name == "script-shell", name == "shell", name == "editor", name == "git":
			c.use('s', Word{Text: value, Splits: w.Splits})
		}
	}
}

// npmAliases are other names of the commands of npm 11, the usual name of each first.
const npmAliases = "install|i|in|ins|inst|insta|instal|isnt|isnta|isntal|isntall|add test|t|tst run|run-script|rum|urn " +
	"exec|x config|c update|up|upgrade|udpate uninstall|un|unlink|remove|rm|r ci|clean-install|ic|install-clean " +
	"view|v|info|show ls|list|la search|s|se|find link|ln owner|author init|create|innit rebuild|rb dedupe|ddp " +
	"explain|why install-test|it bugs|issues adduser|add-user dist-tag|dist-tags help|hlep docs|home"

// npmName returns the usual name of a command of npm, or "". Any beginning that only one has will do.
func npmName(name string) string {
	if name == "always" || name == "true" || name == "false" {
		return name
	}
	if name == "" || strings.ContainsAny(name, " |") || hasUnknown(name) {
		return ""
	}
	if names := findOption(npmAliases, name); names != "" {
		usual, _, _ := strings.Cut(names, "|")
		return usual
	}
	if strings.Contains(npmCommands, " "+name+" ") {
		return name
	}
	i := strings.Index(npmCommands, " "+name)
	if i < 0 || strings.Contains(npmCommands[i+1:], " "+name) {
		return ""
	}
	usual, _, _ := strings.Cut(npmCommands[i+1:], " ")
	return usual
}

// pnpmBin judges "pnpm NAME WORDS…", which runs a script or a program of that name.
func pnpmBin(c *call) {
	if len(c.places) > 0 {
		c.startWords(c.words[c.places[0]:]...)
	}
}

// pnpmSubcommand is what is known of a subcommand of pnpm.
func pnpmSubcommand(name string) (string, program) {
	switch name {
	case "exec", "dlx":
		return name, program{options: "package= c|shell-mode", operands: "x", style: stops, more: packageRunner}
	case "i":
		name = "install"
	case "rm", "uninstall", "un":
		name = "remove"
	case "up", "upgrade":
		name = "update"
	case "run-script":
		name = "run"
	case "t", "tst":
		name = "test"
	}
	switch name {
	case "run", "test", "start":
		return name, program{style: names, more: npmRun}
	case "add", "install", "update", "remove", "link", "unlink", "import", "rebuild", "prune", "fetch", "patch",
		"audit", "list", "ls", "outdated", "why", "publish", "pack", "store", "env", "setup",
		"init", "deploy", "doctor", "config", "root", "bin", "create", "licenses", "server", "cache", "login",
		"logout", "whoami", "view", "info", "version", "dedupe", "approve-builds":
		return name, program{style: names}
	}
	return "", program{}
}

// yarnSubcommand is what is known of a subcommand of yarn, 1 and later.
func yarnSubcommand(name string) (string, program) {
	switch name {
	case "dlx", "exec":
		return name, program{options: "p|package= q|quiet", operands: "x", style: stops, more: packageRunner}
	case "node":
		return name, program{operands: "r-*", style: stops, options: "e|eval=c:-* p|print=c:-* r|require=r"}
	case "add", "install", "upgrade", "up", "remove", "run", "test", "start", "build", "publish", "pack", "npm",
		"init", "create", "info", "list", "link", "unlink", "outdated", "why", "audit", "cache", "config", "global",
		"workspace", "workspaces", "version", "versions", "login", "logout", "owner", "tag", "team", "bin", "check",
		"import", "licenses", "set", "plugin", "plug", "dedupe", "constraints", "patch", "rebuild", "unplug", "stage",
		"lint", "dev", "format":
		return name, program{style: names}
	}
	return "", program{}
}

// packageRunner starts the program of a package: of "npx prettier@3 --check ." that is prettier.
func packageRunner(c *call) {
	if len(c.shell) > 0 { // npx -c TEXT
		c.shape = ""
		return
	}
	if c.shape != "x" || len(c.places) == 0 {
		return
	}
	c.shape = ""
	words := c.words[c.places[0]:]
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "c|shell-mode" {
			c.shell = append(c.shell, joinWords(words))
			return
		}
	}
	if at := strings.LastIndexByte(words[0].Text, '@'); at > 0 {
		name := Word{Text: words[0].Text[:at], Splits: words[0].Splits}
		words = append([]Word{name}, words[1:]...)
	}
	c.startWords(words...)
}

// asProgram starts the same command under the usual name of the program.
func asProgram(name string) func(*call) {
	return func(c *call) {
		c.startWords(append([]Word{{Text: name}}, c.words[1:]...)...)
		c.shape, c.invocation.operands = "", nil
	}
}

// pipxRun judges "uvx NAME…" and "pipx run NAME…".
func pipxRun(c *call) {
	if c.program == "pipx" {
		c.shape = ""
		if len(c.operands) > 1 && c.operands[0].Text == "run" {
			run := program{options: "spec= pip-args= python= no-cache path q v", style: stops}
			rest := read(run, c.words[c.places[0]:], nil)
			for _, t := range rest.tokens {
				if t.kind == operandToken {
					c.start(c.places[0] + t.at)
					return
				}
			}
		}
		return
	}
	packageRunner(c)
}

// uvOptions are those of uv.
const uvOptions = "" +
	"directory=D project=r config-file=r cache-dir= p|python= env-file=r index= default-index= i|index-url= " +
	"extra-index-url= f|find-links= color= n|no-cache q|quiet v|verbose offline no-config native-tls no-progress " +
	"allow-insecure-host= extra= group= only-group= no-group= P|upgrade-package= refresh-package= reinstall-package= " +
	"package= exclude-newer= link-mode= resolution= prerelease= "

// uvSubcommand is what is known of a subcommand of uv.
func uvSubcommand(name string) (string, program) {
	switch name {
	case "run":
		return name, program{options: uvOptions + uvRunOptions, operands: "x", style: stops, more: uvRun}
	case "tool":
		return name, program{style: names | stops, sub: func(name string) (string, program) {
			if name == "run" {
				return name, program{options: uvOptions + "from= with= with-editable=r", operands: "x", style: stops, more: packageRunner}
			}
			switch name {
			case "install", "uninstall", "list", "upgrade", "update-shell", "dir":
				return name, program{style: names}
			}
			return "", program{}
		}}
	case "pip":
		return name, program{options: pipOptions("pip"), style: names, sub: packageSubcommand, more: func(c *call) {
			for i, w := range c.words {
				if w.Text == "pip" {
					c.startWords(c.words[i:]...)
					return
				}
			}
		}}
	case "init", "add", "remove", "sync", "lock", "export", "tree", "python", "venv", "build", "publish", "cache",
		"self", "version", "help", "generate-shell-completion", "format", "auth":
		return name, program{options: uvOptions + uvProjectOptions, style: names}
	}
	return "", program{}
}

const uvRunOptions = "" +
	"with= with-editable=r with-requirements=r m|module= s|script gui-script isolated frozen locked no-sync " +
	"no-project all-extras no-dev dev active exact"

const uvProjectOptions = "" +
	"o|output-file=w r|requirements=r c|constraints=r t|token= u|username= password= publish-url=U"

// uvRun judges "uv run COMMAND…", of which the command may be a script, a module or the standard input.
func uvRun(c *call) {
	if len(c.operands) == 0 {
		return
	}
	words := c.words[c.places[0]:]
	switch first := words[0].Text; {
	case isStdin(first):
		c.shape, c.stdin = "", stdinCode
	case strings.HasSuffix(first, ".py"):
		c.shape = ""
		c.startWords(append([]Word{{Text: "python"}}, words...)...)
	}
}

// execSubcommand is what is known of a subcommand of those that run commands in an environment.
func execSubcommand(name string) (string, program) {
	switch name {
	case "run", "exec", "x":
		return name, program{options: execRunOptions, style: stops, operands: "x", more: execTarget}
	case "install", "add", "remove", "update", "lock", "show", "build", "publish", "init", "new", "config", "env",
		"shell", "sync", "check", "use", "ls", "list", "allow", "deny", "edit", "reload", "status", "export",
		"version", "outdated", "clean", "open", "activate", "deactivate", "create", "info", "search", "upgrade",
		"uninstall", "default", "toolchain", "target", "component", "self", "override", "which", "current", "local",
		"global", "require", "dump-autoload", "dumpautoload", "test", "start", "task", "tasks", "settings", "prune",
		"reshim", "plugin", "cache", "gem":
		return name, program{style: names}
	}
	return "", program{}
}

const execRunOptions = "" +
	"n|name= p|prefix=D e|env= f|file=r no-capture-output live-stream c|command=s gemfile=r keep-file-descriptors " +
	"cwd=D"

// execTarget judges the words before the command: "mise exec node@20 -- CMD", "direnv exec DIR CMD", "rustup run stable
// CMD".
func execTarget(c *call) {
	if len(c.operands) == 0 {
		return
	}
	first := 0
	switch c.program {
	case "direnv":
		c.use('r', Word{Text: strings.TrimSuffix(c.operands[0].Text, "/") + "/.envrc", Splits: c.operands[0].Splits})
		c.dir = nil
		first = 1
	case "rustup", "nvm":
		first = 1
	case "mise", "rtx":
		first = -1
		for i, w := range c.words {
			if w.Text == "--" && i+1 < len(c.words) {
				c.start(i + 1)
			}
		}
	}
	c.shape = ""
	if c.program == "mise" && first < 0 || first >= len(c.places) {
		return
	}
	if first >= 0 {
		c.start(c.places[first])
	}
}

// nixCommand judges "nix develop -c COMMAND…" and "nix shell … -c COMMAND…".
func nixCommand(c *call) {
	c.shape = ""
	for _, t := range c.tokens {
		if t.kind == optionToken && strings.HasPrefix(t.names, "c|") && t.end <= len(c.words) {
			c.start(t.at + 1)
			return
		}
	}
	if len(c.operands) > 1 && c.operands[0].Text == "run" { // nix run nixpkgs#PROGRAM -- WORDS…
		_, name, _ := strings.Cut(c.operands[1].Text, "#")
		words := []Word{{Text: name}}
		if c.dashes > 0 {
			words = append(words, c.words[c.dashes+1:]...)
		}
		if name != "" {
			c.startWords(words...)
		}
	}
}
