package effects

import "strings"

// systemPrograms are archivers, cryptographic tools, cloud clients and what else an agent meets.
func systemPrograms(name string) (program, bool) {
	switch name {
	case "tar":
		return program{options: tarOptions, style: names, more: tarArchive}, true
	case "zip":
		return program{options: zipOptions, operands: "wr*", more: zipTest}, true
	case "unzip":
		return program{options: unzipOptions, operands: "rw*", more: unzipHere}, true
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "lz4", "compress", "uncompress",
		"brotli", "pigz", "pbzip2":
		return program{options: gzipOptions, operands: "b*"}, true
	case "7z", "7za", "7zz", "rar", "unrar":
		return program{operands: "-br*", style: oneDash, more: sevenZip}, true
	case "cpio":
		return program{options: cpioOptions, operands: "w", stdin: stdinNames, more: copiesOut}, true
	case "pax":
		return program{options: "f=b w r x= s= o= p= a d i k l n t u v c H L P X z", operands: "r*", more: paxFiles}, true
	case "ar", "ranlib", "strip", "nm", "objdump", "readelf", "objcopy", "ldd", "size", "addr2line", "c++filt":
		if name == "ar" {
			return program{operands: "-br*"}, true
		}
		return program{options: "o=w j= S d D C t e= f=", operands: "r*"}, true
	case "openssl":
		return program{style: oneDash | names, options: opensslOptions, operands: "-r*"}, true
	case "gpg", "gpg2", "gpgv", "age", "minisign", "cosign":
		return program{options: gpgOptions, operands: "r*"}, true
	case "ssh-keygen":
		return program{options: sshKeygenOptions, operands: ""}, true
	case "ssh-add":
		return program{options: "t= s=E e= E= S= T=r H= h= d D l L x X c k K q v", operands: "r*"}, true
	case "ssh-agent":
		return program{options: "a= t= E= O= P= c s k d D", operands: "x", style: stops}, true
	case "open", "xdg-open", "start", "cygstart", "gio", "gnome-open", "explorer":
		return program{options: "a= b= e t f F n g R W j h s u env= args:r-*", operands: "l*"}, true
	case "gh", "glab", "hub":
		return program{options: "R|repo= hostname=h", style: inherits | names, sub: ghSubcommand}, true
	case "aws", "gcloud", "az", "gsutil", "bq", "doctl", "oci", "ibmcloud", "aliyun", "linode-cli", "hcloud", "s3cmd",
		"mc":
		return cloudClient(name), true
	case "mount":
		return program{options: "t|types= o|options= L= U= O= T=r a B|bind r w v", operands: "rw"}, true
	case "mkfs", "mkswap", "fdisk", "parted", "sfdisk", "sgdisk", "wipefs", "fsck", "e2fsck", "tune2fs", "resize2fs",
		"cryptsetup", "mkfs.ext4", "mkfs.xfs":
		return program{options: "t= L= U= b= N= m= n=", operands: "w*"}, true
	case "dpkg", "rpm", "installer":
		return program{options: dpkgOptions, operands: "-*"}, true
	case "visudo", "vipw":
		return program{options: "f=b c s q", operands: ""}, true
	case "sysctl":
		return program{options: "p|load=?r w a n e q", style: names}, true
	case "logger", "wall", "mail", "mailx", "sendmail", "mutt", "write":
		return program{options: "a=r s= c= b= r= f=r t= p= i A=r", style: names}, true
	case "inotifywait", "fswatch":
		return program{options: "e= t= o=w fromfile=r exclude= format= timefmt= m r q", operands: ""}, true
	case "ffmpeg", "ffprobe", "convert", "magick", "sox", "pdftotext", "pdftk", "qpdf", "gs", "inkscape", "soffice",
		"libreoffice", "wkhtmltopdf", "dot", "plantuml", "mmdc", "rsvg-convert":
		return program{options: "i=r o|output=w", operands: "r*", style: oneDash, more: lastWritten}, true
	}
	return program{}, false
}

const zipOptions = "" +
	"b=w t= tt= n= x= i= P= O=w s= sf r|recurse-paths m^d d:w-* j q u f y 0 1 2 3 4 5 6 7 8 9 e T U o l z v"

const unzipOptions = "d=w P= x= l:r-* t:r-* v:r-* Z:r-* p:r-* c:r-* o n q j a C L"

const gzipOptions = "" +
	"c|stdout|to-stdout:r* t|test:r* l|list:r* o=w S|suffix= k|keep d|decompress f|force q v n r^d 1 2 3 4 5 6 7 8 9 " +
	"T|threads= D=r rm M="

