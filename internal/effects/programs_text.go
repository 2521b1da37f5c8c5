package effects

// textPrograms are those that read texts and print them.
func textPrograms(name string) (program, bool) {
	switch name {
	case "cat", "tac", "rev", "nl", "wc", "sum", "cksum", "md5sum", "md5", "b2sum", "b3sum", "shasum", "sha1sum",
		"sha224sum", "sha256sum", "sha384sum", "sha512sum", "strings", "expand", "unexpand", "hexdump", "hd", "bat",
		"batcat", "zcat", "bzcat", "xzcat", "lzcat", "zstdcat", "zless", "zmore", "more", "most", "file", "iconv",
		"column", "fmt", "fold", "pr", "tsort", "ptx", "nroff", "cloc", "tokei", "scc", "gofmt", "comm", "colordiff",
		"pandoc":
		return program{options: readOptions(name), operands: "r*"}, true
	case "head", "tail":
		return program{options: headOptions, operands: "r*"}, true
	case "less", "vimpager":
		return program{options: lessOptions, operands: "r*", more: plusCommands}, true
	case "sort":
		return program{options: sortOptions, operands: "r*"}, true
	case "uniq":
		return program{options: uniqOptions, operands: "rw"}, true
	case "cut":
		return program{options: cutOptions, operands: "r*"}, true
	case "tr":
		return program{style: names}, true
	case "od":
		return program{options: odOptions, operands: "r*"}, true
	case "xxd":
		return program{options: xxdOptions, operands: "rw"}, true
	case "base64", "base32", "basenc":
		return program{options: "w|wrap= d|decode|D i o|output=w", operands: "r*"}, true
	case "shuf":
		return program{options: shufOptions, operands: "r*"}, true
	case "join":
		return program{options: joinOptions, operands: "r*"}, true
	case "paste":
		return program{options: "d|delimiters= s|serial z", operands: "r*"}, true
	case "cmp":
		return program{options: cmpOptions, operands: "rr-*"}, true
	case "diff", "diff3", "sdiff", "delta", "icdiff", "difft":
		return program{options: diffOptions, operands: "r*"}, true
	case "patch":
		return program{options: patchOptions, operands: "br", more: patchInput}, true
	case "apply_patch", "applypatch":
		return program{operands: "", style: names, stdin: stdinPatch}, true
	case "sed":
		return program{options: sedOptions, operands: "-r*", more: sedScripts}, true
	case "awk":
		return program{options: awkOptions, operands: "-r*", style: stops, more: awkProgram}, true
	}
	return searchPrograms(name)
}

const headOptions = "" +
	"n|lines= c|bytes= q|quiet|silent v|verbose z|zero-terminated f follow=? F r s|sleep-interval= pid= b= retry " +
	"max-unchanged-stats="

const lessOptions = "" +
	"o|log-file=w O|LOG-FILE=w k|lesskey-file=r lesskey-src=r b= h= j= p|pattern= P= t|tag= T= x= y= z= D="

const sortOptions = "" +
	"o|output=w k|key= t|field-separator= S|buffer-size= T|temporary-directory= parallel= batch-size= files0-from=r " +
	"compress-program=s random-source=r sort= b d f g i M h n R r|reverse V c|check=? m|merge s|stable u|unique " +
	"z|zero-terminated debug"

const uniqOptions = "" +
	"c|count d|repeated D all-repeated=? f|skip-fields= group=? i|ignore-case s|skip-chars= u|unique w|check-chars= " +
	"z|zero-terminated"

const cutOptions = "b|bytes= c|characters= d|delimiter= f|fields= n complement s|only-delimited output-delimiter= z"

const odOptions = "A|address-radix= j|skip-bytes= N|read-bytes= S|strings=? t|format= w|width=? v endian="

const xxdOptions = "" +
	"c|cols= g|groupsize= l|len= o= s|seek= n|name= R= a b C|capitalize d E e i p|ps|postscript|plain r|revert u"

const shufOptions = "e|echo:-* i|input-range=:-* n|head-count= o|output=w random-source=r r|repeat z"

