package hook

import (
	"errors"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/policy"
)

// phases says when a host's event comes, and whether the host has such an event.
type phases func(name string) (Phase, bool)

// readShape reads the shape that Claude Code gave to most hosts: the members of an event and of a call side by side. Keys
// come in snake_case, and from editors that borrow its settings in camelCase.
func readShape(f fields, when phases) (Event, error) {
	e := Event{}
	err := f.texts(at(&e.Name, "hook_event_name", "hookEventName", "hookName"))
	if err != nil {
		return e, err
	}
	known := false
	if e.Phase, known = when(e.Name); !known {
		e.Strange = true
		e.Phase = Other
		if e.Name == "" || f.has("tool_name", "toolName", "tool_input", "toolInput", "toolArgs", "tool_args") {
			e.Phase = Before
		}
	}
	if err := f.common(&e); err != nil {
		return e, err
	}
	if e.Phase == After {
		e.readResult(f)
	}
	if e.Name == "" && e.Tool == "" {
		return e, errors.New("the event names neither itself nor a tool")
	}
	return e, nil
}

// common reads what most hosts send with every event and every call.
func (f fields) common(e *Event) error {
	err := f.texts(
		at(&e.Session, "session_id", "sessionId"),
		at(&e.CallID, "tool_use_id", "toolUseId", "toolUseID", "tool_call_id", "toolCallId"),
		at(&e.Dir, "cwd"),
		at(&e.Mode, "permission_mode", "permissionMode"),
		at(&e.Tool, "tool_name", "toolName"),
	)
	if err != nil {
		return err
	}
	e.Input = f.get("tool_input", "toolInput", "toolArgs", "tool_args")
	return nil
}

// readResult looks at what a tool answered.
func (e *Event) readResult(f fields) {
	result := f.get("tool_response", "toolResponse", "tool_result", "toolResult", "tool_output", "result")
	e.Answer = result
	e.Failed, e.Error = failure(result)
	if text, _ := f.text("error", "error_message", "errorMessage"); text != "" {
		e.Failed, e.Error = true, text
	}
	if ok, is := f.get("success").Bool(); is && !ok {
		e.Failed = true
	}
}

// failure reports whether a tool's answer says that it failed, and in which words. Answers have no common form: these
// are the members by which hosts and MCP servers say so.
func failure(result canon.Value) (failed bool, words string) {
	for _, key := range []string{"is_error", "isError"} {
		if is, _ := result.Get(key).Bool(); is {
			failed = true
		}
	}
	if ok, is := result.Get("success").Bool(); is && !ok {
		failed = true
	}
	switch kind, _ := result.Get("resultType").Text(); kind {
	case "failure", "error", "timeout":
		failed = true
	}
	for _, key := range []string{"error", "errorMessage"} {
		v := result.Get(key)
		if text, ok := v.Text(); ok && text != "" {
			return true, text
		}
		if text, ok := v.Get("message").Text(); ok {
			return true, text
		}
	}
	if !failed {
		return false, ""
	}
	for _, key := range []string{"textResultForLlm", "content", "message", "output", "stderr"} {
		if text, ok := result.Get(key).Text(); ok && text != "" {
			return true, text
		}
	}
	return true, ""
}

// speech is a JSON object in the making, which a host reads.
type speech struct{ b []byte }

func (s speech) text(key, value string) speech {
	return s.raw(key, canon.AppendString(nil, value))
}

func (s speech) raw(key string, value []byte) speech {
	if len(s.b) > 0 {
		s.b = append(s.b, ',')
	}
	s.b = append(canon.AppendString(s.b, key), ':')
	return speech{append(s.b, value...)}
}

func (s speech) bytes() []byte { return append(append([]byte{'{'}, s.b...), '}') }

// json is a reply by an object on stdout.
func (s speech) json() Reply { return Reply{Stdout: s.bytes()} }

// blocked is a reply by exit code 2, with the reason on stderr.
func blocked(r Ruling) Reply {
	return Reply{Stderr: append([]byte(r.words()), '\n'), Code: 2}
}

// maxWords is how long a reason may be for a host, in bytes: hosts cut at 10,000 characters.
const maxWords = 4000

// words are a ruling in a sentence, for the model and for people. They are never empty: to some hosts a denial without a
// reason is none.
func (r Ruling) words() string {
	reason := r.Reason
	if reason == "" {
		reason = "the policy does not allow this call"
	}
	if len(reason) > maxWords {
		reason = cut(reason, maxWords) + "..."
	}
	if r.Rule == "" || strings.Contains(reason, "rule "+r.Rule) {
		return "sallyport: " + reason
	}
	return "sallyport: " + reason + " (rule " + cut(r.Rule, 200) + ")"
}

// cut returns at most n bytes of a text, in whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// denies reports whether a ruling is a denial for a host that knows nothing but yes and no.
func (r Ruling) denies() bool { return r.Decision != policy.Allow }
