package effects

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxSummary is how many entries of one kind a summary has.
	maxSummary = 16

	// maxSummaryText is the length of an entry.
	maxSummaryText = 100
)

// Summary is what a record says of effects: never an argument, never content.
type Summary struct {
	Runs     []string // programs with their subcommand words: "git push"
	Reads    []string // folders, at most two levels deep from the root, the home (~) or the workspace (.)
	Writes   []string
	Connects []string // hosts
	Spawns   []string // kinds of agents
	Opaque   bool
}

// Summarize returns the summary, sorted, without repetitions, at most 16 of each. What is known only when the call runs
// is left out.
func Summarize(effects []Effect, w *World) Summary {
	if w == nil {
		w = &World{}
	}
	var s Summary
	for i := range effects {
		e := &effects[i]
		if e.Opaque != "" {
			s.Opaque = true
			continue
		}
		switch e.Kind {
		case Run:
			s.Runs = append(s.Runs, runSummary(e.Command))
		case Read:
			s.Reads = append(s.Reads, folderSummary(e.Path, w))
		case Write:
			s.Writes = append(s.Writes, folderSummary(e.Path, w))
		case Connect:
			s.Connects = append(s.Connects, lower(e.Host))
		case Spawn:
			s.Spawns = append(s.Spawns, e.Agent)
		}
	}
	for _, list := range []*[]string{&s.Runs, &s.Reads, &s.Writes, &s.Connects, &s.Spawns} {
		*list = summed(*list)
	}
	return s
}

// summed returns a list as it stands in a summary.
func summed(list []string) []string {
	slices.Sort(list)
	list = slices.Compact(list)
	list = slices.DeleteFunc(list, func(text string) bool {
		return text == "" || len(text) > maxSummaryText || hasUnknown(text) ||
			strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == utf8.RuneError })
	})
	return slices.Clip(list[:min(len(list), maxSummary)])
}

func runSummary(c *Command) string {
	if c == nil {
		return ""
	}
	return c.Subcommand()
}

// folderSummary returns the folder of a path, as deep as a summary may tell.
func folderSummary(path Path, w *World) string {
	if len(path.Forms) == 0 {
		return ""
	}
	names := splitNames(path.Forms[0])
	names = names[:max(len(names)-1, 0)] // the file's own name
	for i, name := range names {
		if hasUnknown(name) {
			names = names[:i]
			break
		}
	}
	if w.Workspace != "" {
		if below, ok := belowFolder(names, w.Workspace); ok {
			return summaryOf(".", below)
		}
	}
	for _, home := range w.Homes {
		if below, ok := belowFolder(names, home); ok {
			return summaryOf("~", below)
		}
	}
	names = names[:min(2, len(names))]
	if len(names) == 0 && strings.HasPrefix(path.Forms[0], unknownText) {
		return ""
	}
	return joinNames(names)
}

// belowFolder returns the names below a folder.
func belowFolder(names []string, folder string) (below []string, ok bool) {
	above := splitNames(clean(slashed(folder)))
	if len(above) > len(names) || !slices.Equal(above, names[:len(above)]) {
		return nil, false
	}
	return names[len(above):], true
}

func summaryOf(root string, below []string) string {
	return strings.Join(append([]string{root}, below[:min(2, len(below))]...), "/")
}
