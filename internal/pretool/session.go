package pretool

import (
	"path/filepath"
	"time"

	"sallyport/internal/canon"
)

// Sessions are the files that an agent's sessions keep below its configuration folder (docs/reference/session-files.md).
// Each session has files of its own, so that sessions which run at once never meet.
type Sessions struct {
	dir  string
	env  func(string) string
	now  func() time.Time // its location is the local one
	disk disk
}

// NewSessions returns the sessions in a configuration folder, which need not exist. Times without a zone are in that of
// the times that now returns.
func NewSessions(dir string, env func(string) string, now func() time.Time) *Sessions {
	return &Sessions{dir: dir, env: env, now: now, disk: files{}}
}

// pointers are the files that name the current session, the first one first, and the key under which they do.
var pointers = []struct{ file, key string }{
	{".current-session.json", "current_session_id"},
	{"logs/session-progress.json", "session_id"},
}

// Current returns the id of the current session, or "". What is no id is passed over.
func (s *Sessions) Current() string {
	if id := s.env("CLAUDE_SESSION_ID"); IsSessionID(id) {
		return id
	}
	for _, pointer := range pointers {
		text, _, err := s.disk.read(filepath.Join(s.dir, filepath.FromSlash(pointer.file)))
		if err != nil {
			continue
		}
		v, err := canon.Parse(text)
		if err != nil {
			continue
		}
		if id, _ := v.Get(pointer.key).Text(); IsSessionID(id) {
			return id
		}
	}
	return ""
}

// IsSessionID reports whether a text can be the id of a session, which is a folder's name too.
func IsSessionID(id string) bool {
	if id == "" || len(id) > 128 || id == "." || id == ".." {
		return false
	}
	for _, r := range id {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return true
}

// Folder returns the folder of all sessions.
func (s *Sessions) Folder() string { return filepath.Join(s.dir, "logs", "sessions") }

// folder returns the folder of a session.
func (s *Sessions) folder(session string) string {
	return filepath.Join(s.Folder(), session)
}
