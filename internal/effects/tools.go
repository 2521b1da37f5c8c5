package effects

import (
	"slices"
	"strings"

	"sallyport/internal/canon"
)

const (
	// maxUnwrapped is how often a tool may stand within another one that calls it.
	maxUnwrapped = 4

	// maxArguments is how many arguments of a call are judged.
	maxArguments = 10_000
)

// Of returns what a call of a tool would do. Tool names of all hosts are known, whatever their case; an MCP tool, and any
// other that is not known, is judged by the names of its arguments, or by its declaration where the policy has one (nil:
// it has none). What a known tool does is judged beside its declaration, which cannot take it away.
func Of(tool string, input canon.Value, declared *Declaration, w *World) []Effect {
	if w == nil {
		w = &World{}
	}
	w.disk = newDisk(w.Budget)
	c := toolCall{world: w, dirs: toolDirs(w)}
	switch {
	case declared == nil:
		c.judge(tool, input)
	case kindOfTool(tool) != unknownTool:
		c.judge(tool, input)
		c.declared(tool, input, declared)
	default:
		c.declared(tool, input, declared)
	}
	c.effects = distinct(c.effects)
	w.learnCode(c.effects)
	return c.effects
}

// distinct returns effects without the uses of files and hosts that are there already: several arguments of a call may
// name the same file.
func distinct(effects []Effect) []Effect {
	const most = 64 // beyond that the time would grow
	if len(effects) > most || slices.ContainsFunc(effects, func(e Effect) bool { return e.By >= 0 }) {
		return effects
	}
	kept := effects[:0]
	for _, e := range effects {
		same := func(k Effect) bool {
			return k.Kind == e.Kind && k.Opaque == e.Opaque && k.Deep == e.Deep && k.Host == e.Host && k.Path.Equal(e.Path)
		}
		if e.Kind == Run && e.Opaque == "" || e.Kind == Spawn || !slices.ContainsFunc(kept, same) {
			kept = append(kept, e)
		}
	}
	return kept
}

// Inner returns the tool that a call is really for, and its input, where the tool is one that calls others: Cline's
// use_mcp_tool, Cursor's CallMcpTool. A rule that knows the inner tool must hold for the call too. ok is false for any
// other tool.
func Inner(tool string, input canon.Value) (inner string, arguments canon.Value, ok bool) {
	if kindOfTool(tool) != wrapperTool {
		return "", canon.Value{}, false
	}
	return unwrapped(input)
}

// toolCall collects the effects of one call.
type toolCall struct {
	world   *World
	dirs    []string // where a relative path may stand
	effects []Effect
	deep    int // how many tools stand round this one
}

// toolDirs returns the folders in which a tool may take a relative path to stand: hosts and servers differ.
func toolDirs(w *World) []string {
	if w.Workspace == "" || w.Workspace == w.Dir {
		return []string{w.Dir}
	}
	return []string{w.Dir, w.Workspace}
}

// judge adds what a call would do.
func (c *toolCall) judge(tool string, input canon.Value) {
	kind := kindOfTool(tool)
	if text, ok := input.Text(); ok { // hosts that pass arguments as a text
		if value, err := canon.Parse([]byte(text)); err == nil && value.Kind() == canon.Object {
			input = value
		} else {
			c.judgeText(kind, text)
			return
		}
	}
	args, all := argumentsOf(input)
	if !all {
		c.opaque("it has more arguments than can be judged", Run, Read, Write, Connect)
	}
	switch kind {
	case unknownTool:
		c.guess(tool, args)
	case wrapperTool:
		if _, _, ok := unwrapped(input); !ok && isMCP(tool) {
			c.guess(tool, args)
			return
		}
		c.unwrap(input)
	case batchTool:
		c.batch(input)
	default:
		c.known(kind, tool, input, args)
	}
}

// judgeText adds what a call would do whose input is one text.
func (c *toolCall) judgeText(kind toolKind, text string) {
	switch kind {
	case shellTool, typedTool:
		c.append(shellText(text, c.world))
	case powershellTool:
		c.append(powershellEffects(text, c.world))
	case patchTool:
		c.append(patchEffects(text, c.world, c.dirs...))
	case codeTool:
		c.code("repl", text)
	case noTool, listTool:
	default:
		c.opaque("its input is a text", Run, Read, Write, Connect)
	}
}

