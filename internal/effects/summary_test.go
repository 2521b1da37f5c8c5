package effects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	w := pathWorld()
	path := func(text string) Path { return w.Resolve(text) }
	run := func(words ...string) Effect {
		command := &Command{}
		for _, word := range words {
			command.Words = append(command.Words, Word{Text: word})
		}
		return Effect{Kind: Run, By: -1, Command: command}
	}
	effects := []Effect{
		run("/usr/bin/git", "push", "--force", "SECRET"), run("rm", "SECRET"), run("rm", "-r"), run("\xff"),
		{Kind: Read, By: -1, Path: path("a.txt")},
		{Kind: Read, By: -1, Path: path("a/b/c/SECRET")},
		{Kind: Read, By: -1, Path: path("~/.ssh/SECRET")},
		{Kind: Read, By: -1, Path: path("/etc/ssl/certs/SECRET")},
		{Kind: Read, By: -1, Path: path("/SECRET")},
		{Kind: Read, By: -1, Path: path("\xff/SECRET")},
		{Kind: Read, By: -1, Path: path("a/\xff/SECRET")},
		{Kind: Write, By: -1, Path: path("c:/Users/dave/SECRET")},
		{Kind: Connect, By: -1, Host: "Example.com:80"},
		{Kind: Spawn, By: -1, Agent: "Explore"}, {Kind: Spawn, By: -1},
		{Kind: Run, By: -1, Opaque: "SECRET"},
	}
	got := Summarize(effects, w)
	want := Summary{
		Runs:     []string{"git push", "rm"},
		Reads:    []string{".", "./a", "./a/b", "/", "/etc/ssl", "~/.ssh"},
		Writes:   []string{"c:/Users"},
		Connects: []string{"example.com:80"},
		Spawns:   []string{"Explore"},
		Opaque:   true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := fmt.Sprint(got); strings.Contains(text, "SECRET") {
		t.Errorf("an argument is told: %s", text)
	}
}

func TestSummarizeIsBounded(t *testing.T) {
	var effects []Effect
	w := pathWorld()
	for i := range 100 {
		effects = append(effects, Effect{Kind: Read, By: -1, Path: w.Resolve(fmt.Sprintf("d%d/x", i))})
	}
	effects = append(effects, Effect{Kind: Connect, By: -1, Host: strings.Repeat("x", 1000)})
	got := Summarize(effects, w)
	if len(got.Reads) != maxSummary || len(got.Connects) != 0 {
		t.Errorf("got %d folders and %d hosts", len(got.Reads), len(got.Connects))
	}
}
