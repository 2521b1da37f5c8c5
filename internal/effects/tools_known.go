package effects

import (
	"strings"

	"sallyport/internal/canon"
)

// toolKind is what a tool of a host does.
type toolKind uint8

const (
	unknownTool    toolKind = iota // judged by the names of its arguments
	noTool                         // nothing that is judged: lists of tasks, questions, messages to agents that run already
	shellTool                      // runs a text, or words, in a shell
	powershellTool                 // runs a text in PowerShell
	cmdTool                        // runs a text in the command prompt of Windows
	typedTool                      // types a text into a shell that runs
	codeTool                       // runs code in another language
	writeTool                      // writes files
	enterTool                      // makes a folder, if it names one
	deleteTool                     // deletes files
	patchTool                      // applies a patch
	editorTool                     // reads or writes a file: its command says which
	readTool                       // reads files
	folderTool                     // reads what is in a folder: the working folder where it names none
	lookTool                       // reads files, if it names any
	searchTool                     // reads the files of a folder that have a name
	listTool                       // says which files there are: their names are not judged
	fetchTool                      // reaches the host of a URL
	spawnTool                      // starts an agent, now or later (CronCreate)
	workflowTool                   // starts agents by a script
	triggerTool                    // starts an agent elsewhere, or lists those
	resourceTool                   // reads what a URI names
	leaveTool                      // leaves a working folder, and may delete it
	memoryTool                     // writes the host's own notes
	awsTool                        // calls an AWS operation
	wrapperTool                    // calls another tool
	batchTool                      // calls several others
)

// kindOfTool returns what a tool does. Hosts spell the same names in their own ways, and differ from one release to the
// next, so neither case nor what stands between the words counts.
func kindOfTool(tool string) toolKind {
	if isMCP(tool) {
		if start := max(strings.LastIndex(tool, "__")+2, strings.LastIndexByte(tool, '/')+1); start > 1 &&
			kindOfName(squashed(tool[start:])) == wrapperTool {
			return wrapperTool
		}
		return unknownTool
	}
	name := squashed(tool)
	if kind := kindOfName(name); kind != unknownTool {
		return kind
	}
	name = squashed(tool[strings.LastIndexAny(tool, ".:")+1:])
	return kindOfName(strings.TrimPrefix(name, "copilot"))
}

// isMCP reports whether a name is one that hosts make of a server's and a tool's: mcp__server__tool and server__tool,
// mcp_server_tool (Gemini), @server/tool (Kiro).
func isMCP(tool string) bool {
	return strings.Contains(tool, "__") || strings.HasPrefix(tool, "mcp_") || strings.HasPrefix(tool, "@")
}

// squashed returns a name in lower case without what may stand between its words.
func squashed(name string) string {
	name = fold(name)
	if !strings.ContainsAny(name, "_- .") {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ', '.':
			return -1
		}
		return r
	}, name)
}

func kindOfName(name string) toolKind {
	switch name {
	case "bash", "shell", "monitor", "localshell", "containerexec", "exec", "execcommand", "unifiedexec", "runshellcommand",
		"runterminalcmd", "runterminalcommand", "runinterminal", "runcommand", "preruncommand", "executecommand", "executebash",
		"terminal", "beforeshellexecution", "shellcommand", "bashtool", "runshell", "userbash":
		return shellTool
	case "powershell", "pwsh", "executepowershell", "runpowershell":
		return powershellTool
	case "executecmd", "cmdexe":
		return cmdTool
	case "writebash", "writestdin", "writepowershell", "sendcommandinput":
		return typedTool
	case "repl", "notebookexec", "jsrepl", "codeinterpreter", "python":
		return codeTool
	case "write", "edit", "multiedit", "notebookedit", "writefile", "replace", "strreplace", "createfile", "editfile", "editfiles",
		"editnotebook", "create", "writetofile", "replaceinfile", "replacestringinfile", "multireplacestringinfile", "applydiff",
		"inserteditintofile", "insertcontent", "searchreplace", "searchandreplace", "writecode", "prewritecode", "replacefilecontent",
		"createdirectory", "editnotebookfile", "newrule", "afterfileedit", "reapply", "multiedittool", "proposecode", "createnewworkspace",
		"createnewjupyternotebook", "multireplacefilecontent", "fileedit", "filewrite":
		return writeTool
	case "enterworktree":
		return enterTool
	case "delete", "deletefile", "removefile", "deletefiles":
		return deleteTool
	case "applypatch", "patch":
		return patchTool
	case "fswrite", "fsread", "strreplaceeditor", "strreplacebasededittool", "texteditor", "editor", "strreplaceeditortool", "knowledge":
		return editorTool
	}
	return kindOfReader(name)
}

