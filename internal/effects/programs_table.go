package effects

import "strings"

// programNamed returns what is known of a program.
func programNamed(name string) (program, bool) {
	for _, group := range [...]func(string) (program, bool){
		filePrograms, textPrograms, starterPrograms, shellPrograms, codePrograms, netPrograms, buildPrograms,
		packagePrograms, containerPrograms, systemPrograms, quietPrograms,
	} {
		if p, ok := group(name); ok {
			return p, true
		}
	}
	if name == "git" {
		return gitProgram(), true
	}
	return dashedGit(name)
}

// tableName returns the name under which the tables know a program: versions and GNU's prefix do not count.
func tableName(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		switch name[i:] {
		case ".cmd", ".bat", ".com", ".ps1":
			name = name[:i]
		}
	}
	base := strings.TrimRight(name, "0123456789.")
	switch base {
	case "python", "pythonw", "pypy", "perl", "ruby", "php", "lua", "tclsh", "wish", "node", "pip", "clang", "gcc":
		return strings.TrimSuffix(base, "w")
	case "lua-", "python-", "pip-", "ruby-":
		return strings.TrimSuffix(base, "-")
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld.so") {
		return "ld.so"
	}
	switch name {
	case "gcp", "gmv", "grm", "gln", "gtouch", "gmkdir", "gcat", "ghead", "gtail", "gsed", "gtar", "gfind", "gxargs",
		"gmake", "gtee", "gdd", "gsort", "ginstall", "gchmod", "gchown", "gtruncate", "gshred", "gtimeout", "genv",
		"gstat", "gls", "gdu", "gecho", "gdate", "gnice", "gnohup", "gstdbuf", "gsplit", "ggrep", "gegrep", "gfgrep":
		return name[1:]
	case "gawk", "mawk", "nawk", "original-awk":
		return "awk"
	case "nodejs":
		return "node"
	case "luajit", "texlua":
		return "lua"
	case "bsdtar":
		return "tar"
	}
	return name
}

// quietPrograms are those whose words are data or names: nothing is read or written that the words name, or only its
// metadata.
func quietPrograms(name string) (program, bool) {
	switch name {
	case "echo", "true", "false", ":", "yes", "seq", "expr", "factor", "sleep", "usleep", "test", "[", "let", "shift",
		"return", "break", "continue", "set", "shopt", "unset", "umask", "ulimit", "times", "wait", "jobs", "fg", "bg",
		"disown", "getopts", "getopt", "local", "hash", "type", "which", "whereis", "where", "info", "apropos",
		"whatis", "help", "tldr", "basename", "dirname", "realpath", "readlink", "stat", "ls", "dir", "vdir", "exa",
		"eza", "lsd", "tree", "df", "pwd", "dirs", "popd", "kill", "pkill", "killall", "pgrep", "pidof", "ps", "top",
		"htop", "uptime", "free", "who", "w", "whoami", "id", "groups", "hostname", "uname", "arch", "nproc", "tty",
		"stty", "clear", "reset", "tput", "cal", "printenv", "logname", "users", "sync", "lsof", "fuser", "lsblk",
		"mountpoint", "locate", "mlocate", "plocate", "figlet", "cowsay", "pbpaste", "pbcopy", "xclip", "xsel",
		"wl-copy", "notify-send", "exit", "logout", "printf", "compgen", "compopt", "caller", "suspend", "newgrp",
		"pathchk", "numfmt", "cls", "title", "rem", "ver", "say", "nvidia-smi", "lscpu", "lspci", "lsusb", "dmesg",
		"vmstat", "iostat", "loginctl", "hostnamectl", "timedatectl", "localectl", "ipcs", "arping", "ifconfig",
		"route", "netstat", "ss", "rustup", "nvm", "pyenv", "rbenv", "asdf", "sdk", "jenv", "conda", "mamba",
		"aptitude", "snap", "yum", "dnf", "zypper", "pacman", "yay", "apk", "brew", "port", "choco",
		"scoop", "winget", "dpkg-query", "service", "launchctl", "initctl", "rc-service", "update-rc.d", "chkconfig",
		"shutdown", "reboot", "halt", "poweroff", "mkpasswd", "useradd", "usermod", "userdel", "groupadd", "groupdel",
		"passwd", "chsh", "adduser", "deluser", "gpasswd", "modprobe", "rmmod", "lsmod", "sysctl", "swapon", "swapoff",
		"umount", "losetup", "blkid", "iptables", "ufw", "nft", "uuidgen", "mcookie", "getent", "getconf", "locale",
		"setxkbmap", "xdotool", "xset":
		return program{style: names}, true
	case "du":
		return program{options: duOptions}, true
	case "date":
		return program{style: names, options: dateOptions}, true
	case "apt", "apt-get", "apt-cache", "apt-mark":
		return program{style: names, options: aptSettings, more: aptOptions}, true
	case "man":
		return program{style: names, options: manOptions}, true
	case "systemctl":
		return program{style: names, options: systemctlOptions}, true
	}
	return program{}, false
}

const duOptions = "X|exclude-from=r files0-from=r d|max-depth= t|threshold= B|block-size= exclude= time=? time-style="

const dateOptions = "d|date= f|file=r r|reference= s|set= I|iso-8601=? rfc-3339="

const aptSettings = "o|option= c|config-file=r t|target-release|default-release="

const manOptions = "" +
	"P|pager=s C|config-file=r M|manpath= L|locale= S|s|sections= e|extension= R|recode= m|systems= p|preprocessor= " +
	"r|prompt= E|encoding= H|html=?s l|local-file^r"

const systemctlOptions = "H|host=h M|machine= p|property= t|type= s|signal= n|lines= o|output="

// aptOptions judges apt's settings, of which those that end in Invoke are commands (apt.conf(5)).
func aptOptions(c *call) {
	for _, t := range c.tokens {
		name, value, _ := strings.Cut(t.value.Text, "=")
		if t.names == "o|option" && strings.Contains(lower(name), "invoke") {
			c.use('s', Word{Text: value, Splits: t.value.Splits})
		}
	}
}
