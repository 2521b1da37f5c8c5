package pretool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sallyport/internal/canon"
)

// What stands before the path of the library in a prompt, on either side of an ampersand.
const (
	libraryLineLeft  = "WORKING DIRECTORY"
	libraryLineRight = "LIBRARY PATH"
)

// readRegistry returns the agents of the first library that has a registry. They are absent if none has one, or if that
// one cannot be read.
func readRegistry(libraries ...string) canon.Value {
	for _, library := range libraries {
		if library = strings.TrimSpace(library); library == "" {
			continue
		}
		path := filepath.Join(library, "knowledge-graph", "_master", "agents_all.json")
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, _, err := files{}.read(path)
		if err != nil {
			return canon.Value{}
		}
		root, err := canon.Parse(bytes.TrimPrefix(text, []byte("\uFEFF")))
		if err != nil {
			return canon.Value{}
		}
		if root.Kind() == canon.Object {
			return root.Get("agents")
		}
		return root
	}
	return canon.Value{}
}

// undeclared returns the mandatory skills that the persona does not declare, each once, and whose they are.
func (p *persona) undeclared(agents canon.Value) (missing []string, agent string) {
	seen := map[string]bool{}
	for record := range agents.Elements() {
		name, _ := record.Get("name").Text()
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" || !p.agents[name] {
			continue
		}
		for _, key := range []string{"mandatory_skills", "cross_domain_mandatory_skills"} {
			for v := range record.Get(key).Elements() {
				skill, _ := v.Text()
				skill = strings.ToLower(strings.TrimSpace(skill))
				if skill != "" && !p.known[skill] && !seen[skill] {
					seen[skill] = true
					missing, agent = append(missing, printable(skill)), printable(name)
				}
			}
		}
	}
	return missing, agent
}

// printable returns a name of the registry as a message may show it.
func printable(name string) string {
	if isSkillName(name) {
		return name
	}
	return fmt.Sprintf("%.80q", name)
}

// promptLibrary returns the path in the line "WORKING DIRECTORY & LIBRARY PATH: path. Anything else" of a prompt, or "".
func promptLibrary(prompt string) string {
	for line := range strings.Lines(prompt) {
		for {
			left, right, ok := strings.Cut(line, "&")
			if !ok {
				break
			}
			if path, ok := libraryPath(left, right); ok {
				return path
			}
			line = right
		}
	}
	return ""
}

// libraryPath returns the path that a line gives which is left & right.
func libraryPath(left, right string) (path string, ok bool) {
	left = strings.TrimRight(left, " \t")
	right = strings.TrimLeft(right, " \t")
	if len(left) < len(libraryLineLeft) || !strings.EqualFold(left[len(left)-len(libraryLineLeft):], libraryLineLeft) ||
		!hasPrefixFold(right, libraryLineRight) {
		return "", false
	}
	path, ok = strings.CutPrefix(strings.TrimLeft(right[len(libraryLineRight):], " \t*"), ":")
	if !ok {
		return "", false
	}
	path = strings.Trim(beforeSentenceEnd(path), " \t\n\"'`*")
	return path, path != ""
}

// beforeSentenceEnd cuts a line at the first dot that white space or the end of the line follows.
func beforeSentenceEnd(line string) string {
	for i := range len(line) {
		if line[i] == '.' && (i+1 == len(line) || strings.IndexByte(" \t\n\v\f", line[i+1]) >= 0) {
			return line[:i]
		}
	}
	return line
}
