package effects

import "strings"

// filePrograms are those that work on files: GNU coreutils 9, with what BSD adds.
func filePrograms(name string) (program, bool) {
	switch name {
	case "rm":
		return program{options: rmOptions, operands: "w*"}, true
	case "rmdir":
		return program{options: "p|parents v|verbose ignore-fail-on-non-empty", operands: "w*"}, true
	case "unlink", "trash", "trash-put", "rimraf", "srm":
		return program{operands: "d*"}, true
	case "cp":
		return program{options: copyOptions, operands: "r*w", more: intoFolder}, true
	case "mv":
		return program{options: copyOptions, operands: "m*w", more: intoFolder}, true
	case "ln", "link":
		return program{options: copyOptions, operands: "r*w", more: linkHere}, true
	case "install":
		return program{options: installOptions, operands: "r*w", more: intoFolder}, true
	case "touch":
		return program{options: touchOptions, operands: "w*"}, true
	case "mkdir", "mkfifo":
		return program{options: "m|mode= p|parents v|verbose Z context=?", operands: "w*"}, true
	case "mknod":
		return program{options: "m|mode= Z context=?", operands: "w-*"}, true
	case "mktemp":
		return program{options: "d|directory u|dry-run q|quiet p|tmpdir=? suffix= t", operands: ""}, true
	case "tee":
		return program{options: "a|append i|ignore-interrupts p output-error=?", operands: "w*"}, true
	case "sponge":
		return program{options: "a", operands: "w*"}, true
	case "dos2unix", "unix2dos", "rename", "prename", "mmv", "sd", "crudini", "codespell":
		return rewriters(name)
	case "truncate":
		return program{options: "c|no-create o|io-blocks r|reference= s|size=", operands: "w*"}, true
	case "shred":
		return program{options: shredOptions, operands: "w*"}, true
	case "chmod", "chown", "chgrp":
		return program{options: chmodOptions, operands: "-w*", more: modeWord}, true
	case "chattr", "chflags", "chcon":
		return program{options: "R|recursive^d V f v= p= reference=!", operands: "-w*"}, true
	case "setfacl":
		return program{options: setfaclOptions, operands: "w*"}, true
	case "setfattr", "xattr":
		return program{options: "n|name= v|value= x|remove= w d p", operands: "w*"}, true
	case "dd":
		return program{more: ddOperands}, true
	case "split":
		return program{options: splitOptions, operands: "rw"}, true
	case "csplit":
		return program{options: csplitOptions, operands: "r-*"}, true
	}
	return program{}, false
}

const rmOptions = "" +
	"r|R|recursive^d f|force i I interactive=? d|dir v|verbose one-file-system no-preserve-root preserve-root=? P x W"

const installOptions = "" +
	"t|target-directory=w$ d|directory:w* m|mode= o|owner= g|group= S|suffix= b backup=? c C|compare D s|strip " +
	"strip-program=s T|no-target-directory p|preserve-timestamps v|verbose Z context=?"

const touchOptions = "a c|no-create d|date= f h|no-dereference m r|reference= t= time= A="

const shredOptions = "f|force n|iterations= random-source=r s|size= u remove=? v|verbose x|exact z|zero"

const chmodOptions = "" +
	"R|recursive^d c|changes f|silent|quiet v|verbose h|no-dereference dereference reference=! from= H L P " +
	"preserve-root no-preserve-root"

const setfaclOptions = "" +
	"m|modify= x|remove= M|modify-file=r X|remove-file=r b k d R|recursive^d set= set-file=r restore=r"

const splitOptions = "" +
	"a|suffix-length= additional-suffix= b|bytes= C|line-bytes= d numeric-suffixes=? x hex-suffixes=? " +
	"e|elide-empty-files filter=s l|lines= n|number= t|separator= u|unbuffered verbose"

const csplitOptions = "b|suffix-format= f|prefix=w k|keep-files n|digits= s|silent|quiet z|elide-empty-files"

// rewriters are those that change files in place, or their names.
func rewriters(name string) (program, bool) {
	switch name {
	case "mmv":
		return program{operands: "mw"}, true
	case "rename", "prename":
		return program{operands: "-m*"}, true
	case "sd":
		return program{options: "p|preview n|max-replacements= f|flags= F s", operands: "--b*"}, true
	case "crudini":
		return program{operands: "-b-*"}, true
	}
	return program{operands: "b*"}, true
}

// copyOptions are those of cp, mv and ln.
const copyOptions = "" +
	"t|target-directory=w$ T|no-target-directory S|suffix= b backup=? context=? a|archive attributes-only d f|force " +
	"i|interactive H l|link L|dereference n|no-clobber P|no-dereference p preserve=? no-preserve= parents " +
	"R|r|recursive reflink=? remove-destination sparse= strip-trailing-slashes s|symbolic|symbolic-link u v|verbose " +
	"x|one-file-system Z update=? logical physical relative c h"

// intoFolder judges a target that may be a folder: cp A ~ writes ~/A.
func intoFolder(c *call) {
	sources := c.operands
	var target Word
	switch {
	case strings.HasSuffix(c.shape, "w") && len(sources) > 1:
		target, sources = sources[len(sources)-1], sources[:len(sources)-1]
	case strings.HasSuffix(c.shape, "*"): // -t FOLDER
		for _, t := range c.tokens {
			if t.kind == optionToken && strings.HasPrefix(t.names, "t|") {
				target = t.value
			}
		}
	}
	c.writeBelow(target, sources)
}

// writeBelow adds what is written where a target is a folder.
func (c *call) writeBelow(target Word, sources []Word) {
	for _, w := range sources {
		name := strings.TrimRight(w.Text, "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
		if target.Text != "" && name != "" && name != "." && name != ".." {
			c.use('w', Word{Text: strings.TrimSuffix(target.Text, "/") + "/" + name, Splits: target.Splits || w.Splits})
		}
	}
}

// linkHere judges "ln -s A", which makes ./A of another folder's A.
func linkHere(c *call) {
	if len(c.operands) == 1 {
		c.use('r', c.operands[0])
		c.shape = ""
		if i := strings.LastIndexByte(c.operands[0].Text, '/'); i >= 0 {
			c.use('w', Word{Text: c.operands[0].Text[i+1:]})
		}
		return
	}
	intoFolder(c)
}

// modeWord judges modes such as -x, which look like options.
func modeWord(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && !t.listed && strings.Contains("rwxXst", t.names) && strings.HasPrefix(c.shape, "-") {
			c.shape = c.shape[1:]
		}
	}
}

func ddOperands(c *call) {
	for _, w := range c.operands {
		switch name, value, _ := strings.Cut(w.Text, "="); name {
		case "if":
			c.use('r', Word{Text: value, Splits: w.Splits})
		case "of":
			c.use('w', Word{Text: value, Splits: w.Splits})
		}
	}
}
