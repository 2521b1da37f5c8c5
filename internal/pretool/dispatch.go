package pretool

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	// personaMarker begins the block of a prompt that names a library agent and its skills.
	personaMarker = "---persona---"

	// genericMarker in a prompt says that no persona fits the task.
	genericMarker = "[GENERIC-OK]"

	// maxListed is how many missing skills a message names; a registry may demand any number.
	maxListed = 100
)

// What is wrong with a prompt: the first line of its message.
const (
	withoutPersona = "[PRE-TOOL BLOCKED] Generic subagent spawned without a library persona!"
	brokenPersona  = "[PRE-TOOL BLOCKED] The persona block cannot be used!"
	unreadSkills   = "[PRE-TOOL BLOCKED] The persona declares skills that the prompt does not have it read!"
	lackingSkills  = "[PRE-TOOL BLOCKED] The persona lacks mandatory skills of its agent!"
)

// howToPersona is what mends most prompts. None of its lines makes a prompt pass that quotes it.
const howToPersona = `
  To mend: begin the prompt with a persona block, and have each of its skills read:
    ---persona---
    agent: <agent>
    skills: [<name>]
    ---
    Read skills/<name>/SKILL.md first.`

const howToWithout = `
  Or: use a named subagent type, such as Explore for a look at the code. For a one-off task that no persona fits,
    write [GENERIC-OK] in the prompt.`

// dispatchVerdict is the answer to whether a subagent may be started.
type dispatchVerdict struct {
	Allowed bool
	Reason  string   // one line
	Blocks  []string // never nil; what stands in the way, each with how to mend it
	Detail  string   // the first block, or ""
}

// validateDispatch says whether a subagent of a type may be started with a prompt. A generic one needs a persona: a
// block in the prompt that names an agent and its skills, with a line for each skill that has it read. If the library
// has a registry of agents, the mandatory skills of the agent must be among them; a library without one, and an agent
// that is not in it, demand none. The registry is looked for in libraryPath, then in the folder that env gives for
// GLOBAL_LIBRARY_PATH, then in the one that the prompt names. It is the only file that is read.
func validateDispatch(subagentType, prompt, libraryPath string, env func(string) string) dispatchVerdict {
	if !isGeneric(subagentType) {
		return passed("A named subagent type needs no persona")
	}
	if strings.Contains(prompt, genericMarker) {
		return passed("The prompt says [GENERIC-OK]")
	}
	prompt = unixLines(prompt)
	if !strings.Contains(prompt, personaMarker) {
		if isAuthoring(prompt) {
			return passed("The prompt is for authoring a skill or an agent, which has no persona yet")
		}
		return blocked(withoutPersona + "\n  Problem: the prompt has no ---persona--- block." + howToPersona + howToWithout)
	}
	p, problem := readPersona(prompt)
	if problem != "" {
		return blocked(brokenPersona + "\n  Problem: " + problem + "." + howToPersona)
	}
	if missing := p.unread(prompt); len(missing) > 0 {
		return blocked(unreadSkills + "\n  To mend: " + addLines(missing))
	}
	agents := readRegistry(libraryPath, env("GLOBAL_LIBRARY_PATH"), promptLibrary(prompt))
	if missing, agent := p.undeclared(agents); len(missing) > 0 {
		return blocked(lackingSkills + "\n  Agent: " + agent + "\n  Missing: " + listed(missing, ", ") +
			"\n  To mend: declare each in the block's skills: and " + addLines(missing))
	}
	return passed("The persona carries its skills")
}

func passed(reason string) dispatchVerdict {
	return dispatchVerdict{Allowed: true, Reason: reason, Blocks: []string{}}
}

func blocked(detail string) dispatchVerdict {
	reason, _, _ := strings.Cut(detail, "\n")
	return dispatchVerdict{Reason: reason, Blocks: []string{detail}, Detail: detail}
}

// isGeneric reports whether subagents of a type know nothing but their prompt. What cannot be seen does not make a
// type a named one.
func isGeneric(subagentType string) bool {
	visible := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, subagentType)
	visible = strings.TrimSpace(visible)
	return slices.ContainsFunc([]string{"", "general-purpose", "claude"}, func(generic string) bool {
		return strings.EqualFold(visible, generic)
	})
}

// unixLines ends all lines alike.
func unixLines(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// addLines says which lines a prompt lacks, one for each skill. It names the marker, so that a prompt that only quotes it
// is not taken for authoring those skills.
func addLines(skills []string) string {
	lines := make([]string, len(skills))
	for i, skill := range skills {
		lines[i] = "Read skills/" + skill + "/SKILL.md first."
	}
	return "add to the prompt, below its " + personaMarker + " block\n    " + listed(lines, "\n    ")
}

// listed joins the first of the names and counts the others.
func listed(names []string, separator string) string {
	if more := len(names) - maxListed; more > 0 {
		names = append(slices.Clone(names[:maxListed]), fmt.Sprintf("(and %d more)", more))
	}
	return strings.Join(names, separator)
}
