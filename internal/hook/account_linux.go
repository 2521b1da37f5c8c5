package hook

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// accountHome is the user's home by the user database, "" if it does not know the user. A repository can set HOME for a
// host that it configures, but not this. Package os/user takes as long for it as a whole decision.
func accountHome() string {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	return homeIn(text, os.Getuid())
}

// homeIn is the home of a user in a text like that of /etc/passwd: name, password, number, group, comment, home, shell.
func homeIn(passwd []byte, uid int) string {
	number := strconv.Itoa(uid)
	for line := range bytes.Lines(passwd) {
		parts := bytes.Split(bytes.TrimRight(line, "\n"), []byte{':'})
		if len(parts) < 6 || string(parts[2]) != number {
			continue
		}
		if home := string(parts[5]); filepath.IsAbs(home) {
			return filepath.Clean(home)
		}
		return ""
	}
	return ""
}
