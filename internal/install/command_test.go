package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sallyport/internal/canon"
)

func TestOthersCommandsAreNotOurs(t *testing.T) {
	for line, want := range map[string]bool{
		"/opt/sallyport hook claude":            true,
		"exec '/opt/a b/sallyport' hook claude": true,
		`"C:/bin/sallyport.exe" hook claude`:    true,
		"sallyport hook codex --checks":         true,
		"sallyport verify":                      false,
		"/opt/sallyportal hook claude":          false,
		"/opt/sallyport-v2 hook claude":         true,
		"/opt/sallyport_1.2.exe hook --checks=false kiro --ledger=/l --deadline=1m": true,
		"/opt/sallyport-v2 hook claude --fast":                                      false,
		"/opt/sallyport-v2 hook emacs":                                              false,
		"/opt/sallyportée hook claude":                                              false,
		"/opt/sp-2 hook claude":                                                     false,
		"sp-2 hook claude --ledger /l":                                              false,
		"echo sallyport hook claude":                                                false,
		"sallyport hook claude | tee log":                                           false,
		"sallyport":                                                                 false,
		"":                                                                          false,
		"my-hook --not sallyport hook claude 'unclosed":                             false,
	} {
		handler, err := canon.Parse(canon.AppendString(nil, line))
		if err != nil {
			t.Fatal(err)
		}
		object, err := canon.Parse([]byte(`{"command":` + string(handler.Bytes()) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := HostNamed("claude").isOurs(object); got != want {
			t.Errorf("%q: ours %t, want %t", line, got, want)
		}
	}
}

// TestACopyOfThisProgramIsOurs takes the test's own program for ours, under whichever name.
func TestACopyOfThisProgramIsOurs(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(text)
	other[len(other)-1]++
	for _, c := range []struct {
		path string
		want bool
	}{
		{own, true},
		{link, true},
		{path("sp-2", text), true},
		{path("last-byte", other), false},
		{path("shorter", text[1:]), false},
		{path("script", []byte("#!/bin/sh\n")), false},
		{filepath.Join(dir, "nothing"), false},
		{dir, false},
	} {
		command := Command{Binary: c.path}
		merged := merge(t, "claude", nil, command)
		entries, err := HostNamed("claude").Find(merged.Text)
		if err != nil || len(entries) > 0 != c.want {
			t.Errorf("%s: %d entries, %v", c.path, len(entries), err)
		}
		if again := merge(t, "claude", merged.Text, command); again.Same != c.want {
			t.Errorf("%s: a second Merge says same %t", c.path, again.Same)
		}
		if isOurs([]string{c.path, "verify"}) || isOurs([]string{c.path, "hook", "claude", "--other"}) {
			t.Errorf("%s: another command passes for the hook's", c.path)
		}
	}
}

func TestTheTimeoutLeavesRoomForTheDeadline(t *testing.T) {
	for deadline, want := range map[time.Duration]string{
		0:                       `"timeout": 5`,
		250 * time.Millisecond:  `"timeout": 5`,
		1249 * time.Millisecond: `"timeout": 5`,
		1250 * time.Millisecond: `"timeout": 7`,
		2 * time.Second:         `"timeout": 10`,
		30 * time.Second:        `"timeout": 150`,
	} {
		made := merge(t, "claude", nil, Command{Binary: "/s/sallyport", Deadline: deadline})
		if !strings.Contains(string(made.Text), want) {
			t.Errorf("%v: want %s in\n%s", deadline, want, made.Text)
		}
		entries, err := HostNamed("claude").Find(made.Text)
		if err != nil || len(entries) == 0 {
			t.Fatalf("%v: %d entries, %v", deadline, len(entries), err)
		}
		if c, _, ok := entries[0].Command(); !ok || c.Deadline != deadline || !entries[0].Exact || entries[0].Timeout <= Slowest(deadline) {
			t.Errorf("%v: %+v, exact %t, timeout %v", deadline, c, entries[0].Exact, entries[0].Timeout)
		}
	}
}

func TestCommandsAreReadAsHookReadsThem(t *testing.T) {
	ours := Command{Binary: "/s/sallyport"}
	with := func(change func(c *Command)) Command {
		c := ours
		change(&c)
		return c
	}
	for line, want := range map[string]Command{
		"hook claude --deadline 20s":          with(func(c *Command) { c.Deadline = 20 * time.Second }),
		"hook --deadline=1.5s claude":         with(func(c *Command) { c.Deadline = 1500 * time.Millisecond }),
		"hook --policy=/p --ledger /l claude": with(func(c *Command) { c.Policy, c.Ledger = "/p", "/l" }),
		"hook --checks -- claude":             with(func(c *Command) { c.Checks = true }),
		"hook claude --checks=false":          ours,
		"hook claude --deadline 0s":           {},
		"hook claude --deadline soon":         {},
		"hook claude --deadline":              {},
		"hook claude --checks=perhaps":        {},
		"hook claude --policy ''":             {},
		"hook claude codex":                   {},
		"hook --checks":                       {},
		"hook claude --unknown x":             {},
	} {
		got, host, ok := Entry{Shell: "/s/sallyport " + line}.Command()
		if ok != (want != Command{}) || ok && (got != want || host != "claude") {
			t.Errorf("%s: got %+v for %q, %t, want %+v", line, got, host, ok, want)
		}
	}
}

func TestWordsSurviveAShell(t *testing.T) {
	for _, word := range []string{"plain", "", "a b", "it's", `"`, `\`, "$HOME", "`id`", "a\nb", "*", "~", "#x", "ü"} {
		got, ok := splitWords("x " + quote(word))
		if !ok || len(got) != 2 || got[1] != word {
			t.Errorf("%q is quoted as %s, which reads as %q, %t", word, quote(word), got, ok)
		}
	}
}