const cpioOptions = "F=b D|directory=D O=w I=r o|create i|extract p|pass-through d m v H= E=r R= f= s= w= r= a t l u 0"

const gpgOptions = "" +
	"o|output=w r|recipient= u|local-user= R|recipients-file=r i|identity=r homedir=r passphrase= passphrase-file=r " +
	"keyring=r default-key= keyserver=h export:-* export-secret-keys:-* list-keys:-* list-secret-keys:-* recv-keys:-* " +
	"delete-keys:-* fingerprint:-* import:r* a e d s b c k K photo-viewer=s status-fd= batch armor encrypt decrypt " +
	"sign verify detach-sign clear-sign symmetric yes set= extract= age= kms= pgp="

const sshKeygenOptions = "" +
	"f=b b= t= C= N= P= m= O= I= n= s=r V= z= r= F= R= E= a= D=E M= Y= w=E l y p e i q v c B H h k"

const dpkgOptions = "" +
	"i|install^r I|info^r c^r l:-* L:-* s:-* S:-* W:-* P:-* r:-* configure admindir= root= q:-* e:-* U^r V:-* a"

// tarOptions are those of GNU tar 1.35 that take values, and the short ones without.
const tarOptions = "" +
	"f|file= C|directory= T|files-from=r X|exclude-from=r exclude= exclude-tag= I|use-compress-program=s to-command=s " +
	"checkpoint=? checkpoint-action= F|info-script|new-volume-script=s rsh-command=s rmt-command=s " +
	"g|listed-incremental=w b|blocking-factor= H|format= V|label= K|starting-file= N|newer|after-date= L|tape-length= " +
	"s|transform|xform= owner= group= mode= mtime= strip-components|strip= suffix= add-file=r newer-mtime= " +
	"index-file=w volno-file=w level= sort= pax-option= quoting-style= occurrence=? warning= owner-map=r group-map=r " +
	"backup=? c|create x|extract|get t|list r|append u|update A|concatenate|catenate d|diff|compare delete " +
	"a|auto-compress j|bzip2 J|xz z|gzip|gunzip Z|compress lzma lzop zstd v|verbose w|interactive k|keep-old-files " +
	"O|to-stdout p|preserve-permissions P|absolute-names h|dereference m|touch o M n S|sparse W|verify i|ignore-zeros " +
	"l|check-links R remove-files U|unlink-first overwrite no-recursion recursion wildcards anchored totals " +
	"one-file-system one-top-level=?w same-owner no-same-owner numeric-owner exclude-vcs exclude-caches force-local"

// tarArchive judges tar: the old way of writing its options, too, and -C, which holds for what follows.
func tarArchive(c *call) {
	tokens := c.tokens
	if len(c.words) > 1 && c.words[1].Text != "" && c.words[1].Text[0] != '-' && !c.words[1].unknown() {
		tokens = tarOldOptions(c.words)
	}
	mode := byte(0)
	remove := false
	for _, t := range tokens {
		if t.kind == optionToken {
			switch name, _, _ := strings.Cut(t.names, "|"); name {
			case "c", "r", "u", "x", "t", "A", "d":
				mode = name[0]
			case "delete":
				mode = 'D'
			case "remove-files":
				remove = true
			}
		}
	}
	dir := Word{}
	extracts := mode == 'x'
	for _, t := range tokens {
		switch {
		case t.kind == operandToken:
			if mode == 'c' || mode == 'r' || mode == 'u' || mode == 'A' {
				w := inFolder(dir, t.value)
				c.file(w, operand{read: true, write: remove, deep: remove})
			} else if mode == 'x' && dir.Text == "" {
				c.use('w', t.value)
				extracts = false
			} else if mode == 'x' {
				c.use('w', inFolder(dir, t.value))
				extracts = false
			}
		case t.kind == optionToken:
			c.tarOption(t, mode, &dir)
		}
	}
	for _, t := range tokens {
		if t.kind == optionToken && strings.HasPrefix(t.names, "O|") {
			extracts = false
		}
	}
	if extracts {
		if dir.Text == "" {
			dir.Text = "."
		}
		c.use('w', dir)
	}
	c.dir, c.shape = nil, ""
}

// inFolder is a path as seen from a folder, which may be the one where we are.
func inFolder(dir, path Word) Word {
	if dir.Text == "" {
		return path
	}
	return join2(dir, path)
}

