package effects

import (
	"strings"
	"testing"
	"time"
)

// illFormed says what is wrong with effects that no caller could use; "" where nothing is.
func illFormed(effects []Effect) string {
	for i, e := range effects {
		path, host := len(e.Path.Forms) > 0, e.Host != ""
		switch {
		case e.By < -1 || e.By >= i || e.By >= 0 && effects[e.By].Kind != Run:
			return "By does not name a run before it"
		case e.Kind == Run && e.By != -1:
			return "a run stands for itself"
		case e.Kind > Spawn || e.Kind == Spawn:
			return "a shell does not do that"
		case e.Deep && e.Kind != Write:
			return "only what is written is deep"
		case e.Opaque != "" && (e.Command != nil || path || host):
			return "an opaque effect has more than its reason"
		case e.Opaque != "":
		case (e.Kind == Run) != (e.Command != nil) || (e.Kind == Read || e.Kind == Write) != path || (e.Kind == Connect) != host:
			return "not exactly the fields of its kind are set"
		case e.Kind == Run && len(e.Command.Words) == 0:
			return "a command without words"
		case strings.Contains(e.Path.Text, listedText) || e.Command != nil && hasListed(e.Command):
			return "a byte got out that only the reader knows"
		}
	}
	return ""
}

func hasListed(c *Command) bool {
	for _, w := range c.Words {
		if strings.Contains(w.Text, listedText) {
			return true
		}
	}
	return strings.Contains(c.Code, listedText)
}

func FuzzShell(f *testing.F) {
	for _, name := range []string{"denied", "asked", "passed"} {
		for _, c := range textsOf(f, name) {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		watchdog := time.AfterFunc(10*time.Second, func() { panic(text) })
		defer watchdog.Stop()
		effects := Shell(text, plainWorld())
		if fault := illFormed(effects); fault != "" {
			t.Errorf("%s: %q", fault, described(effects))
		}
		for _, e := range effects {
			if strings.Contains(e.Opaque, errUnfinished.Error()) {
				t.Errorf("a panic: %s", e.Opaque)
			}
		}
		// What stands before a text is judged as it is alone, if the text parses at all.
		behind := Shell("rm first\n"+text, plainWorld())
		if len(behind) == 0 || behind[0].Opaque == "" && described(behind)[0] != "run rm first" {
			t.Errorf("the command before the text is not there: %q", described(behind))
		}
	})
}
