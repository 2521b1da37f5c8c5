package pretool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// Block is why a check holds a call back.
type Block struct {
	Check  string // which one: "checkpoint", "task-breakdown", "skill-selection", "trace", "windows-command", "ascii"
	Reason string
}

// Judge runs the checks of validate_tool_call on a call of a session, for a hook that stands before it. The hints are what
// the call could do better; they are no reason to hold it back.
func (c *Checks) Judge(session, tool string, input canon.Value) (blocks []Block, hinted []string) {
	tool = clean(tool)
	if !slices.Contains(alwaysAllowed, tool) {
		blocks = c.blocks(session, tool, input)
	}
	return blocks, hints(tool, input)
}

// Follow makes a session the current one, if it is not.
func (s *Sessions) Follow(session string) error {
	if s.pointed() == session {
		return nil
	}
	return s.Start(session)
}

// Leave makes a session that has ended no longer the current one. A session that began meanwhile stays.
func (s *Sessions) Leave(session string) error {
	if s.pointed() != session {
		return nil
	}
	_, err := s.disk.remove(filepath.Join(s.dir, pointers[0].file), nil)
	return err
}

// pointed is the session that the first pointer names, or "".
func (s *Sessions) pointed() string {
	text, _, err := s.disk.read(filepath.Join(s.dir, pointers[0].file))
	if err != nil {
		return ""
	}
	v, err := canon.Parse(text)
	if err != nil {
		return ""
	}
	id, _ := v.Get(pointers[0].key).Text()
	return id
}

// Settle clears the flags that a successful call settles: that the task be broken down once a TaskCreate was made, and
// that a skill be loaded once it, or the agent that is it, was.
func (s *Sessions) Settle(session, tool string, input canon.Value) error {
	if !IsSessionID(session) {
		return nil
	}
	switch tool {
	case "TaskCreate":
		_, err := s.reset(session, []string{taskBreakdown})
		return err
	case "Skill":
		return s.settleSkill(session, input, "skill", "name", "command")
	case "Agent", "Task":
		return s.settleSkill(session, input, "subagent_type")
	}
	return nil
}

// settleSkill clears the flag for a skill if it is the one that a call's argument names, or if none is required by name.
func (s *Sessions) settleSkill(session string, input canon.Value, keys ...string) error {
	f := s.flag(session, skillSelection)
	if !f.pending {
		return nil
	}
	required := f.text("required_skill")
	for _, key := range keys {
		used, _ := input.Get(key).Text()
		used = clean(used)
		_, own, _ := strings.Cut(used, ":") // a plugin's skill has the plugin's name before it
		if used != "" && (required == "" || used == required || own == required) {
			_, err := s.reset(session, []string{skillSelection})
			return err
		}
	}
	return nil
}

// Failure is a call that failed.
type Failure struct {
	Tool       string
	Error      string // what the tool said
	Host       string
	ArgsDigest string
}

const (
	proposalsFile = "failure-proposals.jsonl"
	maxProposals  = 256 << 10 // bytes
	maxErrorText  = 240       // bytes
)

// Propose notes a failure for a person to look at, who may make knowledge of it: a line in logs/failure-proposals.jsonl. A
// failure that is noted there already, and any once the file is full, is left out. Nothing reads the file but people.
func (s *Sessions) Propose(session string, f Failure) error {
	words := firstLine(f.Error)
	if f.Tool == "" || words == "" {
		return nil
	}
	dir := filepath.Join(s.dir, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	same := new(answer).text("tool", cutText(f.Tool, maxErrorText)).text("error", words)
	line := new(answer)
	line.b = slices.Clone(same.b)
	line.text("host", f.Host).text("session_id", cutText(session, 128)).text("args_digest", f.ArgsDigest).
		text("seen_at", s.now().Format(time.RFC3339))
	file, err := openAppend(filepath.Join(dir, proposalsFile))
	if err != nil {
		return err
	}
	defer file.Close()
	if locked, err := file.TryLock(); err != nil || !locked {
		return err // somebody else notes one; another time
	}
	size, err := file.Size()
	if err != nil || size > maxProposals {
		return err
	}
	known := make([]byte, size)
	if n, err := file.ReadAt(known, 0); n < len(known) {
		return err
	}
	if bytes.Contains(known, same.b) {
		return nil
	}
	_, err = file.WriteAt(append(line.bytes(), '\n'), size)
	return err
}

func openAppend(name string) (durable.File, error) {
	f, err := durable.OS.Create(name)
	if errors.Is(err, fs.ErrExist) {
		return durable.OS.Open(name)
	}
	return f, err
}

// firstLine is the first line of a text that says something, cut to what a person needs to know it again.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return cutText(line, maxErrorText)
		}
	}
	return ""
}

// cutText returns at most n bytes of a text, in whole characters.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}