const joinOptions = "a= e= i j= o= t= v= 1= 2= check-order nocheck-order header z"

const cmpOptions = "b|print-bytes i|ignore-initial= l|verbose n|bytes= s|quiet|silent"

const diffOptions = "" +
	"x|exclude= X|exclude-from=r I|ignore-matching-lines= F|show-function-line= U= u|unified=? C= c|context=? " +
	"L|label= from-file=r to-file=r S|starting-file= W|width= o|output=w D|ifdef= tabsize= line-format= " +
	"old-line-format= new-line-format= unchanged-line-format= palette= color=? horizon-lines= diff-program=s " +
	"GTYPE-group-format="

const patchOptions = "" +
	"i|input=r o|output=w d|directory=D r|reject-file=w p|strip= B|prefix= z|suffix= Y= D|ifdef= F|fuzz= " +
	"V|version-control= g|get= read-only= reject-format="

const sedOptions = "" +
	"e|expression=-! f|file=r! i|in-place=?^w n|quiet|silent E|r|regexp-extended l|line-length= s|separate u " +
	"z|null-data follow-symlinks debug posix sandbox"

const awkOptions = "" +
	"F|field-separator= v|assign= f|file=r! E|exec=r! i|include= l|load=r e|source=-! d|dump-variables=? D|debug=? " +
	"o|pretty-print=? p|profile=? b c C g h I k L|lint=? M n N O P r s S|sandbox t V"

// readOptions are the options with values of programs that only read what their operands name.
func readOptions(name string) string {
	switch name {
	case "wc":
		return "files0-from=r total="
	case "nl":
		return "b= d= f= h= i= l= n= s= v= w="
	case "file":
		return "f|files-from=r m|magic-file=r F|separator= e|exclude= P="
	case "iconv":
		return "f|from-code= t|to-code= o|output=w c s l"
	case "strings":
		return "n|bytes= t|radix= e|encoding= T|target="
	case "hexdump", "hd":
		return "n= s= e= f=r"
	case "shasum":
		return "a|algorithm= c|check b t"
	case "bat", "batcat":
		return batOptions
	case "column":
		return columnOptions
	case "fold", "fmt":
		return "w|width= p|prefix= g|goal="
	case "gofmt":
		return "w^w d l s r= cpuprofile=w"
	case "pandoc":
		return pandocOptions
	case "pr":
		return "D= h= l= N= o= w= W="
	}
	return ""
}

const batOptions = "" +
	"l|language= r|line-range= H|highlight-line= theme= style= m|map-syntax= pager=s paging= file-name= wrap= color= " +
	"decorations= terminal-width= tabs= diff-context= italic-text="

const columnOptions = "s|separator= o|output-separator= c|output-width= N|table-columns= R= H= W= O= E= n="

const pandocOptions = "" +
	"o|output=w f|from|read|r= t|to|write|w= d|defaults=r template=r c|css=r F|filter=s L|lua-filter=r M|metadata= " +
	"V|variable= metadata-file=r H|include-in-header=r B|include-before-body=r A|include-after-body=r bibliography=r " +
	"csl=r reference-doc=r extract-media=w resource-path= pdf-engine=s log=w toc-depth= columns= wrap="

// searchPrograms are those whose first word is a pattern.
func searchPrograms(name string) (program, bool) {
	switch name {
	case "grep", "egrep", "fgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep", "ugrep", "pcregrep", "pcre2grep":
		return program{options: grepSearchprogramsOptions, operands: "-r*", more: searchesFor}, true
	case "rg":
		return program{options: rgOptions, operands: "-r*", more: searchesFor}, true
	case "ag", "ack", "pt", "sift":
		return program{options: agOptions, operands: "-r*", more: searchesFor}, true
	case "jq", "gojq", "jaq":
		return program{options: jqOptions, operands: "-r*", more: jqFiles}, true
	case "yq":
		return program{options: yqOptions, operands: "-r*", more: yqLoads}, true
	case "fd", "fdfind":
		return program{options: fdOptions, operands: "", more: fdCommand}, true
	}
	return program{}, false
}