func kindOfReader(name string) toolKind {
	switch name {
	case "read", "readfile", "readmanyfiles", "view", "viewimage", "viewfile", "readcode", "prereadcode", "beforereadfile",
		"viewfileoutline", "notebookread", "artifact", "senduserfile", "readnotebookcelloutput", "runnotebookcell", "fileread",
		"readfiles", "openfile", "sendfile", "uploadfile", "readimage", "getnotebooksummary":
		return readTool
	case "listdirectory", "listdir", "listfiles", "list", "ls", "listcodedefinitionnames":
		return folderTool
	case "lsp", "readlints", "geterrors", "projects", "viewcodeitem", "viewcontentchunk":
		return lookTool
	case "grep", "searchfilecontent", "grepsearch", "searchfiles", "grepfiles", "ripgrep", "rg", "searchtext", "textsearch":
		return searchTool
	case "glob", "filesearch", "findbyname", "findfiles", "codebasesearch", "semanticsearch", "searchcodebase", "toolsearch":
		return listTool
	case "webfetch", "fetchwebpage", "readurlcontent", "opensimplebrowser", "browserpreview", "fetch", "openbrowserpage", "webopen":
		return fetchTool
	case "agent", "task", "spawnagent", "newtask", "runsubagent", "delegate", "usesubagent", "subagent", "usesubagents", "croncreate",
		"launchsubagent", "dispatchagent":
		return spawnTool
	case "workflow":
		return workflowTool
	case "remotetrigger":
		return triggerTool
	case "readmcpresourcetool", "readmcpresourcedirtool", "readmcpresource", "accessmcpresource", "fetchmcpresource":
		return resourceTool
	case "exitworktree":
		return leaveTool
	case "savememory":
		return memoryTool
	case "useaws", "aws":
		return awsTool
	case "usemcptool", "callmcptool", "usetool", "mcptooluse", "premcptooluse", "calltool", "executetool":
		return wrapperTool
	case "batch", "multitooluseparallel", "parallel":
		return batchTool
	case "todowrite", "todoread", "taskcreate", "taskupdate", "taskget", "tasklist", "taskoutput", "taskstop", "bashoutput", "killshell",
		"killbash", "askuserquestion", "askuser", "enterplanmode", "exitplanmode", "skill", "sendmessage", "schedulewakeup", "crondelete",
		"cronlist", "pushnotification", "shareonboardingguide", "listmcpresourcestool", "waitformcpservers", "listagents",
		"reportfindings", "endconversation", "websearch", "updateplan", "readbash", "stopbash", "listbash", "reportintent", "thinking",
		"think", "introspect", "planmoderespond", "askfollowupquestion", "updatetodo", "managetodolist", "googlewebsearch", "writetodos":
		return noTool
	}
	return unknownTool
}

// known adds what a tool does that we know.
func (c *toolCall) known(kind toolKind, tool string, input canon.Value, args []argument) {
	switch kind {
	case shellTool, powershellTool, cmdTool, typedTool:
		c.shell(kind, tool, args)
	case codeTool:
		c.codes(tool, args)
	case writeTool:
		c.files(args, "it names no file", Write)
	case enterTool:
		c.files(args, "", Write)
	case deleteTool:
		first := len(c.effects)
		c.files(args, "it names no file", Write)
		for i := first; i < len(c.effects); i++ {
			c.effects[i].Deep = true
		}
	case patchTool:
		c.patches(args)
	case editorTool:
		c.editor(tool, input, args)
	case readTool, folderTool, lookTool:
		c.reads(kind, args)
	case searchTool:
		c.search(args)
	case fetchTool:
		c.fetch(args)
	case spawnTool:
		c.spawn(agentOf(args))
	case workflowTool:
		c.spawn("")
		c.codes(tool, args)
		c.files(args, "", Read)
	case triggerTool:
		if action, _ := input.Get("action").Text(); action != "list" && action != "get" {
			c.spawn("")
		}
	case resourceTool:
		for _, a := range args {
			if text, ok := a.value.Text(); ok && classOf(a.words) == urlArgument {
				c.connect(text, false)
			}
		}
	case leaveTool:
		if action, _ := input.Get("action").Text(); action != "keep" {
			c.uses(Write, c.world.Dir, true)
		}
	case memoryTool:
		c.uses(Write, "~/.gemini/GEMINI.md", false)
	case awsTool:
		c.aws(input)
	}
}

// agentOf returns the kind of agent that a call asks for.
func agentOf(args []argument) string {
	for _, key := range [...]string{"subagenttype", "agenttype", "agentname", "agent", "mode"} {
		for _, a := range args {
			if text, ok := a.value.Text(); ok && a.key == key {
				return text
			}
		}
	}
	return ""
}

// aws adds the command line of an AWS operation: describe-instances for DescribeInstances.
func (c *toolCall) aws(input canon.Value) {
	service, serviceOK := input.Get("service_name").Text()
	operation, operationOK := input.Get("operation_name").Text()
	if !serviceOK || !operationOK {
		c.opaque("it names no operation", Run)
		return
	}
	c.append(argvEffects([]string{"aws", service, strings.Join(wordsOfName(operation), "-")}, c.world))
}