// tarOption judges one option of tar.
func (c *call) tarOption(t token, mode byte, dir *Word) {
	switch name, _, _ := strings.Cut(t.names, "|"); name {
	case "f":
		use := byte('r')
		if mode == 'c' || mode == 'r' || mode == 'u' || mode == 'A' || mode == 'D' {
			use = 'w'
		}
		if _, _, remote := remotePath(t.value.Text); remote {
			use = 'l'
		}
		c.use(use, t.value)
	case "C":
		*dir = inFolder(*dir, t.value)
	case "T":
		if isStdin(t.value.Text) && mode != 'x' && mode != 't' {
			c.stdin = stdinNames
		}
	case "one-top-level":
		c.use('w', t.value)
	case "checkpoint-action":
		if command, found := strings.CutPrefix(t.value.Text, "exec="); found {
			c.use('s', Word{Text: command, Splits: t.value.Splits})
		}
	case "s":
		if text := t.value.Text; len(text) > 1 && strings.Contains(text[strings.LastIndexByte(text, text[1]):], "e") {
			c.use('c', t.value) // s/x/y/e runs what becomes of the name
		}
	}
}

// tarOldOptions reads "tar cf ARCHIVE FILES…": the letters come without a dash, and their values behind them in order.
func tarOldOptions(words []Word) []token {
	var tokens []token
	next := 2
	for i := range len(words[1].Text) {
		t := token{kind: optionToken, names: words[1].Text[i : i+1]}
		if entry := findOption(tarOptions, t.names); entry != "" {
			t.names, t.says = splitEntry(entry)
			if strings.HasPrefix(t.says, "=") && next < len(words) {
				t.value, t.valued = words[next], true
				next++
			}
		}
		tokens = append(tokens, t)
	}
	rest := read(program{options: tarOptions}, append([]Word{words[0]}, words[min(next, len(words)):]...), nil)
	return append(tokens, rest.tokens...)
}

// zipTest judges "zip -TT COMMAND", which tests the archive with a command.
func zipTest(c *call) {
	for i, w := range c.words[:len(c.words)-1] {
		if w.Text == "-TT" || w.Text == "--unzip-command" {
			c.use('s', c.words[i+1])
		}
	}
}

// unzipHere judges where unzip writes if no option says it.
func unzipHere(c *call) {
	if c.shape != "rw*" || len(c.operands) == 0 {
		return
	}
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "d" || strings.IndexByte("ltvZpc", t.names[0]) >= 0) {
			c.shape = "r-*"
			return
		}
	}
	c.use('w', Word{Text: "."})
}

// sevenZip judges "7z a ARCHIVE FILES…" and "7z x ARCHIVE -oDIR".
func sevenZip(c *call) {
	if len(c.operands) == 0 {
		return
	}
	switch c.operands[0].Text {
	case "a", "u", "d", "rn":
	default:
		c.shape = "-r-*"
		for _, w := range c.words[1:] {
			if dir, found := strings.CutPrefix(w.Text, "-o"); found {
				c.use('w', Word{Text: dir, Splits: w.Splits})
			}
		}
	}
}

// opensslOptions are those of openssl's commands that name files.
const opensslOptions = "" +
	"in=r out=w inkey=r key=r keyout=w cert=r certfile=r CAfile=r CApath=r CA=r CAkey=r CAserial=b config=r extfile=r " +
	"passin= passout= pass= kfile=r signkey=r sign=r verify=r signature=r prverify=r newkey= subj= days= connect=h " +
	"host=h servername= recip=r signer=r peerkey=r rand=r writerand=w engine=E provider= provider-path= extensions= " +
	"set_serial= addext= md= name= cipher= pkeyopt= algorithm= paramfile=r content=r K= iv= S= iter= starttls= " +
	"proxy=h untrusted=r trusted=r CRL=r nodes noout text modulus des aes256 aes-256-cbc e d a base64 pbkdf2 salt " +
	"nosalt sha256 x509 new req pubkey pubin pubout check"

// lastWritten takes the last operand of converters for their target.
func lastWritten(c *call) {
	if len(c.operands) > 0 {
		c.use('w', c.operands[len(c.operands)-1])
	}
}

// ghSubcommand is what is known of a subcommand of gh.
func ghSubcommand(name string) (string, program) {
	switch name {
	case "api":
		return name, program{options: apiOptions, style: names, more: ghHost}
	case "pr", "issue", "release", "repo", "gist", "run", "workflow", "secret", "variable", "label", "project",
		"ruleset", "cache", "codespace", "auth", "alias", "config", "extension", "gpg-key", "ssh-key", "org", "search",
		"attestation", "mr", "ci", "snippet", "cs":
		return name, program{style: names, sub: ghAction, more: ghHost}
	case "browse", "status", "completion", "version", "help", "agent-task", "preview":
		return name, program{style: names, options: "b|branch= c|commit= n", more: ghHost}
	}
	return "", program{}
}

const apiOptions = "" +
	"X|method= f|raw-field= F|field=@ H|header= input=r q|jq= t|template= cache= p|preview= hostname=h i|include " +
	"paginate silent slurp verbose"

