package effects

import "strings"

// rareStarters are those that start the command which their words name, and that are met less often.
func rareStarters(name string) (program, bool) {
	switch name {
	case "sg":
		return program{options: "c|command=s", operands: "-s"}, true
	case "pkexec", "run0", "gsudo", "please", "calife":
		return program{options: pkexecOptions, operands: rareOperands(name), style: stops}, true
	case "with-contenv", "rlwrap", "cross-env", "dotenvx", "env-cmd", "s6-setuidgid", "aa-exec",
		"sandbox-exec", "nocache", "faketime", "runcon", "dockerize", "pseudo", "proot", "arch", "sshpass", "xtrace",
		"stdoutisatty", "script-exec", "spin", "ccache", "sccache", "distcc", "bear", "intercept-build", "scan-build",
		"tsocks", "trickle", "nohang", "chrootuid", "daemon", "exec-wrapper", "timelimit",
		"expect-lite", "gnome-terminal", "xterm", "konsole", "alacritty", "kitty", "at-spi", "devenv":
		return program{options: rareOptions(name), operands: rareOperands(name), style: rareStyle(name)}, true
	case "wezterm", "zellij", "flatpak", "foreman", "honcho", "devcontainer":
		return program{options: "cwd=D command= workspace-folder= f=r e=r container-id= config=r", style: names | dashed, more: ranBy}, true
	case "start-stop-daemon":
		return program{options: startStopDaemonOptions, style: names, more: daemonStarted}, true
	case "corepack":
		return program{operands: "x", style: stops, more: packageRunner}, true
	case "adb":
		return program{options: "s= t= H= P= L= d e a", style: names | stops, more: adbShell}, true
	case "pssh", "parallel-ssh", "pdsh", "clush":
		return program{options: "h|hosts=r H|host=h w=h l|user= p|par= o|outdir=w e|errdir=w t|timeout= x= X= O= A i P v b a g=",
			operands: "s*", style: stops}, true
	case "execlineb":
		return program{options: "c=s s= S= P p W", operands: "ra*", style: stops}, true
	case "fzf", "sk":
		return program{options: fzfOptions, style: names}, true
	case "ld.so":
		return program{options: "library-path= preload=E audit=E argv0= inhibit-rpath= list:-* verify:-*", operands: "x", style: stops}, true
	case "bwrap":
		return program{more: bubblewrap, style: names}, true
	case "capsh":
		return program{more: capshShell, style: names}, true
	case "hyperfine", "concurrently", "npm-run-all", "run-p", "run-s", "cross-env-shell", "mprocs", "bench":
		return program{options: hyperfineOptions, operands: "s*"}, true
	case "lxc", "incus", "multipass", "limactl", "lima", "colima", "distrobox", "toolbox", "guix", "wait-for-it",
		"wait-for-it.sh", "wait-on", "start-server-and-test", "machinectl", "orb", "apptainer", "singularity",
		"enroot", "gh-actions":
		return program{style: names | dashed, options: "C= n|name= t|timeout= c|command=", more: rareExec}, true
	case "sops":
		return program{options: sopsOptions, operands: "r*", more: sopsExec}, true
	case "forfiles":
		return program{options: "c=s p=D m= d= s", style: slashes}, true
	}
	return program{}, false
}

const pkexecOptions = "u|user= g|group= D|chdir=D setenv= unit= property= slice= c|command=s nice="

const hyperfineOptions = "" +
	"p|prepare=s c|cleanup|conclude=s s|setup=s w|warmup= r|runs= n|names|command-name= L|parameter-list= P= " +
	"export-json=w export-markdown=w export-csv=w shell= prefix= kill-others k kill-others-on-fail success= " +
	"m|min-runs= M|max-runs= i N"

const sopsOptions = "i|in-place^w d|decrypt e|encrypt output=w config=r set= extract= age= kms= pgp="

func rareOptions(name string) string {
	switch name {
	case "arch":
		return "d= e= arch="
	case "faketime":
		return "f= p= m"
	case "proot":
		return "r|rootfs=r b|bind= q|qemu= w|cwd=D"
	case "sandbox-exec":
		return "f=r n= p= D="
	case "sshpass":
		return "f=r d= p= e P= v"
	case "dockerize":
		return "wait= timeout= template= stdout= stderr= env="
	case "rlwrap":
		return rlwrapOptions
	case "dotenvx", "env-cmd":
		return "f|env-file|file=r e|environments="
	case "gnome-terminal", "xterm", "konsole", "alacritty", "kitty":
		return "T|title= working-directory=D e:x geometry= x:x"
	}
	return "u= g= n= t= p= o=w c= s="
}

const rlwrapOptions = "f=r H=w b= c D= e= g= l=w m= M= n O= o= P= p= q= r s= S= t= w= z=s"

const startStopDaemonOptions = "x|exec= a|startas= start stop test p|pidfile= u|user= n|name= c|chuid= d|chdir=D g|group= K S b m v"

func rareOperands(name string) string {
	switch name {
	case "faketime", "runcon", "s6-setuidgid", "timelimit":
		return "-x"
	}
	return "x"
}

func rareStyle(name string) style {
	switch name {
	case "arch", "dockerize":
		return stops | oneDash
	case "cross-env", "env-cmd":
		return stops | assigns
	}
	return stops
}

// bubblewrap judges "bwrap OPTIONS… COMMAND…", of which some options take two words.
func bubblewrap(c *call) {
	words := c.words
	for i := 1; i < len(words); i++ {
		option, found := strings.CutPrefix(words[i].Text, "--")
		switch {
		case !found:
			c.start(i)
			return
		case option == "":
			if i+1 < len(words) {
				c.start(i + 1)
			}
			return
		}
		switch option {
		case "bind", "ro-bind", "dev-bind", "bind-try", "ro-bind-try", "dev-bind-try", "symlink", "setenv", "file",
			"bind-data", "ro-bind-data", "chmod", "overlay":
			i += 2
		case "dev", "proc", "tmpfs", "mqueue", "dir", "uid", "gid", "hostname", "chdir", "unsetenv", "lock-file",
			"sync-fd", "args", "argv0", "exec-label", "file-label", "seccomp", "add-seccomp-fd", "block-fd", "userns",
			"info-fd", "json-status-fd", "cap-add", "cap-drop", "perms", "size", "remount-ro", "userns2", "pidns":
			i++
		}
	}
}

// capshShell judges "capsh … -- WORDS…", which are those of a shell.
func capshShell(c *call) {
	if c.dashes > 0 {
		c.startWords(append([]Word{{Text: "bash"}}, c.words[c.dashes+1:]...)...)
	}
}

// rareExec judges "lxc exec CONTAINER COMMAND…" without dashes.
func rareExec(c *call) {
	if c.dashes > 0 || len(c.places) < 3 {
		return
	}
	switch c.operands[0].Text {
	case "exec", "shell", "ssh", "run":
		c.start(c.places[2])
		if c.program == "toolbox" {
			c.start(c.places[1])
		}
	}
}

// sopsExec judges "sops exec-env FILE TEXT".
func sopsExec(c *call) {
	if len(c.operands) > 2 && strings.HasPrefix(c.operands[0].Text, "exec-") {
		c.use('s', c.operands[2])
		c.shape = "-r-*"
	}
}
