//go:build !linux

package hook

import (
	"os/user"
	"path/filepath"
)

// accountHome is the user's home by the user database, "" if it does not know the user. A repository can set HOME for a
// host that it configures, but not this.
func accountHome() string {
	u, err := user.Current()
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return filepath.Clean(u.HomeDir)
}
