package effects

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxSteps is how many commands of a text are judged. A variable that may have several values, and a function that is
	// called several times, count each time.
	maxSteps = 50_000
	maxWork  = 1_000_000

	// maxValues is how many values a variable may have, and maxRuns in how many ways one command may expand.
	maxValues = 256
	maxRuns   = 1024

	// maxInside is how deep the statements of a text may stand within each other. The parser's own limit comes first, but
	// for what it reads in a loop.
	maxInside = 1000

	// maxWrapped is how many commands may start each the next: sudo nice env ….
	maxWrapped = 64
)

var (
	errTooMuch = errors.New("it does more than can be judged")
	errNUL     = errors.New("it holds a NUL byte")
)

// Shell returns what a text for a POSIX shell would do.
func Shell(text string, w *World) []Effect {
	s := newShell(w)
	s.guard(func() {
		s.code(text)
		s.judgeUncalled()
	})
	return s.effects
}

// argvEffects returns what a command would do that is given as its words, none of them for a shell to expand.
func argvEffects(words []string, w *World) []Effect {
	s := newShell(w)
	s.guard(func() {
		argv := make([]Word, len(words))
		for i, word := range words {
			argv[i] = Word{Text: word}
		}
		s.command(argv, outside)
	})
	return s.effects
}

// shell is a shell that reads a text without running it: what it knows of itself at the place that is being read, and
// the effects that were found before.
type shell struct {
	world   *World
	effects []Effect

	steps   int  // commands that may still be judged
	work    int  // parts of words that may still be expanded
	deep    int  // how deep the code lies within code
	inside  int  // how deep the statement stands within others
	wrapped int  // how many commands have started the one that is judged
	unread  bool // that something cannot be read was said
	masked  bool // the text that is read has masks for what is not known

	vars      variables
	folders   folders
	returned  []string // folders in which a function returned
	args      arguments
	functions map[string]*function
	aliases   map[string]string
	calls     int // function calls that may still be followed
	inCalls   int // how many are being followed
	again     int // loops that may still be read a second time

	input *stream // what is known of the standard input

	descriptors map[string]*stream // and of others, by number
	out         *stream            // where the standard output is collected; nil: nobody wants to know

	choices choices
	outputs map[syntax.Node]*stream // of the substitutions in the command that is being read
	files   []*stream               // of process substitutions, by number
	scripts map[string]*stream      // what the text writes to files
	clones  map[string]string       // files that the text makes of others
	said    map[effectKey]int       // effects of a long text that stand already
	sites   *siteList               // of the text that is being read
}

func newShell(w *World) *shell {
	dir := w.Dir
	if dir == "" {
		dir = unknownText
	}
	return &shell{
		world:   w,
		steps:   maxSteps,
		work:    maxWork,
		calls:   200,
		again:   16,
		folders: folders{now: []string{dir}, failed: []string{dir}, last: []string{dir}},
	}
}

// guard runs what reads; a fault of ours makes the text one that cannot be read.
func (s *shell) guard(read func()) {
	defer func() {
		if p := recover(); p != nil {
			s.unreadable(fmt.Errorf("%w: %v", errUnfinished, p))
		}
	}()
	read()
}

// unreadable adds an opaque effect of each kind that a text may have. Once is enough for a text.
func (s *shell) unreadable(err error) {
	if s.unread {
		return
	}
	s.unread = true
	reason := "the shell text does not parse: " + err.Error()
	if isOurs(err) {
		reason = err.Error()
	}
	for _, kind := range []Kind{Run, Read, Write} {
		s.effects = append(s.effects, Effect{Kind: kind, By: -1, Opaque: reason})
	}
}

func isOurs(err error) bool {
	return errors.Is(err, ErrTooLong) || errors.Is(err, ErrTooDeep) || errors.Is(err, errTooMuch)
}

// opaqueRun adds a run of which nobody can tell what it is.
func (s *shell) opaqueRun(reason string) (by int) {
	return s.add(Effect{Kind: Run, By: -1, Opaque: reason})
}

// step reports whether one more command may be judged.
func (s *shell) step() bool {
	if s.steps == 0 || s.work < 0 {
		s.unreadable(errTooMuch)
		return false
	}
	s.steps--
	return true
}

// code reads a text in this shell: the outermost one, or what is given to eval.
func (s *shell) code(text string) {
	switch {
	case isUnknown(text):
		s.opaqueRun("code that is known only when it runs")
		s.emit(unknownText)
		return
	case s.deep > maxCode:
		s.unreadable(ErrTooDeep)
		return
	case strings.IndexByte(text, 0) >= 0:
		s.unreadable(errNUL)
	}
	masked, sites := s.masked, s.sites
	text, s.masked = mask(text)
	file, err := parse(text)
	s.sites = &siteList{root: file}
	s.deep++
	s.guard(func() { s.statements(file.Stmts) })
	s.deep--
	s.masked, s.sites = masked, sites
	if err != nil {
		s.unreadable(err)
	}
}

// subshell reads in a shell of its own what does not change this one.
func (s *shell) subshell(read func()) {
	folders, args, mark := s.folders, s.args, s.vars.mark()
	read()
	s.vars.rollBack(mark)
	s.folders, s.args = folders, args
}

// codes reads texts, any of which may be the one that another shell is given.
func (s *shell) codes(in texts, args arguments) {
	for _, text := range in {
		s.subshell(func() {
			s.args = args
			s.code(text)
		})
	}
}

// document reads the substitutions in a text that the shell expands once more, as in test -v 'a[$(cmd)]'.
func (s *shell) document(text string) {
	if !strings.Contains(text, "$(") && !strings.Contains(text, "`") {
		return
	}
	if s.deep > maxCode {
		s.unreadable(ErrTooDeep)
		return
	}
	masked, sites := s.masked, s.sites
	text, s.masked = mask(text)
	word, err := parseDocument(text)
	s.sites = nil
	s.deep++
	s.guard(func() { s.prepare(word) })
	s.deep--
	s.masked, s.sites = masked, sites
	if err != nil {
		s.unreadable(err)
	}
}

// judgeUncalled reads the functions that are declared and not called: the host, a trap or another text may do so.
func (s *shell) judgeUncalled() {
	names := make([]string, 0, len(s.functions))
	for name, f := range s.functions {
		if !f.called {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f := s.functions[name]
		s.subshell(func() {
			s.args = arguments{}
			masked, sites := s.masked, s.sites
			s.masked, s.sites = f.masked, f.sites
			if f.sites != nil {
				s.widen(f.sites.all())
			}
			s.statement(f.body)
			s.masked, s.sites = masked, sites
		})
	}
}
