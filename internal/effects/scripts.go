package effects

import (
	"slices"
	"strings"
)

// written is a file to which the standard output goes.
type written struct {
	path string
	adds bool
}

// write remembers the text that a command writes to a file: it may be run further down.
func (s *shell) write(path string, said *stream, adds bool) {
	if !said.begun || holdsUnknown(path) {
		return
	}
	key := s.in(s.folders.here(), path)[0]
	if s.scripts == nil {
		s.scripts = map[string]*stream{}
	}
	if before := s.scripts[key]; before != nil && adds {
		joined := &stream{}
		joined.append(before)
		joined.append(said)
		said = joined
	}
	s.scripts[key] = said
}

// file returns what is known of a file's text: of a process substitution, or of a file that was written further up.
func (s *shell) file(path string) *stream {
	in := s.substitution(path)
	if in == nil {
		in = s.descriptor(path)
	}
	if in != nil || s.scripts == nil || path == "" {
		return in
	}
	for _, key := range s.in(s.folders.here(), path) {
		if in := s.scripts[key]; in != nil {
			return in
		}
	}
	return nil
}

// runsScript judges a script that a command runs, as far as its text is known.
func (s *shell) runsScript(program string, words []Word, does *invocation) (done bool) {
	s.namesScript(words, does)
	if len(s.files) == 0 && s.scripts == nil && s.descriptors == nil {
		return false
	}
	if strings.Contains(words[0].Text, "/") {
		if in := s.file(words[0].Text); in != nil && !in.isUnknown() {
			s.script(in, arguments{known: true, name: words[0].Text, words: words[1:]})
			return true
		}
	}
	if len(does.scripts) == 0 || len(does.shell) > 0 {
		return false
	}
	script := does.scripts[0]
	in := s.file(script.Text)
	switch {
	case in == nil || in.isUnknown() && s.substitution(script.Text) == nil:
	case program == "source" || program == ".":
		for _, text := range in.texts() {
			s.code(text)
		}
		return true
	case isShell(program):
		args := arguments{known: true, name: script.Text}
		if i := slices.Index(words, script); i >= 0 {
			args.words = words[i+1:]
		}
		s.codes(in.texts(), args)
		return true
	}
	return false
}

// namesScript adds the run of a script by its name, as if it were run without its interpreter: bash ./deploy is deploy.
func (s *shell) namesScript(words []Word, does *invocation) {
	if len(does.scripts) == 0 {
		return
	}
	path := does.scripts[0].Text
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if name == "" || name == "-" || strings.Contains(name, ".") || holdsUnknown(name) || strings.HasPrefix(path, "/dev/") {
		return
	}
	if i := slices.Index(words, does.scripts[0]); i > 0 {
		s.add(Effect{Kind: Run, By: -1, Command: &Command{Words: words[i:]}})
	}
}

// script judges a file that is run by its name. What is for another interpreter is code that we do not read.
func (s *shell) script(in *stream, args arguments) {
	for _, text := range in.texts() {
		first, _, _ := strings.Cut(text, "\n")
		if interpreter, ok := strings.CutPrefix(first, "#!"); ok && !strings.Contains(interpreter, "sh") {
			s.add(Effect{Kind: Run, By: -1, Command: &Command{Words: []Word{{Text: args.name}}, Code: text}})
			continue
		}
		s.codes(texts{text}, args)
	}
}

// isShell reports whether a program is a shell whose first operand is a script.
func isShell(program string) bool {
	switch program {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash":
		return true
	}
	return false
}

// copies remembers a file that is made of another: it may be a program, which is run by its new name.
func (s *shell) copies(args []Word) {
	var names []string
	for _, w := range args {
		if !strings.HasPrefix(w.Text, "-") {
			names = append(names, w.Text)
		}
	}
	if len(names) != 2 || holdsUnknown(names[1]) {
		return
	}
	if s.clones == nil {
		s.clones = map[string]string{}
	}
	s.clones[s.in(s.folders.here(), names[1])[0]] = names[0]
	if script := s.file(names[0]); script != nil {
		s.write(names[1], script, false)
	}
}

// copied judges a program that is run by the path of a copy as the one that was copied; it may be that one or the copy.
func (s *shell) copied(words []Word) (found bool) {
	if s.clones == nil || !strings.Contains(words[0].Text, "/") {
		return false
	}
	for _, key := range s.in(s.folders.here(), words[0].Text) {
		from, ok := s.clones[key]
		if !ok {
			continue
		}
		delete(s.clones, key) // a copy of a copy may be itself
		s.command(append([]Word{{Text: from}}, words[1:]...), outside)
		s.clones[key] = from
		found = true
	}
	return found
}
