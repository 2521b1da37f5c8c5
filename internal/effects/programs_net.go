package effects

import "strings"

// netPrograms are those that reach other hosts.
func netPrograms(name string) (program, bool) {
	switch name {
	case "curl":
		return program{options: curlOptions, operands: "U*", more: curlRemoteName}, true
	case "wget", "wget2":
		return program{options: wgetOptions, operands: "U*", more: wgetTarget}, true
	case "http", "https", "httpie", "xh", "xhs", "curlie":
		return program{options: httpOptions, operands: "", style: names, more: httpieItems}, true
	case "aria2c":
		return program{options: aria2cOptions, operands: "U*"}, true
	case "ssh", "autossh", "mosh", "slogin":
		return program{options: sshOptions, style: stops, more: sshRemote}, true
	case "scp":
		return program{options: scpOptions, operands: "l*L", more: copiedHere}, true
	case "sftp":
		return program{options: sftpOptions, operands: "l-*", more: sftpStdin}, true
	case "rsync":
		return program{options: rsyncOptions, operands: "l*L", more: rsyncDeletes}, true
	case "rclone":
		return program{options: rcloneOptions, operands: "", style: inherits, sub: rcloneCommand}, true
	case "nc", "ncat", "netcat", "nc.openbsd", "nc.traditional":
		return program{options: ncOptions, operands: "h-*"}, true
	case "socat":
		return program{style: names, more: socatAddresses}, true
	case "ftp", "lftp", "tnftp":
		return program{options: netOptions(name), operands: "h-*", stdin: stdinQuery}, true
	case "telnet", "ping", "ping6", "traceroute", "tracepath", "mtr", "nmap", "dig", "host", "nslookup",
		"drill", "whois", "rsh", "rlogin", "ssh-copy-id", "ssh-keyscan":
		return program{options: netOptions(name), operands: netOperands(name)}, true
	}
	return program{}, false
}

const httpOptions = "" +
	"o|output=w a|auth= A|auth-type= session= session-read-only= verify= cert=r cert-key=r p|print= timeout= proxy= " +
	"d|download f|form j|json b|body h|headers v|verbose"

const aria2cOptions = "" +
	"d|dir=w o|out=w i|input-file=r x= s= j= k= save-session=w on-download-complete=s on-download-error=s " +
	"on-download-start=s header= user-agent= http-user= http-passwd= conf-path=r log=w l=w load-cookies=r"

const scpOptions = "c= F=r i=r J=h l= o= P= S=s D= X= 3 4 6 A B C O p q R r s T v"

const sftpOptions = "B= b=r c= D=s F=r i=r J=h l= o= P= R= S=s s= X= 4 6 a A C f N p q r v"

const rcloneOptions = "" +
	"config=r log-file=w filter-from=r exclude-from=r include-from=r files-from=r exclude= include= filter= " +
	"backup-dir=w transfers= bwlimit= v n|dry-run P|progress"

const ncOptions = "" +
	"e|exec=s c|sh-exec=s p|source-port= s|source= w|wait= i|idle-timeout= q= X|proxy-type= x|proxy=h O= I= T= V= " +
	"o|output=w lua-exec=r allow= allowfile=r deny= ssl-cert=r ssl-key=r l|listen k u|udp v z n N U 4 6 C d"

func netOptions(name string) string {
	switch name {
	case "lftp":
		return "c=c e=c f=r u= p="
	case "dig":
		return "f=r k=r b= p= t= q= x= y= c="
	case "ssh-copy-id":
		return "i=r p= o= F=r t="
	case "nmap":
		return nmapOptions
	case "ping", "ping6", "traceroute", "mtr", "tracepath":
		return "c= i= W= w= s= t= I= m= q= p= f= n="
	}
	return ""
}

const nmapOptions = "" +
	"p= i=r oN=w oX=w oG=w oA=w iL=r script= script-args= D= S= e= g= T= exclude= excludefile=r top-ports="

func netOperands(name string) string {
	switch name {
	case "dig", "drill":
		return ""
	}
	return "h-*"
}

