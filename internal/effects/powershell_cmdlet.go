package effects

import "strings"

// command judges a command of PowerShell.
func (p *powershell) command(words []psWord, depth int) {
	words = p.prepared(words, depth)
	typed := words[0].text
	if module, name, found := strings.Cut(typed, `\`); found && strings.HasPrefix(module, "Microsoft.") {
		typed = name
	}
	name := cmdletOf(strings.ToLower(typed))
	if !strings.Contains(name, "-") || strings.ContainsAny(typed, `/\`) || hasUnknown(typed) {
		p.external(words, depth)
		return
	}
	by := len(p.effects)
	if isUnixName(name, typed) { // outside Windows it is the program itself
		p.append(argvEffects(psTexts(words), p.shellNow()))
	} else {
		p.run(words, -1)
	}
	if !strings.EqualFold(name, words[0].text) {
		p.run(append([]psWord{{text: name}}, words[1:]...), by)
	}
	args := psArgumentsOf(words[1:])
	p.cmdlet(name, args, by, depth)
}

// isUnixName reports whether an alias is the name of a program of Unix.
func isUnixName(name, typed string) bool {
	switch name {
	case "remove-item", "get-content", "get-childitem", "copy-item", "move-item", "invoke-webrequest", "tee-object", "new-item":
		return !strings.Contains(typed, "-")
	}
	return false
}

// psTexts returns the texts of words.
func psTexts(words []psWord) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		if texts[i] = w.text; w.block {
			texts[i] = unknownText
		}
	}
	return texts
}

// run adds the run of a command's words.
func (p *powershell) run(words []psWord, by int) {
	command := &Command{Words: make([]Word, len(words))}
	for i, w := range words {
		command.Words[i] = Word{Text: w.text, Splits: w.splits}
	}
	p.effects = append(p.effects, Effect{Kind: Run, By: by, Command: command})
}

// external judges a program that is no cmdlet.
func (p *powershell) external(words []psWord, depth int) {
	texts := psTexts(words)
	switch programOf(texts[0]) {
	case "powershell", "pwsh":
		p.run(words, -1)
		p.another(texts[1:], words, depth)
	case "cmd":
		p.run(words, -1)
		for i, text := range texts {
			if i > 0 && (strings.EqualFold(text, "/c") || strings.EqualFold(text, "/k")) {
				p.append(cmdEffects(strings.Join(texts[i+1:], " "), p.shellNow()))
				return
			}
		}
	default:
		p.append(programEffects(words, p.shellNow()))
	}
}

// another judges the arguments of a PowerShell that is started.
func (p *powershell) another(texts []string, words []psWord, depth int) {
	for i, text := range texts {
		option := strings.TrimLeft(strings.ToLower(text), "-/")
		switch {
		case !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "/"):
			continue
		case option != "" && strings.HasPrefix("command", option):
			p.code(strings.Join(texts[i+1:], " "), depth)
			return
		case option == "ec" || option != "" && strings.HasPrefix("encodedcommand", option):
			if i+1 < len(texts) {
				if decoded, ok := decodedCommand(texts[i+1]); ok {
					p.code(decoded, depth)
					return
				}
			}
			p.opaqueRun("code that cannot be read")
			return
		case option != "" && strings.HasPrefix("file", option):
			if i+1 < len(texts) {
				p.use(Read, texts[i+1], -1, false)
			}
			return
		}
	}
	if len(texts) > 0 && !strings.HasPrefix(texts[0], "-") && !words[1].block {
		p.code(strings.Join(texts, " "), depth)
	}
}

// code reads a text that is run as PowerShell.
func (p *powershell) code(text string, depth int) {
	if hasUnknown(text) {
		p.opaqueRun("code that is known only when it runs")
	}
	if text != unknownText {
		p.block(text, depth+1)
	}
}

// psArguments are the arguments of a cmdlet.
type psArguments struct {
	named      []psNamed
	positional [][]psWord // lists of words
}

type psNamed struct {
	name   string // lower case, perhaps short
	values []psWord
}

// psArgumentsOf sorts the words behind a cmdlet's name.
func psArgumentsOf(words []psWord) (args psArguments) {
	for i := 0; i < len(words); {
		w := words[i]
		i++
		if !w.bare || len(w.text) < 2 || w.text[0] != '-' || !isLetter(w.text[1]) {
			list := []psWord{w}
			for list[len(list)-1].comma && i < len(words) {
				list = append(list, words[i])
				i++
			}
			args.positional = append(args.positional, list)
			continue
		}
		name, value, joined := strings.Cut(strings.ToLower(w.text[1:]), ":")
		n := psNamed{name: name}
		switch {
		case joined && value != "":
			n.values = []psWord{{text: w.text[len(name)+2:], comma: w.comma}}
		case isPSSwitch(name) && !joined:
		case i < len(words):
			n.values = []psWord{words[i]}
			i++
		}
		for len(n.values) > 0 && n.values[len(n.values)-1].comma && i < len(words) {
			n.values = append(n.values, words[i])
			i++
		}
		args.named = append(args.named, n)
	}
	return args
}

// isPSSwitch reports whether a parameter of the common cmdlets has no value. Names may be cut short.
func isPSSwitch(name string) bool {
	switch name {
	case "r", "f", "fo", "rf", "fr", "s", "v", "h", "a":
		return true
	}
	for _, full := range [...]string{"recurse", "force", "verbose", "confirm", "whatif", "nonewline", "append", "passthru", "noclobber",
		"asbytestream", "raw", "wait", "debug", "hidden", "directory", "quiet", "simplematch", "casesensitive", "allmatches", "notypeinformation",
		"usebasicparsing", "nonewwindow", "container", "asjob", "leaf", "usedefaultcredentials", "skipcertificatecheck", "name"} {
		if len(name) >= 3 && strings.HasPrefix(full, name) {
			return true
		}
	}
	return false
}

// has reports whether a switch is given; -Recurse:$false is not.
func (a *psArguments) has(full string, shortest int) bool {
	for _, n := range a.named {
		if len(n.name) >= shortest && strings.HasPrefix(full, n.name) || (n.name == "rf" || n.name == "fr") && (full == "recurse" || full == "force") {
			return len(n.values) == 0 || n.values[0].text != "$false"
		}
	}
	return false
}

// values returns the values of the parameters with some names, which may be cut short, and of the positional arguments
// from first to before end.
func (a *psArguments) values(first, end int, names ...string) (texts []string) {
	for _, n := range a.named {
		for _, full := range names {
			if len(n.name) >= 2 && strings.HasPrefix(full, n.name) {
				texts = appendTexts(texts, n.values)
				first, end = 0, 0
				break
			}
		}
	}
	for i := first; i < min(end, len(a.positional)); i++ {
		texts = appendTexts(texts, a.positional[i])
	}
	return texts
}

func appendTexts(texts []string, words []psWord) []string {
	for _, w := range words {
		if !w.block {
			texts = append(texts, w.text)
		}
	}
	return texts
}

const everyPosition = 1 << 20

// cmdlet adds what a cmdlet does with its arguments.
func (p *powershell) cmdlet(name string, args psArguments, by, depth int) {
	paths := []string{"path", "literalpath", "psp", "lp", "filepath", "fullname"}
	switch name {
	case "remove-item":
		p.remove(args, by, paths)
	case "get-content", "get-childitem", "import-csv", "import-clixml", "get-filehash", "import-module", "invoke-item", "format-hex",
		"import-powershelldatafile", "compress-archive":
		p.useAll(Read, args.values(0, 1, append(paths, "name")...), by)
		p.useAll(Write, args.values(1, 2, "destinationpath"), by)
	case "select-string":
		p.useAll(Read, args.values(1, everyPosition, paths...), by)
	case "set-content", "add-content", "out-file", "clear-content", "new-item", "tee-object", "export-csv", "export-clixml", "set-acl",
		"set-item", "clear-item", "set-itemproperty", "start-transcript", "new-itemproperty":
		p.useAll(Write, args.values(0, 1, paths...), by)
		p.useAll(Read, args.values(0, 0, "target"), by)
	case "copy-item", "move-item", "rename-item", "expand-archive":
		p.transfer(name, args, by, paths)
	case "invoke-webrequest", "invoke-restmethod", "start-bitstransfer":
		p.request(args, by)
	case "invoke-expression":
		for _, text := range args.values(0, everyPosition, "command") {
			p.code(text, depth)
		}
		if len(args.positional)+len(args.named) == 0 { // from the pipeline
			p.opaqueRun("code that is known only when it runs")
		}
	case "start-process":
		p.start(args)
	case "set-alias", "new-alias":
		p.alias(args)
	case "set-location", "push-location":
		p.move(args.values(0, 1, paths...))
	case "pop-location":
		p.dirs = append(p.dirs[:1:1], "")
	default:
		p.otherCmdlet(name, args, by)
	}
}

// otherCmdlet adds what a cmdlet of which nothing more is known does with the words that look like paths, by its verb.
func (p *powershell) otherCmdlet(name string, args psArguments, by int) {
	verb, _, _ := strings.Cut(name, "-")
	kind := Read
	switch verb {
	case "write", "test", "join", "split", "where", "foreach", "measure", "sort", "select", "convertto", "convertfrom", "format", "group":
		return
	case "set", "remove", "clear", "new", "add", "export", "out", "move", "rename", "save", "update":
		kind = Write
	}
	for _, text := range args.values(0, everyPosition, "path", "literalpath", "filepath", "outfile", "outputpath") {
		if strings.ContainsAny(text, `/\`) || strings.HasPrefix(text, ".") {
			p.use(kind, text, by, false)
		}
	}
}

func (p *powershell) useAll(kind Kind, paths []string, by int) {
	for _, path := range paths {
		p.use(kind, path, by, false)
	}
}

// remove adds a Remove-Item, which is an rm with the same options.
func (p *powershell) remove(args psArguments, by int, paths []string) {
	words := []psWord{{text: "rm"}}
	recurse := args.has("recurse", 1)
	if recurse {
		words = append(words, psWord{text: "-r"})
	}
	if args.has("force", 1) {
		words = append(words, psWord{text: "-f"})
	}
	files := args.values(0, everyPosition, paths...)
	for _, file := range files {
		words = append(words, psWord{text: file})
	}
	p.run(words, by)
	for _, file := range files {
		p.use(Write, file, by, recurse)
	}
}

// transfer adds a copy or move.
func (p *powershell) transfer(name string, args psArguments, by int, paths []string) {
	moves := name == "move-item" || name == "rename-item"
	sources := args.values(0, 1, paths...)
	for _, source := range sources {
		p.use(Read, source, by, false)
		if moves {
			p.use(Write, source, by, true)
		}
	}
	first := 1
	if len(args.values(0, 0, paths...)) > 0 {
		first = 0
	}
	for _, target := range args.values(first, first+1, "destination", "destinationpath", "newname") {
		p.use(Write, target, by, false)
		for _, source := range sources { // where the target is a folder
			p.use(Write, strings.TrimRight(target, `/\`)+"/"+source[strings.LastIndexAny(source, `/\`)+1:], by, false)
		}
	}
}

// request adds an Invoke-WebRequest, which is a curl too.
func (p *powershell) request(args psArguments, by int) {
	urls := args.values(0, 1, "uri", "source")
	words := []psWord{{text: "curl"}}
	for _, url := range urls {
		words = append(words, psWord{text: url})
		host, ok := hostOf(url)
		if !ok {
			host, ok = hostOf("https://" + url)
		}
		if ok {
			p.effects = append(p.effects, Effect{Kind: Connect, By: by, Host: host})
		}
	}
	p.run(words, by)
	p.useAll(Write, args.values(1, 2, "outfile", "destination"), by)
	p.useAll(Read, args.values(0, 0, "infile"), by)
}

// start adds the program that Start-Process starts.
func (p *powershell) start(args psArguments) {
	words := args.values(0, 1, "filepath")
	if len(words) != 1 || isDynamic(words[0]) {
		p.opaqueRun("the command is known only when it runs")
		return
	}
	for _, text := range args.values(1, 2, "argumentlist", "args") {
		words = append(words, strings.Fields(text)...)
	}
	p.append(argvEffects(words, p.shellNow()))
}

// move goes to another folder; whether that succeeds is not known.
func (p *powershell) move(to []string) {
	if len(to) == 0 {
		return
	}
	var dirs []string
	for _, dir := range p.dirs {
		forms := p.world.Resolve(to[0], dir).Forms
		if hasUnknown(forms[0]) {
			dirs = append(dirs, "")
		} else {
			dirs = append(dirs, forms[0])
		}
	}
	for _, dir := range p.dirs {
		if len(dirs) < 8 {
			dirs = append(dirs, dir)
		}
	}
	p.dirs = dirs
}

// cmdletOf returns the cmdlet for an alias (PowerShell 7 and Windows PowerShell 5.1), and any other name as it is.
func cmdletOf(name string) string {
	switch name {
	case "rm", "ri", "del", "erase", "rd", "rmdir":
		return "remove-item"
	case "gc", "cat", "type":
		return "get-content"
	case "ls", "dir", "gci":
		return "get-childitem"
	case "ni", "md", "mkdir":
		return "new-item"
	case "cp", "copy", "cpi":
		return "copy-item"
	case "mv", "move", "mi":
		return "move-item"
	case "ren", "rni":
		return "rename-item"
	case "iwr", "curl", "wget":
		return "invoke-webrequest"
	case "cd", "chdir", "sl":
		return "set-location"
	case "echo", "write":
		return "write-output"
	case "sort", "select", "measure", "group":
		return name + "-object"
	case "%", "foreach":
		return "foreach-object"
	case "?", "where":
		return "where-object"
	}
	return rareCmdletOf(name)
}

func rareCmdletOf(name string) string {
	switch name {
	case "sc":
		return "set-content"
	case "ac":
		return "add-content"
	case "clc":
		return "clear-content"
	case "tee":
		return "tee-object"
	case "sls":
		return "select-string"
	case "iex":
		return "invoke-expression"
	case "irm":
		return "invoke-restmethod"
	case "icm":
		return "invoke-command"
	case "saps", "start":
		return "start-process"
	case "pushd":
		return "push-location"
	case "popd":
		return "pop-location"
	case "ii":
		return "invoke-item"
	case "epcsv":
		return "export-csv"
	case "ipcsv":
		return "import-csv"
	case "ipmo":
		return "import-module"
	case "sp":
		return "set-itemproperty"
	case "si":
		return "set-item"
	case "sal":
		return "set-alias"
	case "nal":
		return "new-alias"
	}
	return name
}
