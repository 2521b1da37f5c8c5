package effects

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a program that starts the one which its arguments name.
type wrapper struct {
	short    string   // options of one letter that take an argument
	long     []string // long options that take one as the next word
	operands int      // words before the command
	assigns  bool     // NAME=VALUE may stand before the command
	looks    string   // options with which it starts nothing
}

// wrapperNamed returns what is known of a program that starts another (GNU coreutils 9, findutils 4.10, sudo 1.9, bash
// 5.2).
func wrapperNamed(program string) (wrapper, bool) {
	switch program {
	case "builtin", "chronic", "nohup", "setsid", "winpty":
		return wrapper{}, true
	case "command":
		return wrapper{looks: "vV"}, true
	case "doas":
		return wrapper{short: "Cu"}, true
	case "env":
		return wrapper{short: "uCa", long: []string{"unset", "chdir", "argv0"}, assigns: true}, true
	case "exec":
		return wrapper{short: "a"}, true
	case "ionice":
		return wrapper{short: "cnpPu", long: []string{"class", "classdata"}}, true
	case "nice":
		return wrapper{short: "n", long: []string{"adjustment"}}, true
	case "stdbuf":
		return wrapper{short: "ioe", long: []string{"input", "output", "error"}}, true
	case "sudo":
		return wrapper{short: "CDghpRrTtUu", assigns: true, long: []string{"close-from", "chdir", "group", "host", "prompt",
			"chroot", "role", "command-timeout", "type", "other-user", "user"}}, true
	case "time":
		return wrapper{short: "fo", long: []string{"format", "output"}}, true
	case "timeout":
		return wrapper{short: "ks", long: []string{"kill-after", "signal"}, operands: 1}, true
	case "xargs":
		return wrapper{short: "adEILnPs", long: []string{"arg-file", "delimiter", "max-lines", "max-args", "max-procs",
			"max-chars", "process-slot-var"}}, true
	}
	return wrapper{}, false
}

// wrapped returns the command that a program starts, program word first; nil if it starts none.
func wrapped(program string, args []*syntax.Word) []*syntax.Word {
	w, ok := wrapperNamed(program)
	if !ok {
		return nil
	}
	args, options := skipOptions(args, w.short, w.long)
	if w.looks != "" && strings.ContainsAny(options, w.looks) {
		return nil
	}
	for w.assigns && len(args) > 0 {
		if word, _ := literal(args[0]); !strings.Contains(word, "=") {
			break
		}
		args = args[1:]
	}
	return args[min(w.operands, len(args)):]
}

// skipOptions returns what follows the options of a command, and the letters of its short options. An option that takes
// an argument has it in its own word or in the next.
func skipOptions(args []*syntax.Word, short string, long []string) (rest []*syntax.Word, letters string) {
	for len(args) > 0 {
		word, _ := literal(args[0])
		if len(word) < 2 || word[0] != '-' && word[0] != '+' {
			return args, letters
		}
		args = args[1:]
		if word == "--" {
			return args, letters
		}
		takes := false
		if name, isLong := strings.CutPrefix(word, "--"); isLong {
			takes = slices.Contains(long, name)
		} else {
			var flags string
			flags, takes = shortOptions(word[1:], short)
			letters += flags
		}
		if takes && len(args) > 0 {
			args = args[1:]
		}
	}
	return nil, letters
}

// shortOptions splits a word of short options; takes says that the argument of the last is the next word.
func shortOptions(word, short string) (letters string, takes bool) {
	if i := strings.IndexAny(word, short); short != "" && i >= 0 {
		return word[:i+1], i == len(word)-1
	}
	return word, false
}

// shells read code from an option -c, or from their standard input.
var shells = []string{"ash", "bash", "dash", "ksh", "mksh", "rbash", "sh", "zsh"}

// codeOf returns the words that are code which a program is given to run, if any.
func codeOf(program string, args []*syntax.Word, redirs []*syntax.Redirect) []*syntax.Word {
	switch {
	case program == "eval":
		return args
	case program == "trap":
		rest, _ := skipOptions(args, "", nil)
		return rest[:min(1, len(rest))]
	case !slices.Contains(shells, program):
		return nil
	}
	// -c takes no argument of its own: bash -c -x CODE.
	operands, letters := skipOptions(args, "oO", []string{"rcfile", "init-file"})
	switch {
	case strings.Contains(letters, "c"):
		return operands[:min(1, len(operands))]
	case len(operands) > 0 && !strings.Contains(letters, "s"):
		return nil // a script
	}
	for _, redir := range slices.Backward(redirs) { // the last one is what the shell reads
		if redir.Hdoc != nil {
			body := &syntax.DblQuoted{Left: redir.Hdoc.Pos(), Parts: redir.Hdoc.Parts}
			return []*syntax.Word{{Parts: []syntax.WordPart{body}}}
		}
		if redir.Op == syntax.WordHdoc {
			return []*syntax.Word{redir.Word}
		}
	}
	return nil
}