// curlOptions are those of curl 8 that take values, and the short ones without.
const curlOptions = "" +
	"o|output=w O|remote-name d|data|data-ascii=@ data-binary=@ data-raw= data-urlencode=@ json=@ F|form=@ " +
	"form-string= T|upload-file=r K|config=r b|cookie= c|cookie-jar=w D|dump-header=w E|cert=r key=r cacert=r " +
	"capath=r X|request= H|header=@ A|user-agent= e|referer= u|user= U|proxy-user= x|proxy=U preproxy=U socks4=U " +
	"socks4a=U socks5=U socks5-hostname=U m|max-time= connect-timeout= r|range= C|continue-at= y|speed-time= " +
	"Y|speed-limit= z|time-cond= w|write-out=@ url=U url-query= Q|quote= P|ftp-port= t|telnet-option= netrc-file=r " +
	"n|netrc trace=w trace-ascii=w stderr=w retry= retry-delay= retry-max-time= limit-rate= max-redirs= max-filesize= " +
	"resolve= connect-to= interface= dns-servers= dns-interface= noproxy= cert-type= key-type= pass= ciphers= " +
	"tls13-ciphers= curves= tls-max= tlsuser= tlspassword= unix-socket=r abstract-unix-socket= output-dir=w " +
	"create-file-mode= hostpubmd5= hostpubsha256= pubkey=r engine= egd-file=r random-file=r proto= proto-default= " +
	"proto-redir= aws-sigv4= etag-compare=r etag-save=w hsts=w alt-svc=w crlfile=r pinnedpubkey= login-options= " +
	"mail-from= mail-rcpt= mail-auth= oauth2-bearer= local-port= keepalive-time= expect100-timeout= " +
	"happy-eyeballs-timeout-ms= proxy-header=@ proxy-cert=r proxy-key=r proxy-cacert=r libcurl=w variable=@ rate= " +
	"parallel-max= service-name= sasl-authzid= delegation= krb= f|fail fail-with-body g|globoff G|get h|help " +
	"i|include I|head j|junk-session-cookies J|remote-header-name k|insecure l|list-only L|location location-trusted " +
	"M N|no-buffer p|proxytunnel q|disable R|remote-time s|silent S|show-error v|verbose V|version Z|parallel # " +
	"0|http1.0 1|tlsv1 2|sslv2 3|sslv3 4|ipv4 6|ipv6 a|append B|use-ascii http1.1 http2 http3 compressed " +
	"remote-name-all create-dirs path-as-is no-progress-meter next progress-bar"

// wgetOptions are those of wget 1.24 that take values, and the short ones without.
const wgetOptions = "" +
	"O|output-document=w o|output-file=w a|append-output=w i|input-file=r P|directory-prefix=w e|execute= config=r " +
	"post-file=r body-file=r post-data= body-data= method= header= U|user-agent= referer= user= password= http-user= " +
	"http-password= ftp-user= ftp-password= t|tries= T|timeout= w|wait= l|level= A|accept= R|reject= accept-regex= " +
	"reject-regex= D|domains= exclude-domains= I|include-directories= X|exclude-directories= B|base= Q|quota= " +
	"limit-rate= load-cookies=r save-cookies=w ca-certificate=r ca-directory=r certificate=r private-key=r cut-dirs= " +
	"default-page= bind-address= dns-timeout= connect-timeout= read-timeout= waitretry= start-pos= use-askpass=s " +
	"warc-file=w rejected-log=w S|server-response q|quiet v|verbose nv|no-verbose c|continue N|timestamping " +
	"r|recursive m|mirror k|convert-links p|page-requisites E|adjust-extension b|background d|debug F|force-html " +
	"H|span-hosts K|backup-converted L|relative n= x|force-directories h|help V|version 4|inet4-only 6|inet6-only " +
	"no-check-certificate spider content-disposition trust-server-names show-progress"

// curlRemoteName judges what "curl -O" writes: the last name in the URL.
func curlRemoteName(c *call) {
	for i, t := range c.tokens {
		if t.kind == optionToken && (t.names == "O|remote-name" || t.names == "remote-name-all") {
			for _, w := range c.operands {
				path, _, _ := strings.Cut(w.Text, "?")
				c.use('w', Word{Text: path[strings.LastIndexByte(path, '/')+1:]})
			}
		}
		if t.kind == optionToken && t.names == "b|cookie" && !strings.Contains(c.tokens[i].value.Text, "=") {
			c.use('r', t.value)
		}
	}
}