const grepSearchprogramsOptions = "" +
	"e|regexp=-! f|file=r! A|after-context= B|before-context= C|context= m|max-count= d|directories= D|devices= " +
	"include= exclude= exclude-dir= include-dir= exclude-from=r label= color|colour=? binary-files= group-separator= " +
	"E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp i|y|ignore-case no-ignore-case v|invert-match " +
	"w|word-regexp x|line-regexp c|count L|files-without-match l|files-with-matches o|only-matching q|quiet|silent " +
	"s|no-messages b|byte-offset H|with-filename h|no-filename n|line-number T|initial-tab Z|null a|text I " +
	"r|recursive R|dereference-recursive U|binary z|null-data line-buffered"

const rgOptions = "" +
	"e|regexp=-! f|file=r! files:r* A|after-context= B|before-context= C|context= m|max-count= g|glob= iglob= t|type= " +
	"T|type-not= type-add= type-list:-* ignore-file=r pre=s pre-glob= hostname-bin=s color= colors= " +
	"context-separator= d|max-depth= E|encoding= engine= field-context-separator= field-match-separator= " +
	"max-columns|M= max-filesize= path-separator= r|replace= sort= sortr= j|threads= dfa-size-limit= " +
	"regex-size-limit= hyperlink-format= generate= F|fixed-strings i|ignore-case S|smart-case s|case-sensitive " +
	"v|invert-match w|word-regexp x|line-regexp c|count count-matches l|files-with-matches files-without-match " +
	"o|only-matching q|quiet n|line-number N|no-line-number H|with-filename I|no-filename U|multiline P|pcre2 " +
	"u|unrestricted hidden no-ignore L|follow z|search-zip p|pretty json vimgrep a|text 0|null"

const agOptions = "" +
	"A|after=? B|before=? C|context=? G|file-search-regex= g=-! ignore= ignore-dir= m|max-count= p|path-to-ignore=r " +
	"depth= pager=s W|width= type= workers= color-line-number= color-match= color-path= match=-! output= i Q l L v w " +
	"c a r n s S u U z ackrc=r files-from=r"

const jqOptions = "" +
	"f|from-file L= args jsonargs arg= argjson= slurpfile= rawfile= argfile= indent= n|null-input r|raw-output j a s|slurp " +
	"c|compact-output C M S|sort-keys e|exit-status R|raw-input tab unbuffered stream seq"

const yqOptions = "" +
	"i|inplace^w f= from-file=r! P o|output-format= p|input-format= I|indent= s|split-exp= front-matter= " +
	"expression=-! y Y r|raw-output"

const fdOptions = "" +
	"x|exec= X|exec-batch= E|exclude= e|extension= t|type= d|max-depth= min-depth= exact-depth= S|size= " +
	"changed-within= changed-before= o|owner= c|color= j|threads= max-results= base-directory=D path-separator= " +
	"search-path= and= format= ignore-file=r H|hidden I|no-ignore s i g|glob F a|absolute-path l|list-details " +
	"L|follow p|full-path 0|print0 q 1 u"

// jqFiles judges what jq reads: its first operand is a program, --slurpfile NAME FILE takes two words, and what stands
// behind --args is data.
func jqFiles(c *call) {
	c.shape = ""
	filter, data := true, false // what the next operand is
	var second byte             // the use of the second word of an option
	for _, t := range c.tokens {
		switch {
		case t.kind == operandToken && second != 0:
			c.use(second, t.value)
			second = 0
		case t.kind == operandToken && filter:
			filter = false
		case t.kind == operandToken && !data:
			c.use('r', t.value)
		}
		if t.kind == optionToken {
			switch t.names {
			case "f|from-file":
				filter = false
			case "args", "jsonargs":
				data = true
			case "slurpfile", "rawfile", "argfile":
				second = 'r'
			case "arg", "argjson":
				second = '-'
			}
		}
	}
}
