package install

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Timeout is what an entry of ours allows a hook to take, unless its deadline is a long one.
const Timeout = 5 * time.Second

// Slowest is the longest that a hook with a deadline may take: three deadlines until the event is there, and one to decide.
// A host's timeout must be longer, or the host gives up on a hook that is about to deny.
func Slowest(deadline time.Duration) time.Duration { return 4 * deadline }

// Command is the command line that a host shall run for each event.
type Command struct {
	Binary   string        // absolute path of sallyport
	Policy   string        // absolute path for --policy, or "" for none
	Ledger   string        // absolute path for --ledger, or "" for none
	Checks   bool          // --checks
	Deadline time.Duration // for --deadline, or 0 for none
}

// args returns the arguments of the command for a host.
func (c Command) args(host string) []string {
	args := []string{"hook", host}
	if c.Policy != "" {
		args = append(args, "--policy", c.Policy)
	}
	if c.Ledger != "" {
		args = append(args, "--ledger", c.Ledger)
	}
	if c.Checks {
		args = append(args, "--checks")
	}
	if c.Deadline != 0 {
		args = append(args, "--deadline", c.Deadline.String())
	}
	return args
}

// shell returns the command for a host as one line for a POSIX shell.
func (c Command) shell(host string) string {
	line := quote(c.Binary)
	for _, arg := range c.args(host) {
		line += " " + quote(arg)
	}
	return line
}

// timeout is what an entry with this command allows the hook to take, in whole seconds.
func (c Command) timeout() time.Duration {
	if Slowest(c.Deadline) < Timeout {
		return Timeout
	}
	return (Slowest(c.Deadline) + c.Deadline + time.Second - 1).Truncate(time.Second)
}

// Command returns the command line of an entry; ok is false where it is not the hook command.
func (e Entry) Command() (c Command, host string, ok bool) {
	words := e.Exec
	if words == nil {
		words, ok = splitWords(e.Shell)
		if !ok {
			return Command{}, "", false
		}
	}
	return parseCommand(words)
}

// parseCommand reads the command line "sallyport hook HOST [FLAGS]" in every spelling that hook takes.
func parseCommand(words []string) (c Command, host string, ok bool) {
	words = withoutExec(words)
	if len(words) < 3 || words[1] != "hook" {
		return Command{}, "", false
	}
	c.Binary = words[0]
	var hosts []string
	for rest := words[2:]; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		if word == "--" {
			hosts = append(hosts, rest...)
			break
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			hosts = append(hosts, word)
			continue
		}
		name, value, given := strings.Cut(word, "=")
		switch {
		case name == "--checks" && !given:
			value = "true"
		case !given && len(rest) == 0:
			return c, "", false
		case !given:
			value, rest = rest[0], rest[1:]
		}
		if !c.set(name, value) {
			return c, "", false
		}
	}
	if len(hosts) != 1 {
		return c, "", false
	}
	return c, hosts[0], true
}

// set sets a flag of the command. It reports false where hook would not take it.
func (c *Command) set(name, value string) bool {
	switch name {
	case "--policy":
		c.Policy = value
	case "--ledger":
		c.Ledger = value
	case "--checks":
		c.Checks = value == "true"
		return c.Checks || value == "false"
	case "--deadline":
		d, err := time.ParseDuration(value)
		c.Deadline = d
		return err == nil && d > 0
	default:
		return false
	}
	return value != ""
}

// isOurs reports whether a command line is one of ours, also of an earlier version or of a copy under another name.
func isOurs(words []string) bool {
	words = withoutExec(words)
	if len(words) < 2 || words[1] != "hook" {
		return false
	}
	rest, named := strings.CutPrefix(strings.TrimSuffix(filepath.Base(words[0]), ".exe"), "sallyport")
	if named && rest == "" {
		return true // whatever its flags and whichever host it names
	}
	// Other programs have a command of that name as well, so all of the line must be ours.
	if _, host, ok := parseCommand(words); !ok || HostNamed(host) == nil {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	return named && !unicode.IsLetter(first) || isThisProgram(words[0]) // sallyport-v2, and no sallyportal
}

func withoutExec(words []string) []string {
	if len(words) > 0 && words[0] == "exec" {
		return words[1:]
	}
	return words
}

// isThisProgram reports whether a path leads to the program that runs, or to a copy of it.
func isThisProgram(path string) bool {
	own, err := os.Executable()
	if err != nil || !filepath.IsAbs(path) {
		return false
	}
	a, errA := os.Stat(own)
	b, errB := os.Stat(path)
	switch {
	case errA != nil || errB != nil || !b.Mode().IsRegular():
		return false
	case os.SameFile(a, b):
		return true
	}
	return a.Size() == b.Size() && sameBytes(own, path)
}

// sameBytes reports whether two files surely hold the same.
func sameBytes(a, b string) bool {
	fileA, err := os.Open(a)
	if err != nil {
		return false
	}
	defer fileA.Close()
	fileB, err := os.Open(b)
	if err != nil {
		return false
	}
	defer fileB.Close()
	var bufferA, bufferB [32 << 10]byte
	for {
		n, errA := io.ReadFull(fileA, bufferA[:])
		m, errB := io.ReadFull(fileB, bufferB[:])
		switch {
		case !bytes.Equal(bufferA[:n], bufferB[:m]):
			return false
		case errA != nil || errB != nil:
			return isEnd(errA) && isEnd(errB)
		}
	}
}

func isEnd(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