// wgetTarget judges what wget writes where no option says it.
func wgetTarget(c *call) {
	for _, t := range c.tokens {
		if t.kind != optionToken {
			continue
		}
		switch t.names {
		case "e|execute":
			if name, value, _ := strings.Cut(t.value.Text, "="); lower(strings.TrimSpace(name)) == "use_askpass" {
				c.use('s', Word{Text: value})
			}
		case "O|output-document", "spider", "P|directory-prefix":
			return
		}
	}
	for _, w := range c.operands {
		path, _, _ := strings.Cut(w.Text, "?")
		if _, rest, found := strings.Cut(path, "://"); found {
			path = rest
		}
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			c.use('w', Word{Text: path[i+1:]})
		}
	}
}

// httpieItems judges httpie's words: [METHOD] URL, then items such as NAME@FILE, NAME=@FILE and NAME:=@FILE.
func httpieItems(c *call) {
	for i, w := range c.operands {
		if i == 0 && len(c.operands) > 1 && strings.ToUpper(w.Text) == w.Text && !strings.ContainsAny(w.Text, ".:/") {
			continue
		}
		if len(c.hosts) == 0 {
			c.use('U', w)
			continue
		}
		if at := strings.IndexByte(w.Text, '@'); at >= 0 {
			c.use('r', Word{Text: w.Text[at+1:], Splits: w.Splits})
		}
	}
}

// rcloneCommand judges rclone's REMOTE:PATH.
func rcloneCommand(name string) (string, program) {
	switch name {
	case "copy", "copyto", "sync", "bisync":
		return name, program{operands: "lL"}
	case "move", "moveto":
		return name, program{operands: "mL"}
	case "delete", "deletefile", "purge", "rmdir", "rmdirs":
		return name, program{operands: "d*"}
	case "cat", "check", "hashsum", "md5sum", "sha1sum", "serve", "mount":
		return name, program{operands: "r*"}
	case "ls", "lsl", "lsd", "lsf", "lsjson", "size", "config", "listremotes", "about", "version", "tree", "link":
		return name, program{style: names}
	}
	return "", program{}
}

// sshOptions are those of ssh (OpenSSH 9). An option may stand behind the host, too.
const sshOptions = "" +
	"b= B= c= D= E=w e= F=r I=E i=r J=h L= l= m= O= o= P= p= Q= R= S= W=h w= 4 6 A a C f G g K k M N n q s T t V v X " +
	"x Y y"

// sshRemote judges "ssh [OPTIONS] HOST [OPTIONS] [COMMAND…]". Without a command it is a shell.
func sshRemote(c *call) {
	c.shape = ""
	sshSettings(c)
	if len(c.operands) == 0 {
		return
	}
	c.use('h', c.operands[0])
	// getopt begins again behind the host (ssh.c: "goto again").
	rest := read(program{options: sshOptions, style: stops}, c.words[c.places[0]:], nil)
	command := -1
	for _, t := range rest.tokens {
		if t.kind == operandToken {
			command = t.at
			break
		}
		c.option(&t)
		if t.names == "o" {
			c.sshSetting(t.value)
		}
	}
	if command < 0 {
		c.stdin = stdinShell
		for _, t := range append(c.tokens, rest.tokens...) {
			if t.kind == optionToken && (t.names == "N" || t.names == "G" || t.names == "O" || t.names == "W") {
				c.stdin = stdinData
			}
		}
		return
	}
	c.remoteText(c.places[0] + command)
	inner := c.words[c.places[0]+command:]
	if p, known := shellPrograms(tableName(programOf(inner[0].Text))); known && p.operands == "ra*" {
		if far := invoke(inner); far.stdin == stdinShell { // ssh HOST bash -s
			c.stdin = stdinShell
		}
	} else if fields := strings.Fields(inner[0].Text); len(inner) == 1 && len(fields) > 0 {
		words := make([]Word, len(fields))
		for i, field := range fields {
			words[i].Text = field
		}
		if p, known := shellPrograms(tableName(programOf(fields[0]))); known && p.operands == "ra*" {
			c.stdin = invoke(words).stdin
		}
	}
}

// sshSettings judges -o NAME=VALUE.
func sshSettings(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "o" {
			c.sshSetting(t.value)
		}
	}
}