// unwrap judges the tool that another one calls.
func (c *toolCall) unwrap(input canon.Value) {
	inner, arguments, ok := unwrapped(input)
	if !ok || c.deep == maxUnwrapped {
		c.opaque("it does not say which tool it calls", Run, Read, Write, Connect)
		return
	}
	c.deep++
	c.judge(inner, arguments)
	c.deep--
}

// unwrapped returns the tool that another one calls, named as its host would name it.
func unwrapped(input canon.Value) (tool string, arguments canon.Value, ok bool) {
	var server string
	for key, value := range input.Members() {
		text, isText := value.Text()
		switch squashed(key) {
		case "server", "servername", "mcpservername", "mcpserver", "serverid":
			server = text
		case "tool", "toolname", "mcptoolname", "name", "recipientname":
			if !isText || tool != "" && tool != text {
				return "", canon.Value{}, false
			}
			tool = text
		case "arguments", "args", "input", "toolinput", "toolargs", "params", "parameters", "mcptoolarguments", "argumentsjson":
			arguments = value
		}
	}
	if tool == "" {
		return "", canon.Value{}, false
	}
	if server != "" && !strings.HasPrefix(tool, "mcp__") {
		tool = "mcp__" + server + "__" + tool
	}
	return tool, arguments, true
}

// batch judges the calls in a call of several.
func (c *toolCall) batch(input canon.Value) {
	found := false
	for _, list := range input.Members() {
		for call := range list.Elements() {
			if tool, arguments, ok := unwrapped(call); ok && c.deep < maxUnwrapped {
				found = true
				c.deep++
				c.judge(tool, arguments)
				c.deep--
			} else {
				c.opaque("it does not say which tools it calls", Run, Read, Write, Connect)
			}
		}
	}
	if !found {
		c.opaque("it does not say which tools it calls", Run, Read, Write, Connect)
	}
}

// declared adds what the arguments do that a declaration names.
func (c *toolCall) declared(tool string, input canon.Value, d *Declaration) {
	c.named(input, d.Runs, Run, func(value canon.Value) bool { return c.command(value, c.world) })
	for _, uses := range []struct {
		names []string
		kind  Kind
	}{{d.Reads, Read}, {d.Writes, Write}} {
		c.named(input, uses.names, uses.kind, func(value canon.Value) bool {
			text, ok := value.Text()
			if ok {
				c.uses(uses.kind, text, uses.kind == Write && verbsOf(tool).deletes)
			}
			return ok
		})
	}
	c.named(input, d.Connects, Connect, func(value canon.Value) bool {
		text, ok := value.Text()
		if ok {
			c.connect(text, true)
		}
		return ok
	})
}

// named judges each text of the arguments with some names; what is no text is opaque. A command may be a list of words.
func (c *toolCall) named(input canon.Value, names []string, kind Kind, judge func(canon.Value) bool) {
	if len(names) == 0 {
		return
	}
	for key, value := range input.Members() {
		if !slices.Contains(names, key) || value.Kind() == canon.Null {
			continue
		}
		if value.Kind() != canon.Array || kind == Run {
			if !judge(value) {
				c.opaque("the argument "+key+" is no text", kind)
			}
			continue
		}
		for element := range value.Elements() {
			if !judge(element) {
				c.opaque("the argument "+key+" holds what is no text", kind)
			}
		}
	}
}

// append adds effects that were found by themselves.
func (c *toolCall) append(more []Effect) {
	offset := len(c.effects)
	for _, e := range more {
		if e.By >= 0 {
			e.By += offset
		}
		c.effects = append(c.effects, e)
	}
}

// opaque adds an effect of each kind that cannot be read.
func (c *toolCall) opaque(reason string, kinds ...Kind) {
	for _, kind := range kinds {
		c.effects = append(c.effects, Effect{Kind: kind, By: -1, Opaque: reason})
	}
}

// uses adds that a file is read or written. Some tools take wildcards in its name, and some the variables of a shell.
func (c *toolCall) uses(kind Kind, path string, deep bool) {
	resolved := c.world.Resolve(path, c.dirs...)
	if expanded := c.expanded(path); expanded != path {
		resolved.also(c.world.Resolve(expanded, c.dirs...))
	}
	c.effects = append(c.effects, Effect{Kind: kind, By: -1, Path: resolved, Deep: deep})
}

