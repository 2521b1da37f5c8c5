package effects

import "strings"

// starterPrograms are those that start the command which their words name.
func starterPrograms(name string) (program, bool) {
	switch name {
	case "sudo":
		return program{options: sudoOptions, operands: "x", style: stops | assigns, more: sudoShell}, true
	case "doas":
		return program{options: "C=r u= a= L n s", operands: "x", style: stops | assigns, more: sudoShell}, true
	case "env":
		return program{options: envOptions, operands: "x", style: stops | assigns, more: envText}, true
	case "command":
		return program{options: "v:-* V:-* p", operands: "x", style: stops}, true
	case "exec":
		return program{options: "a= c l", operands: "x", style: stops}, true
	case "nohup", "chronic", "setsid", "builtin", "winpty", "ts", "noglob", "nocorrect", "cached-nix-shell",
		"caffeinate", "proxychains", "proxychains4", "torsocks", "torify", "systemd-inhibit", "dbus-run-session",
		"fakeroot", "eatmydata", "cgexec", "firejail", "softlimit", "daemonize", "catchsegv", "linux32", "linux64",
		"setarch", "unbuffer", "dtruss", "ifne", "sem", "tsp", "nq", "dbus-launch", "flatpak-spawn":
		return program{options: starterOptions(name), operands: "x", style: stops, more: archWord}, true
	case "nice", "ionice", "stdbuf", "time", "chrt", "taskset", "strace", "ltrace", "perf", "valgrind", "catatonit",
		"tini", "dumb-init", "uftrace", "rr", "unshare", "nsenter", "xvfb-run", "cpulimit", "prlimit", "gtime",
		"retry", "numactl", "systemd-run", "cpuset", "heaptrack", "dotenv", "aws-vault", "op", "chamber", "doppler",
		"infisical", "teller", "nodemon", "watchexec", "entr", "reflex", "envdir", "setuidgid":
		return starterWith(name)
	case "timeout", "flock", "chroot", "setpriv", "gosu", "su-exec", "run-one", "lockf", "setlock", "chpst":
		return afterOperand(name)
	case "sallyport":
		return program{style: names, sub: sallyportSubcommand}, true
	case "xargs":
		return program{options: xargsOptions, operands: "x", style: stops | fromIn, stdin: stdinWords}, true
	case "busybox", "toybox":
		return program{options: "list install:-*", operands: "x", style: stops}, true
	case "find", "gfind", "bfs":
		return program{more: findExpression, style: oneDash}, true
	case "parallel", "rush":
		return program{options: parallelOptions, stdin: stdinWords, style: stops, more: parallelCommand}, true
	case "watch":
		return program{options: watchOptions, style: stops, more: joinedText}, true
	case "su", "runuser":
		return program{options: suOptions, operands: "", more: suUser}, true
	case "script", "scriptreplay":
		return program{options: scriptOptions, operands: "w-*", more: scriptBSD}, true
	case "at", "batch":
		return program{options: "f=r q= t= c d l m M r v", stdin: stdinShell}, true
	case "crontab":
		return program{options: "u= l e r i n T V", operands: "r", more: crontabStdin}, true
	case "screen":
		return program{options: screenOptions, operands: "x", style: stops, more: screenStuff}, true
	case "tmux":
		return tmuxProgram(), true
	case "wsl":
		return program{options: wslOptions, style: stops, more: wslText}, true
	case "cmd":
		return program{options: "c k r s q d a u e=? f=? v=?", style: stops | slashes, more: joinedText}, true
	case "powershell", "pwsh":
		return program{options: powershellOptions, style: stops | oneDash | folds, more: powershellCommand}, true
	case "ip":
		return program{more: ipNetns, style: names | stops, options: "n|netns= f|family= b|batch=r"}, true
	case "gdb", "lldb":
		return program{options: gdbOptions, operands: "rr-*", style: oneDash, more: debuggedProgram}, true
	}
	return rareStarters(name)
}

const sudoOptions = "" +
	"C|close-from= D|chdir=D g|group= h|host= p|prompt= R|chroot= r|role= T|command-timeout= t|type= U|other-user= " +
	"u|user= A|askpass B b E|preserve-env=? e|edit:b* H|set-home i|login K k l|list:-* n|non-interactive P S|stdin " +
	"s|shell V v:-*"

const envOptions = "" +
	"u|unset= C|chdir=D a|argv0= S|split-string=s i|ignore-environment 0|null v|debug block-signal=? default-signal=? " +
	"ignore-signal=? list-signal-handling P="

const xargsOptions = "" +
	"a|arg-file=r d|delimiter= E= e|eof=? I= i|replace=? L|max-lines= l=? n|max-args= P|max-procs= s|max-chars= " +
	"process-slot-var= 0|null o|open-tty p|interactive r|no-run-if-empty t|verbose x|exit J= R= S="

const parallelOptions = "" +
	"a|arg-file=r j|jobs= S|sshlogin=h colsep|C= d|delimiter= I= n|max-args=|N= L= P= k halt= joblog=w results=w " +
	"tmpdir= timeout= delay= retries= X m q bar eta progress dry-run ungroup u line-buffer lb tag tagstring= " +
	"wd|workdir=D env= sshloginfile|slf=r pipe block= keep-order will-cite noswap load= memfree= nice= no-notice"