// copiedHere judges a copy between hosts whose target may be a folder here.
func copiedHere(c *call) {
	sshSettings(c)
	if n := len(c.operands); n > 1 {
		if _, _, remote := remotePath(c.operands[n-1].Text); !remote {
			sources := make([]Word, n-1)
			for i, w := range c.operands[:n-1] {
				_, path, _ := remotePath(w.Text)
				sources[i] = Word{Text: path, Splits: w.Splits}
			}
			c.writeBelow(c.operands[n-1], sources)
		}
	}
}

// sshSetting judges one setting of ssh_config(5): some are commands.
func (c *call) sshSetting(w Word) {
	end := strings.IndexAny(w.Text, "= \t")
	if end < 0 {
		return
	}
	value := Word{Text: strings.Trim(w.Text[end+1:], "= \t\""), Splits: w.Splits}
	switch lower(strings.TrimSpace(w.Text[:end])) {
	case "proxycommand", "localcommand", "knownhostscommand":
		if lower(value.Text) != "none" {
			c.use('s', value)
		}
	case "remotecommand":
		c.use('s', value)
	case "match":
		c.use('E', value)
	case "proxyjump", "hostname":
		c.use('h', value)
	case "identityfile", "certificatefile", "include":
		c.use('r', value)
	case "userknownhostsfile":
		c.use('w', value)
	}
}

// sftpStdin judges the commands that sftp reads: "!" runs one here.
func sftpStdin(c *call) {
	sshSettings(c)
	c.stdin = stdinCode
}

// rsyncOptions are those of rsync 3.3 that take values, and the short ones without.
const rsyncOptions = "" +
	"e|rsh=s rsync-path=s T|temp-dir= files-from=r exclude-from=r include-from=r exclude= include= f|filter= " +
	"log-file=w log-file-format= out-format= password-file=r compare-dest= copy-dest= link-dest= backup-dir=w suffix= " +
	"B|block-size= bwlimit= M|remote-option= partial-dir= timeout= contimeout= port= sockopts= chmod= chown= usermap= " +
	"groupmap= max-size= min-size= max-delete= modify-window= skip-compress= info= debug= address= iconv= " +
	"write-batch=w only-write-batch=w read-batch=r early-input=r compress-choice= compress-level= checksum-choice= " +
	"protocol= outbuf= config=r a|archive b|backup c|checksum d|dirs g|group h|human-readable H|hard-links " +
	"i|itemize-changes I|ignore-times k|copy-dirlinks K|keep-dirlinks l|links L|copy-links m|prune-empty-dirs " +
	"n|dry-run N O|omit-dir-times o|owner p|perms P q|quiet r|recursive R|relative s|protect-args S|sparse t|times " +
	"u|update v|verbose W|whole-file x|one-file-system X|xattrs y|fuzzy z|compress 0|from0 4 6 A|acls C|cvs-exclude D " +
	"E|executability F delete|del delete-before delete-during delete-delay delete-after delete-excluded force " +
	"remove-source-files progress partial stats inplace append existing ignore-existing no-perms no-owner no-group"

// rsyncDeletes judges what is deleted: below the target, or the sources.
func rsyncDeletes(c *call) {
	copiedHere(c)
	for _, t := range c.tokens {
		if t.kind != optionToken {
			continue
		}
		switch {
		case t.names == "remove-source-files":
			c.shape = "m*L"
		case strings.HasPrefix(t.names, "delete") && len(c.operands) > 1:
			c.local(c.operands[len(c.operands)-1], operand{write: true, deep: true})
		}
	}
}

// socatAddresses judges socat's addresses TYPE:REST,OPTIONS.
func socatAddresses(c *call) {
	for _, w := range c.operands {
		kind, rest, _ := strings.Cut(w.Text, ":")
		value := Word{Text: rest, Splits: w.Splits}
		path, _, _ := strings.Cut(rest, ",")
		switch lower(kind) {
		case "exec", "system", "shell":
			value.Text = path
			c.use('s', value)
		case "open", "gopen", "file", "create", "creat", "pipe":
			c.use('b', Word{Text: path, Splits: w.Splits})
		case "tcp", "tcp4", "tcp6", "tcp-connect", "udp", "openssl", "ssl", "udp-connect":
			c.use('h', Word{Text: path, Splits: w.Splits})
		}
	}
}