// expanded returns a path with what its wildcards and variables may stand for.
func (c *toolCall) expanded(path string) string {
	if strings.ContainsAny(path, "*?") && !hasUnknown(path) {
		absolute := isAbsolutePath(path)
		if path = globText(path); !absolute {
			path = "./" + path
		}
	}
	if !strings.ContainsAny(path, "$%") {
		return path
	}
	if len(c.world.Homes) > 0 {
		path = strings.NewReplacer("${HOME}", c.world.Homes[0], "$HOME", c.world.Homes[0], "%USERPROFILE%", c.world.Homes[0],
			"${userHome}", c.world.Homes[0], "${env:HOME}", c.world.Homes[0], "$env:USERPROFILE", c.world.Homes[0]).Replace(path)
	}
	if c.world.Workspace != "" {
		path = strings.NewReplacer("${workspaceFolder}", c.world.Workspace, "${workspaceRoot}", c.world.Workspace,
			"$CLAUDE_PROJECT_DIR", c.world.Workspace, "${CLAUDE_PROJECT_DIR}", c.world.Workspace).Replace(path)
	}
	if c.world.Dir != "" {
		path = strings.NewReplacer("${PWD}", c.world.Dir, "$PWD", c.world.Dir, "%CD%", c.world.Dir).Replace(path)
	}
	return path
}

// connect adds the host of a URL; bare says that the text may be a host alone. A file: URL is read.
func (c *toolCall) connect(text string, bare bool) {
	if isFileURL(text) {
		c.uses(Read, text, false)
		return
	}
	host, ok := hostOf(text)
	if !ok && bare && !strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " \n") && text != "" {
		host, ok = hostOf("https://" + text)
	}
	if ok {
		c.effects = append(c.effects, Effect{Kind: Connect, By: -1, Host: host})
	}
}

func isFileURL(text string) bool { return len(text) > 5 && strings.EqualFold(text[:5], "file:") }

// spawn adds that an agent is started.
func (c *toolCall) spawn(agent string) {
	c.effects = append(c.effects, Effect{Kind: Spawn, By: -1, Agent: agent})
}

// code adds that a tool runs code in a language that we do not read.
func (c *toolCall) code(tool, code string) {
	command := &Command{Words: []Word{{Text: tool}}, Code: code}
	c.effects = append(c.effects, Effect{Kind: Run, By: -1, Command: command})
}

// command judges a command, a text or a list of words; ok is false if it is neither.
func (c *toolCall) command(value canon.Value, w *World) (ok bool) {
	if text, ok := value.Text(); ok {
		c.append(shellText(text, w))
		return true
	}
	words, ok := wordsOf(value)
	if !ok {
		return false
	}
	c.append(argvEffects(words, w))
	for _, word := range words {
		if strings.Contains(word, patchBegin) {
			c.append(patchEffects(word, w, c.dirs...))
		}
	}
	return true
}

// wordsOf returns the texts of a list that has nothing else.
func wordsOf(value canon.Value) (words []string, ok bool) {
	for element := range value.Elements() {
		text, isText := element.Text()
		if !isText {
			return nil, false
		}
		words = append(words, text)
	}
	return words, len(words) > 0
}

// shellText returns what a text for a shell does. Where it starts apply_patch, the patch that stands in it counts.
func shellText(text string, w *World) []Effect {
	found := Shell(text, w)
	if !strings.Contains(text, patchBegin) || !slices.ContainsFunc(found, isPatchRun) {
		return found
	}
	dirs := []string{w.Dir}
	if dir, ok := folderOfPatch(text); ok {
		dirs = w.Resolve(dir).Forms
	} else if strings.Contains(text, "cd ") {
		dirs = append(dirs, "")
	}
	return append(found, patchEffects(text, w, dirs...)...)
}

func isPatchRun(e Effect) bool {
	if e.Kind != Run || e.Command == nil {
		return false
	}
	switch e.Command.Program() {
	case "apply_patch", "applypatch":
		return true
	}
	return false
}
