package effects

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect adds the effects of redirections, and notes what the standard input is. It returns where the output goes.
func (s *shell) redirect(redirs []*syntax.Redirect) (to written) {
	for _, r := range redirs {
		s.prepare(r.Word)
		if r.Hdoc != nil {
			s.here(r)
			continue
		}
		if r.Op == syntax.WordHdoc {
			texts := s.one(r.Word, false)
			for i := range texts {
				texts[i] += "\n"
			}
			s.give(r, streamOf(texts...))
			continue
		}
		s.eachWay(func() {
			f := fields{}
			s.expandWord(&f, r.Word)
			path := f.joined()
			s.redirectTo(r, path)
			if isOutput(r) && !isTerminal(path) && !isDescriptor(path) {
				s.out, to = nil, written{} // what is said goes to the last file
				if !isStandard(path) {
					s.out, to = &stream{}, written{path, r.Op == syntax.AppOut || r.Op == syntax.AppAll}
				}
			}
		})
	}
	return to
}

// isOutput reports whether a redirection is that of the standard output.
func isOutput(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll,
		syntax.AppAllClob, syntax.DplOut:
		return r.N == nil || r.N.Value == "1"
	}
	return false
}

// here notes a here-document. Where its end is quoted it is text, and else the commands in it are run.
func (s *shell) here(r *syntax.Redirect) {
	if isQuoted(r.Word) {
		s.give(r, streamOf(s.unmask(r.Hdoc.Lit())))
		return
	}
	s.prepare(r.Hdoc)
	body := &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: r.Hdoc.Parts}}}
	s.give(r, streamOf(s.one(body, false)...))
}

// isQuoted reports whether a word has quotes.
func isQuoted(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// give makes a text the standard input, if it is that which is redirected.
func (s *shell) give(r *syntax.Redirect, in *stream) {
	if r.N == nil || r.N.Value == "0" {
		s.input = in
		return
	}
	descriptors := maps.Clone(s.descriptors)
	if descriptors == nil {
		descriptors = map[string]*stream{}
	}
	descriptors[r.N.Value] = in
	s.descriptors = descriptors
}

// redirectTo adds the effects of one redirection to what its word expands to.
func (s *shell) redirectTo(r *syntax.Redirect, to string) {
	reads, writes := false, true
	switch r.Op {
	case syntax.RdrIn:
		reads, writes = true, false
	case syntax.RdrInOut:
		reads = true
	case syntax.DplIn:
		if isDescriptor(to) {
			if in := s.descriptors[to]; in != nil {
				s.give(r, in)
			}
			return
		}
		reads, writes = true, false
	case syntax.DplOut:
		if isDescriptor(to) {
			return
		}
	}
	if reads {
		in := s.substitution(to)
		if in == nil {
			in = s.descriptor(to)
		}
		if in == nil {
			in = unknownStream()
			in.script = true
		}
		switch {
		case isStdin(to): // what comes in anyway
			in = s.input
		case isStandard(to) && !strings.HasPrefix(to, filePrefix) && s.descriptor(to) == nil:
			in = &stream{}
		}
		s.give(r, in)
	}
	if host, ok := connection(to); ok {
		s.effects = append(s.effects, Effect{Kind: Connect, By: -1, Host: host})
		if reads && s.input != nil {
			s.input.script = false
		}
		return
	}
	s.uses(to, -1, operand{read: reads, write: writes}, s.folders.here())
}

// descriptor returns what is known of a file that is named as a descriptor: /dev/fd/3.
func (s *shell) descriptor(path string) *stream {
	if s.descriptors == nil {
		return nil
	}
	for _, folder := range [...]string{"/dev/fd/", "/proc/self/fd/"} {
		if number, found := strings.CutPrefix(path, folder); found {
			return s.descriptors[number]
		}
	}
	return nil
}

// isDescriptor reports whether the word behind >& is no file.
func isDescriptor(word string) bool {
	return word == "-" || word == numberText || strings.Trim(strings.TrimSuffix(word, "-"), "0123456789") == ""
}

// isTerminal reports whether a path is where output goes anyway.
func isTerminal(path string) bool {
	return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1"
}

// isStandard reports whether a path is a device or descriptor that is no file.
func isStandard(path string) bool {
	switch path {
	case "", "-", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr",
		"/dev/tty":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// connection returns the host of a name that bash takes for a connection: /dev/tcp/HOST/PORT.
func connection(path string) (host string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/dev/tcp/")
	if !ok {
		if rest, ok = strings.CutPrefix(path, "/dev/udp/"); !ok {
			return "", false
		}
	}
	host, port, _ := strings.Cut(rest, "/")
	if host == "" {
		return "", false
	}
	host = strings.ToLower(host)
	if port != "" {
		host += ":" + port
	}
	return host, true
}

// uses adds what is done to a file.
func (s *shell) uses(path string, by int, o operand, from []string) {
	if isStandard(path) {
		return
	}
	path = plainText(path)
	if len(s.effects) >= fewEffects {
		use := operand{read: o.read, write: o.write, deep: o.deep}
		if _, stands := s.stood(effectKey{use, by, path, strings.Join(from, "\x00")}); stands {
			return
		}
	}
	resolved := s.resolve(path, from)
	if o.read {
		s.effects = append(s.effects, Effect{Kind: Read, By: by, Path: resolved})
	}
	if o.write {
		s.effects = append(s.effects, Effect{Kind: Write, By: by, Path: resolved, Deep: o.deep})
	}
}