const watchOptions = "" +
	"n|interval= d|differences=? t|no-title e|errexit g|chgexit c|color b|beep p|precise w x|exec q|equexit= " +
	"s|shotsdir="

const suOptions = "" +
	"c|command|session-command=s s|shell= g|group= G|supp-group= w|whitelist-environment= u|user= l|login m p P|pty f"

const scriptOptions = "" +
	"c|command=s a|append e|return f|flush q|quiet I|log-in=w O|log-out=w B|log-io=w T|log-timing=w t|timing=?w " +
	"m|logging-format= E|echo= o|output-limit= F"

const screenOptions = "S= c=r t= p= X:-* d D r R x m L Logfile=w e= h= s= T= U a A l ls wipe q i O"

const wslOptions = "" +
	"d|distribution= u|user= cd=D e|exec l|list:-* shell-type= system t|terminate=:-* shutdown:-* status:-* update:-* " +
	"install:-*"

const gdbOptions = "" +
	"args:r-* ex|eval-command=c x|command=r cd=D p|pid= c|core=r s|symbols=r e|exec=r se= d|directory= batch q nx " +
	"o|one-line=c O|one-line-before-file=c source=r tui"

// starterOptions are the options with values of those that start a command and have few.
func starterOptions(name string) string {
	switch name {
	case "caffeinate":
		return "t= w= d i m s u"
	case "proxychains", "proxychains4":
		return "f=r q"
	case "sem":
		return "j= id= fg"
	case "cgexec":
		return "g="
	case "systemd-inhibit":
		return "what= who= why= mode="
	case "fakeroot":
		return "l|lib= faked= s=w i=r u b="
	case "daemonize":
		return "c= e=w o=w p=w l= u="
	}
	return ""
}

// starterWith are those that have options with values.
func starterWith(name string) (program, bool) {
	options := ""
	switch name {
	case "nice":
		options = "n|adjustment="
	case "ionice":
		options = ioniceOptions
	case "stdbuf":
		options = "i|input= o|output= e|error="
	case "time", "gtime":
		options = timeOptions
	case "chrt":
		return program{options: "p|pid:-* T= P= D= a b d f i o r v m R", operands: "-x", style: stops}, true
	case "taskset":
		return program{options: "p|pid:-* c|cpu-list a|all-tasks", operands: "-x", style: stops}, true
	case "strace", "ltrace", "uftrace", "rr":
		options = straceOptions
	case "perf":
		options = "e|event= o|output=w p= t= C= F= r="
		return program{options: options, operands: "-x", style: stops}, true
	case "valgrind", "heaptrack":
		options = valgrindOptions
	case "unshare":
		options = unshareOptions
	case "nsenter":
		options = nsenterOptions
	case "xvfb-run":
		options = xvfbRunOptions
	case "systemd-run":
		options = systemdRunOptions
	case "dotenv":
		return program{options: "e|f|file=r v= c p", operands: "x", style: stops, more: dotenvRun}, true
	case "nodemon", "watchexec", "entr", "reflex":
		return watchers(name)
	case "aws-vault", "op", "chamber", "doppler", "infisical", "teller":
		return program{style: dashed | names, options: "env-file=r command=s"}, true
	case "envdir", "setuidgid":
		return program{operands: "rx", style: stops}, true
	case "retry":
		options = "t|times= d|delay= m= u|until= w|while="
	case "numactl", "cpulimit", "prlimit", "tini", "dumb-init", "catatonit", "cpuset":
		options = "N= C= m= i= p= l= P= e= n= u= v="
	}
	return program{options: options, operands: "x", style: stops}, true
}

const ioniceOptions = "c|class= n|classdata= p|pid=:-* P|pgid=:-* u|uid=:-* t|ignore"

const timeOptions = "f|format= o|output=w a|append p|portability v|verbose q|quiet"

const straceOptions = "" +
	"e|trace= o|output=w p|attach= s|string-limit= u|user= E|env= a|columns= I= O= P|trace-path= S= X= b= F=r l= n= " +
	"x="

const valgrindOptions = "tool= log-file=w suppressions=r leak-check= trace-children= error-exitcode="

const unshareOptions = "" +
	"f|fork S|setuid= G|setgid= R|root= w|wd=D m|mount=? u i n p U C r|map-root-user c kill-child=? mount-proc=? " +
	"map-user= map-group= propagation= setgroups="

const nsenterOptions = "" +
	"t|target= S|setuid= G|setgid= r|root=? w|wd=?D W|wdns= e|env F|no-fork a|all m|mount=? u|uts=? i|ipc=? n|net=? " +
	"p|pid=? U|user=? C|cgroup=?"

const xvfbRunOptions = "" +
	"a|auto-servernum e|error-file=w f|auth-file= n|server-num= l p|xauth-protocol= s|server-args= w|wait="

