package effects

import "strings"

// codePrograms are those that run code in another language, and editors.
func codePrograms(name string) (program, bool) {
	switch name {
	case "python", "pypy", "ipython", "bpython", "jython", "pythonw", "py":
		return program{options: pythonOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "node":
		return program{options: nodeOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "ts-node", "tsx", "esno", "zx", "babel-node", "swc-node":
		return program{options: tsNodeOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "deno":
		return denoProgram(), true
	case "bun":
		return bunProgram(), true
	case "ruby", "jruby", "irb", "truffleruby":
		return program{options: rubyOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "perl":
		return program{options: perlOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "php":
		return program{options: phpOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "lua":
		return program{options: "e=c:a* l= i v E W", operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "rscript", "r", "littler":
		return program{options: rscriptOptions, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "erl":
		return program{options: "eval=c s= run= pa= pz= sname= name= setcookie= config=r noshell noinput", style: oneDash | names}, true
	case "octave", "octave-cli", "gnuplot", "ghc", "m4", "maxima", "matlab":
		return rareInterpreters(name), true
	case "julia", "groovy", "scala", "elixir", "ghci", "runghc", "swift", "clojure", "clj", "bb", "racket",
		"guile", "sbcl", "ocaml", "raku", "crystal", "nim", "jshell", "kotlin", "dart", "io", "janet":
		const options = "e|eval|E=c:a* p|print=c:a* c=c:a* f|load|l=r x="
		return program{options: options, operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "tclsh", "wish", "expect":
		return program{options: "c=c f=r d i n", operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "osascript":
		return program{options: "e=c:a* l= s= i", operands: "ra*", style: stops, more: scriptOrStdin}, true
	case "bc", "dc":
		return program{options: "e|expression=c f|file=r l q i s w", operands: "r*", stdin: stdinCode}, true
	case "sqlite3", "duckdb", "sqlite":
		return program{options: sqlite3Options, operands: "bc*", style: oneDash, more: queryStdin}, true
	case "psql":
		return program{options: psqlOptions, operands: "u*", style: names, more: queryStdin}, true
	case "mysql", "mariadb":
		return program{options: mysqlOptions, operands: "", style: names, more: queryStdin}, true
	case "mongosh", "mongo":
		return program{options: redisCliOptions + " shell nodb", operands: "", style: names}, true
	case "redis-cli", "mongodump", "mongorestore", "pg_dump", "pg_restore", "pg_dumpall",
		"mysqldump", "clickhouse-client":
		return program{options: redisCliOptions, operands: "", style: names}, true
	}
	return editorPrograms(name)
}

const pythonOptions = "c=c:a* m=:a* W= X= Q= check-hash-based-pycs= b B d E h i I O P q s S u v V|version x"

const nodeOptions = "" +
	"e|eval=c:a* p|print=c:a* r|require=r import=r loader|experimental-loader=r c|check i|interactive env-file=r " +
	"C|conditions= input-type= inspect=? inspect-brk=? test run= stack-trace-limit= max-old-space-size= title= " +
	"v|version watch watch-path="

const tsNodeOptions = "e|eval=c:a* p|print=c:a* P|project=r r|require=r O|compiler-options= tsconfig=r"

const rubyOptions = "e=c:a* n p i=?^w I= r= C=D E= F=? K=? T W x=? 0 a c d h l s S v w y"

const perlOptions = "e=c:a* E=c:a* i=?^w M=? m=? I= F=? 0 l C D=? V=? x=? a c d=? f g n p s S t T u U v w W X h"

const phpOptions = "" +
	"r|run=c:a* B|process-begin=c R|process-code=c E|process-end=c f|file=r F|process-file=r c|php-ini=r d|define= " +
	"z|zend-extension= S|server= t|docroot= a i l m n s v w q"

const rscriptOptions = "e=c:a* f|file=r:a* encoding= default-packages= slave no-save vanilla q s g= d="

const sqlite3Options = "cmd=c init=r separator= newline= nullvalue= mmap= vfs= c=c:b s=c:b f=r:b"

const psqlOptions = "" +
	"c|command=c f|file=r L|log-file=w o|output=w h|host=h p|port= U|username= d|dbname= v|set|variable= P|pset= " +
	"F|field-separator= R|record-separator= T|table-attr= A a b e E H l n q s S t w W x X 0 z"

const mysqlOptions = "" +
	"e|execute=c h|host=h P|port= u|user= p|password=? D|database= S|socket= defaults-file=r defaults-extra-file=r " +
	"pager=?s tee=w init-command=c ssl-ca=r ssl-cert=r ssl-key=r"

const redisCliOptions = "" +
	"h|host=h p|port= u|uri= a|pass= eval=c f|file=w e= db= d|dbname= U|username= o|out=w q|query= user= password= " +
	"t|table= n|schema= F|format= j|jobs="

// editorPrograms are the editors; what they are given to do at their start may run commands.
func editorPrograms(name string) (program, bool) {
	switch name {
	case "vim", "vi", "nvim", "view", "gvim", "vimdiff", "ex", "rvim", "gview", "mvim", "vimx":
		return program{options: vimOptions, operands: "b*", more: editorCommands}, true
	case "emacs", "emacsclient":
		return program{options: emacsOptions, operands: "b*", style: names}, true
	case "nano", "pico", "micro", "joe", "jed", "mcedit", "kate", "gedit", "code", "subl", "mate", "helix", "hx",
		"kak", "ne", "cursor", "codium", "zed", "idea", "notepad", "mg":
		if name == "code" || name == "codium" || name == "cursor" {
			return program{options: vscodeOptions, operands: "b*", style: names}, true
		}
		return program{options: nanoOptions, operands: "b*", style: names}, true
	case "ed", "red":
		return program{options: "p= s r G", operands: "b", stdin: stdinCode}, true
	}
	return program{}, false
}

const vimOptions = "" +
	"c= cmd= S=r s u=r U=r w=w W=w i=r t= T= r=? o=? O=? p=? e E b d M m n N R y Z h L l q=? headless clean version " +
	"noplugin startuptime=w servername= remote remote-send= remote-expr= listen= server= V=?"

const emacsOptions = "" +
	"eval|execute|e=c l|load=r f|funcall= Q q batch script=r d|display= nw t c n a|alternate-editor=s s|socket-name= " +
	"insert=r u|user= chdir=D"

const vscodeOptions = "" +
	"d|diff m|merge a|add g|goto n|new-window r|reuse-window w|wait install-extension= uninstall-extension= " +
	"user-data-dir= extensions-dir= list-extensions profile= locale= folder-uri= file-uri="

const nanoOptions = "" +
	"T= s|speller= r= o=D J= Q= X= Y= Z= f|rcfile=r g|goto d|diff m|merge a|add n r w install-extension= " +
	"uninstall-extension= user-data-dir= extensions-dir= list-extensions"

// queryStdin judges what a database's client reads where it is given no query.
func queryStdin(c *call) {
	given := len(c.code) > 0 || len(c.operands) > 1
	for _, t := range c.tokens {
		given = given || t.kind == optionToken && t.names == "f|file"
	}
	if !given {
		c.stdin = stdinQuery
	}
}

// editorCommands judges -c COMMAND, --cmd COMMAND and +COMMAND of vim.
func editorCommands(c *call) {
	files := c.operands[:0]
	for _, t := range c.tokens {
		switch {
		case t.kind == optionToken && (t.names == "c" || t.names == "cmd"):
			c.exCommand(t.value)
		case t.kind == operandToken && strings.HasPrefix(t.value.Text, "+") && !t.behind:
			c.exCommand(Word{Text: t.value.Text[1:], Splits: t.value.Splits})
		case t.kind == operandToken:
			files = append(files, t.value)
		}
	}
	c.operands = files
	c.shape = "b*"
	if c.program == "ex" || c.program == "vi" && len(files) > 0 {
		c.stdin = stdinCode
	}
}

// plusCommands judges +COMMAND of less.
func plusCommands(c *call) {
	files := c.operands[:0]
	for _, w := range c.operands {
		if strings.HasPrefix(w.Text, "+") {
			c.exCommand(Word{Text: w.Text[1:], Splits: w.Splits})
		} else {
			files = append(files, w)
		}
	}
	c.operands = files
}

// exCommand judges a command line of vi: ! runs what stands behind it, other commands read and write files.
func (c *call) exCommand(w Word) {
	text := strings.TrimLeft(w.Text, ": +")
	if bang := strings.IndexByte(text, '!'); bang >= 0 {
		if rest := strings.TrimSpace(text[bang+1:]); rest != "" && !isExBang(text[:bang]) {
			c.shell = append(c.shell, Word{Text: rest, Splits: w.Splits})
			return
		}
	}
	verb, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch strings.TrimRight(verb, "!") {
	case "w", "write", "wq", "x", "sav", "saveas", "up", "update":
		c.use('w', Word{Text: rest})
	case "r", "read", "e", "edit", "sp", "split", "vs", "vsplit", "tabe", "tabedit", "so", "source", "find":
		c.use('r', Word{Text: rest})
	case "", "q", "qa", "wqa", "wa", "set", "setlocal", "syntax", "colorscheme", "filetype", "normal", "/", "nohl":
	default:
		if strings.ContainsAny(text, "(|") || strings.HasPrefix(text, "lua") || strings.HasPrefix(text, "py") {
			c.code = append(c.code, w)
		}
	}
}

// isExBang reports whether a bang belongs to the command before it: q!, wq!.
func isExBang(command string) bool {
	switch command {
	case "q", "wq", "x", "e", "qa", "wqa", "bd", "w", "edit", "write", "quit", "xa", "cq", "sav", "saveas", "so",
		"source", "set":
		return true
	}
	return false
}

// denoProgram is deno 2.
func denoProgram() program {
	return program{operands: "ra*", options: "q|quiet L|log-level=", sub: func(name string) (string, program) {
		const options = denoOptions
		switch name {
		case "run", "serve", "test", "bench", "compile", "check", "bundle", "doc", "lint", "info":
			p := program{options: options, operands: "ra*", style: stops}
			if name == "run" {
				p.more = scriptOrStdin
			}
			return name, p
		case "fmt":
			return name, program{options: options + " ext=", operands: "b*"}
		case "eval":
			return name, program{options: options + " p|print T|ts ext=", operands: "ca*", style: stops}
		case "task":
			return name, program{options: options + " cwd=D f|filter=", style: names}
		case "repl":
			return name, program{options: options + " eval=c eval-file=r", stdin: stdinCode}
		case "install", "add", "remove", "uninstall", "cache", "init", "publish", "upgrade", "outdated", "clean",
			"types", "coverage", "jupyter", "deploy":
			return name, program{options: options, style: names}
		}
		return "", program{}
	}}
}

const denoOptions = "" +
	"c|config=r import-map=r env-file=?r A|allow-all allow-read=? allow-write=? allow-net=? allow-run=? allow-env=? " +
	"lock=? cert=r r|reload=? L|log-level= q|quiet unstable location= seed= inspect=? watch=? ext= o|output=w " +
	"cached-only no-check=? check=?"

// bunProgram is bun 1.
func bunProgram() program {
	const options = bunOptions
	p := program{options: options, operands: "ra*", style: stops, more: scriptOrStdin}
	p.sub = func(name string) (string, program) {
		switch name {
		case "run":
			return name, program{options: options, operands: "ra*", style: stops, more: bunRun}
		case "x":
			return name, program{options: "bun p|package= silent verbose", operands: "x", style: stops, more: packageRunner}
		case "exec":
			return name, program{operands: "s-*", style: stops}
		case "test", "build":
			return name, program{options: options + bunBuildOptions, operands: "r*"}
		case "repl", "init", "create", "install", "i", "add", "a", "remove", "rm", "update", "outdated", "link",
			"unlink", "publish", "patch", "pm", "info", "why", "audit", "upgrade":
			if name == "i" {
				name = "install"
			}
			return name, program{style: names}
		}
		return "", program{}
	}
	return p
}

const bunOptions = "" +
	"e|eval=c:a* p|print=c:a* cwd=D c|config=r env-file=r r|preload=r b|bun i|install=? watch hot smol silent " +
	"filter|F= port= define= tsconfig-override=r"

// bunRun judges "bun run NAME", which may be a program as well as a script.
func bunRun(c *call) {
	scriptOrStdin(c)
	if len(c.places) > 0 && isBare(c.operands[0].Text) {
		c.startWords(c.words[c.places[0]:]...)
	}
}

// bunBuildOptions are those of bun build and bun test alone.
const bunBuildOptions = " outdir=w outfile=w t|test-name-pattern= timeout= coverage-dir=w target= format="
