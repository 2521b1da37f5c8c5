package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/pretool"
)

// checksOptions name the files that add to what the pre-tool checks know.
type checksOptions struct{ knowledge, skills string }

// openChecks returns the pre-tool checks over the agent's configuration folder. A file that is named and cannot be read
// is an error: nobody should believe that it counts.
func openChecks(opt checksOptions) (*pretool.Checks, error) {
	knowledge, err := loadKnowledge(setting(opt.knowledge, "SALLYPORT_FAILURE_KB", ""))
	if err != nil {
		return nil, err
	}
	skills, err := loadSkills(setting(opt.skills, "SALLYPORT_SKILLS", ""))
	if err != nil {
		return nil, err
	}
	return pretool.New(pretool.Config{
		Sessions:  openSessions(),
		Env:       os.Getenv,
		Windows:   pretool.OnWindows(os.Getenv),
		Knowledge: knowledge,
		Skills:    skills,
		Limited:   os.Getenv("ENABLE_RATE_LIMITING") == "1",
	}), nil
}

// openSessions returns the sessions in the agent's configuration folder. A user without a home has nothing there.
func openSessions() *pretool.Sessions {
	home, err := os.UserHomeDir()
	if err != nil {
		home = string(filepath.Separator)
	}
	return pretool.NewSessions(pretool.ConfigDir(os.Getenv, home), os.Getenv, time.Now)
}

func loadKnowledge(name string) (*pretool.Knowledge, error) {
	knowledge := pretool.BuiltinKnowledge()
	if name == "" {
		return knowledge, nil
	}
	text, err := readSetting(name)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the failure patterns: %w", err), "name a file with --failure-kb or SALLYPORT_FAILURE_KB, or neither")
	}
	knowledge, err = knowledge.With(name, text)
	var wrong *pretool.KnowledgeError
	if errors.As(err, &wrong) {
		return nil, withHint(err, wrong.Hint)
	}
	return knowledge, err
}

// loadSkills reads a project's own skills: a JSON object from extensions and names of files to skills.
func loadSkills(name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	const hint = `a skills file is a JSON object such as {".zig":"zig-core","Justfile":"just-core"}`
	text, err := readSetting(name)
	if err != nil {
		return nil, withHint(fmt.Errorf("reading the skills: %w", err), "name a file with --skills or SALLYPORT_SKILLS, or neither")
	}
	v, err := canon.Parse(text)
	if err != nil {
		return nil, withHint(fmt.Errorf("%s: %w", name, err), hint)
	}
	if v.Kind() != canon.Object {
		return nil, withHint(fmt.Errorf("%s: not a JSON object", name), hint)
	}
	skills := map[string]string{}
	for key, value := range v.Members() {
		skill, _ := value.Text()
		if key == "" || skill == "" {
			return nil, withHint(fmt.Errorf("%s: the skill for %q is not a name", name, key), hint)
		}
		skills[key] = skill
	}
	return skills, nil
}

// maxSetting is how large a file may be that a setting names, in bytes.
const maxSetting = 16 << 20

func readSetting(name string) ([]byte, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSetting {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", name, maxSetting)
	}
	return os.ReadFile(name)
}