const systemdRunOptions = "" +
	"u|unit= p|property= E|setenv= H|host=h M|machine= slice= uid= gid= nice= working-directory= on-active= on-boot= " +
	"on-calendar= on-unit-active= timer-property= description= service-type= path-property= socket-property= P t d G " +
	"user system scope wait"

// watchers are those that start a command when files change.
func watchers(name string) (program, bool) {
	switch name {
	case "nodemon":
		return program{options: nodemonOptions, operands: "r-*"}, true
	case "watchexec":
		return program{options: watchexecOptions, style: stops, more: joinedText}, true
	case "reflex":
		return program{options: "r= g= R= G= c=r s", operands: "x", style: stops}, true
	}
	return program{options: "a c d n p r s z", operands: "x", style: stops, more: entrShell}, true
}

const nodemonOptions = "x|exec=s w|watch= e|ext= i|ignore= d|delay= s|signal= config=r"

const watchexecOptions = "w|watch= e|exts= i|ignore= f|filter= s|signal= d|debounce= shell= E|env= n r c p"

// afterOperand are those that have words of their own before the command.
func afterOperand(name string) (program, bool) {
	switch name {
	case "timeout":
		return program{options: timeoutOptions, operands: "-x", style: stops}, true
	case "flock":
		return program{options: flockOptions, operands: "wx", style: stops, more: flockCommand}, true
	case "chroot":
		return program{options: "groups= userspec= skip-chdir", operands: "rx", style: stops}, true
	case "setpriv":
		return program{options: setprivOptions, operands: "x", style: stops}, true
	case "lockf":
		return program{options: "t= k n s w", operands: "wx", style: stops}, true
	case "chpst":
		return program{options: "u= U= e=r /=r b= n= l= L= m= d= o= p= f= c= v P 0 1 2", operands: "x", style: stops}, true
	case "setlock":
		return program{operands: "wx", style: stops}, true
	}
	return program{operands: "-x", style: stops}, true // gosu USER, su-exec USER, run-one
}

const timeoutOptions = "k|kill-after= s|signal= f|foreground v|verbose p|preserve-status"

const flockOptions = "" +
	"c|command=s E|conflict-exit-code= w|wait|timeout= e|x|exclusive F|no-fork n|nb|nonblock o|close s|shared " +
	"u|unlock verbose"

const setprivOptions = "" +
	"reuid= regid= groups= inh-caps= ambient-caps= bounding-set= securebits= selinux-label= apparmor-profile= " +
	"pdeathsig="

// sudoShell judges "sudo -s TEXT", which a shell reads.
func sudoShell(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "s|shell" || t.names == "i|login" || t.names == "s") {
			if len(c.operands) == 0 {
				c.stdin = stdinShell
			}
			joinedText(c)
			return
		}
	}
}

// envText judges "env -S TEXT WORDS…": the text is split much as a shell does it, and the words stand behind it.
func envText(c *call) {
	for _, t := range c.tokens {
		if t.kind != optionToken || !strings.HasPrefix(t.names, "S|") {
			continue
		}
		text := joinWords(append([]Word{t.value}, c.words[t.end:]...))
		if strings.HasPrefix(strings.TrimLeft(text.Text, " "), "-") { // options of env itself
			text.Text = "env " + text.Text
		}
		c.shell, c.shape = append(c.shell[:0], text), ""
		return
	}
}

// joinedText takes all operands together as a text for a shell: watch, cmd /c.
func joinedText(c *call) { c.textFrom(0) }

// remoteText takes words together as a text for a shell, from one on. Where a word has blanks people mean the words as
// they are, whatever the shell makes of them: ssh HOST bash -c 'rm x'.
func (c *call) remoteText(at int) {
	words := c.words[at:]
	if len(words) == 0 {
		return
	}
	c.shell = append(c.shell, joinWords(words))
	for _, w := range words[min(1, len(words)):] {
		if strings.ContainsAny(w.Text, " \t\n") {
			c.startWords(words...)
			return
		}
	}
}

// wslText judges "wsl COMMAND…".
func wslText(c *call) {
	c.shape = ""
	if len(c.places) > 0 {
		c.remoteText(c.places[0])
	}
}

// textFrom takes the operands from one on as a text for a shell.
func (c *call) textFrom(operand int) {
	c.shape = ""
	if operand >= len(c.places) {
		return
	}
	c.shell = append(c.shell, joinWords(c.words[c.places[operand]:]))
}

// joinWords makes one text of words, with blanks between them.
func joinWords(words []Word) Word {
	if len(words) == 1 {
		return words[0]
	}
	texts := make([]string, len(words))
	splits := false
	for i, w := range words {
		texts[i] = w.Text
		splits = splits || w.Splits
	}
	return Word{Text: strings.Join(texts, " "), Splits: splits}
}

// sallyportSubcommand knows that "sallyport wrap" starts the server which its words name, as nohup would.
func sallyportSubcommand(name string) (string, program) {
	if name != "wrap" {
		return "", program{}
	}
	return "wrap", program{options: "policy=r ledger= lock=r name= url= header= env= max-line= max-calls= max-result= h|help", operands: "x", style: stops}
}