// ghAction is what is known of "gh pr create" and its like.
func ghAction(name string) (string, program) {
	const options = ghactionOptions
	switch name {
	case "create", "new", "edit", "list", "ls", "view", "checkout", "co", "close", "reopen", "comment", "diff",
		"merge", "ready", "review", "checks", "status", "develop", "lock", "unlock", "pin", "unpin", "transfer",
		"delete", "upload", "download", "clone", "fork", "sync", "rename", "archive", "unarchive", "set-default",
		"watch", "rerun", "cancel", "enable", "disable", "run", "set", "get", "remove", "add", "login", "logout",
		"refresh", "setup-git", "token", "switch", "install", "upgrade", "exec", "search", "browse", "ssh", "cp",
		"code", "stop", "import", "approve", "note", "update", "trigger", "retry", "verify", "deploy-key", "autolink",
		"update-branch", "revert", "item-list", "item-add", "link", "unlink", "copy", "field-list":
		p := program{options: options, style: names, more: ghHost}
		switch name {
		case "upload":
			p.operands = "-r*"
		case "create":
			p.more = ghFiles
		case "set":
			p.options = "f|env-file=r b|body= e|env= o|org= r|repos= u|user a|app= v|visibility= no-store no-repos-selected"
		case "ssh":
			p.style |= dashed
		}
		return name, p
	}
	return "", program{}
}

const ghactionOptions = "" +
	"t|title= b|body= F|body-file|notes-file=r B|base= H|head= a|assignee= l|label= m|milestone|message= p|project= " +
	"r|reviewer= T|template= n|notes= d|draft=? target= tag= q|jq= json= L|limit= s|state|subject= S|search= " +
	"A|author= add-label= remove-label= c|comment= reason= D|dir=w O|output=w f|filename|ref= field= env= e|env-file= " +
	"o|org= u|user= app= visibility= description= homepage= g|gitignore= license= source=r remote= log-failed log web " +
	"w job= j method= squash merge rebase delete-branch auto admin match-head-commit= with-token k|with-token shell=s " +
	"recover=r commit= body-text= "

// ghFiles judges what "gh gist create FILE…" and "gh release create TAG FILE…" publish.
func ghFiles(c *call) {
	ghHost(c)
	for _, t := range c.tokens {
		if t.kind == subToken && t.names == "gist" {
			c.shape = "r*"
		}
		if t.kind == subToken && t.names == "release" {
			c.shape = "-r*"
		}
	}
}

// ghHost judges the host of gh, or the one that an API path names.
func ghHost(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "hostname" {
			return
		}
	}
	if len(c.hosts) == 0 && c.program == "gh" {
		c.addHost("github.com")
	}
}

// cloudClient is what is known of the clients of clouds: their words are names, but for copies.
func cloudClient(name string) program {
	return program{options: cloudclientOptions, style: names, more: cloudCopy}
}

const cloudclientOptions = "" +
	"profile= region= endpoint-url=U output|o= query= project= account= zone= location= resource-group|g= name|n= " +
	"subscription= configuration= format= filter= ca-bundle=r cli-input-json=@ cli-input-yaml=@ template-file=r " +
	"template-body=@ body=@ file|data-file|f|from-file|data=r policy-document=@ secret-string= value= parameters= cli-connect-timeout= " +
	"cli-read-timeout= c|config=r exclude= include= acl= impersonate-service-account= quiet verbosity= key-file=r " +
	"command=s scripts=s payload=@ zip-file=@ user-data=@"

// cloudCopy judges "aws s3 cp SOURCE TARGET" and its like.
func cloudCopy(c *call) {
	words := c.operands
	for len(words) > 0 {
		switch words[0].Text {
		case "put":
			for _, w := range words[1:] {
				if !strings.Contains(w.Text, "://") {
					c.use('r', w)
				}
			}
			return
		case "s3", "storage", "-m":
			words = words[1:]
			continue
		case "cp", "mv", "sync", "rsync":
			for i, w := range words[1:] {
				if strings.Contains(w.Text, "://") {
					continue
				}
				use := byte('r')
				switch {
				case i > 0 && i == len(words)-2:
					use = 'w'
				case words[0].Text == "mv":
					use = 'm'
				}
				c.use(use, w)
			}
			return
		}
		break
	}
	for _, t := range c.tokens {
		if path, found := strings.CutPrefix(t.value.Text, "file://"); found {
			c.use('r', Word{Text: path})
		} else if path, found := strings.CutPrefix(t.value.Text, "fileb://"); found {
			c.use('r', Word{Text: path})
		}
	}
}
