package hook

import (
	"os"
	"path/filepath"
	"strings"

	"sallyport/internal/effects"
)

// homes are where ~ may be. The first one is where our own files are.
type homes struct {
	all []string

	// borrowed is a HOME that lies in the project, "" if it does not: whoever wrote the project says what is there, so
	// that a policy in it counts as the project's.
	borrowed string
}

// findHomes returns the homes of the user, for an event in a project; "" is none.
func (r *run) findHomes(project string) homes {
	account := ""
	if r.sys.Account != nil {
		account = r.sys.Account()
	} else {
		account = accountHome()
	}
	var h homes
	home := r.sys.Env("HOME")
	if filepath.IsAbs(home) {
		home = filepath.Clean(home)
		switch {
		case home != account && project != "" && isWithin(home, project):
			h.borrowed = home
		default:
			h.all = append(h.all, home)
		}
	}
	if account != "" && account != home {
		h.all = append(h.all, account)
	}
	return h
}

// own is the home in which our own files are, "" if there is none.
func (h homes) own() string {
	if len(h.all) == 0 {
		return ""
	}
	return h.all[0]
}

// StateDir is the folder of what hooks keep, below a home: the ledger, what is trusted, limits, compiled policies.
func StateDir(home string) string { return filepath.Join(home, ".local", "state", "sallyport") }

// ConfigDir is the folder of a user's own policy, below a home.
func ConfigDir(home string) string { return filepath.Join(home, ".config", "sallyport") }

// isWithin reports whether a clean absolute path is a folder or below it.
func isWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// findWorld returns what an event's call is judged in.
func (r *run) findWorld(e *Event) (*effects.World, homes) {
	dir := e.Dir
	if !isAbsolute(dir) {
		// A host that does not say where calls run starts its hooks in the project.
		if here, err := os.Getwd(); err == nil {
			dir = filepath.Join(here, dir)
		}
	}
	if filepath.IsAbs(dir) {
		dir = filepath.Clean(dir)
	}
	project := FindProject(dir)
	h := r.findHomes(project)
	all := h.all
	if h.borrowed != "" {
		all = append([]string{h.borrowed}, all...)
	}
	w := &effects.World{Dir: dir, Workspace: project, Homes: all, User: r.sys.Env("USER")}
	if w.Workspace == "" {
		w.Workspace = dir
	}
	return w, h
}

// FindProject returns the nearest folder upward that has a .sallyport or a .git, "" if there is none.
func FindProject(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for folder := dir; ; folder = filepath.Dir(folder) {
		for _, mark := range []string{".sallyport", ".git"} {
			if _, err := os.Lstat(filepath.Join(folder, mark)); err == nil {
				return folder
			}
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}
