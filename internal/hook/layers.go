package hook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"sallyport/internal/durable"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// managedPolicy is the machine's policy file. Test builds set another one with -ldflags -X.
var managedPolicy = "/etc/sallyport/policy.yaml"

// ManagedPolicy returns the path of the machine's policy file.
func ManagedPolicy() string { return managedPolicy }

// maxPolicy is how large a policy file may be, in bytes.
const maxPolicy = 4 << 20

// PolicyFile is a policy file that counts for a call.
type PolicyFile struct {
	Path    string
	Level   policy.Level
	Trusted bool   // of a project's: the user trusts it as it is
	SHA256  string // of its text
}

// Places are where policies of one call are looked for.
type Places struct {
	Managed string   // the machine's file
	Named   string   // --policy: instead of the user's, the project's and the starter pack
	Homes   []string // of the user
	State   string   // our own state folder, "" if there is none
	Dir     string   // the folder in which the call would run
	Ledger  string   // the ledger's folder

	Program  string // our own program
	Sessions string // the folder of the sessions' flags, where the checks count; "" where they do not

	// Own are more files that no call may write to.
	Own []string

	// Borrowed is a home that the project made up, "" usually: a policy in it counts as the project's.
	Borrowed string
}

// Policies are the policies in force for one call.
type Policies struct {
	Policy *policy.Policy
	Files  []PolicyFile
}

// Load reads the policies that are in force; those that take time to read are kept compiled in fsys. A layer that is not there is left out, but for a named one; a file that is
// there and cannot be read or understood is an error, and *policy.Error says where it is wrong.
func Load(fsys durable.FS, p Places) (Policies, error) {
	l := loader{fsys: fsys, places: p}
	if err := l.file(p.Managed, policy.Managed); err != nil {
		return Policies{}, err
	}
	var err error
	if p.Named != "" {
		err = l.named(p.Named)
	} else {
		err = l.usual()
	}
	if err != nil {
		return Policies{}, err
	}
	guard := policy.Layer{Policy: policy.Guard(l.own()), Level: policy.BuiltIn}
	return Policies{policy.Combine(append(l.layers, guard)...), l.files}, nil
}

// LoadManaged reads the machine's policy file; nil if there is none.
func LoadManaged(fsys durable.FS) (*policy.Policy, error) {
	l := loader{fsys: fsys}
	if err := l.file(managedPolicy, policy.Managed); err != nil || len(l.layers) == 0 {
		return nil, err
	}
	return l.layers[0].Policy, nil
}

type loader struct {
	fsys   durable.FS
	places Places
	layers []policy.Layer
	files  []PolicyFile
	trust  *trust
}

func (l *loader) named(name string) error {
	before := len(l.files)
	if err := l.file(name, policy.Named); err != nil {
		return err
	}
	if len(l.files) == before {
		return fmt.Errorf("there is no policy file %s, which this hook's command line names: put it back, or install the hook anew", name)
	}
	return nil
}

func (l *loader) usual() error {
	for _, home := range l.places.Homes {
		if err := l.file(UserPolicy(home), policy.User); err != nil {
			return err
		}
	}
	if l.places.Borrowed != "" {
		if err := l.file(UserPolicy(l.places.Borrowed), policy.Project); err != nil {
			return err
		}
	}
	for _, path := range projectFiles(l.places.Dir) {
		if err := l.file(path, policy.Project); err != nil {
			return err
		}
	}
	l.layers = append(l.layers, policy.Layer{Policy: policy.StarterPack(), Level: policy.Starter}) // a file may switch it off
	return nil
}

// UserPolicy is the policy file of a user with this home.
func UserPolicy(home string) string { return filepath.Join(ConfigDir(home), "policy.yaml") }

// projectFiles are the policy files of a project's folder and of all above it: one in a folder below cannot hide another.
func projectFiles(dir string) []string {
	if !filepath.IsAbs(dir) {
		return nil
	}
	var all []string
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		for folder := dir; ; folder = filepath.Dir(folder) {
			name := filepath.Join(folder, ".sallyport", "policy.yaml")
			if _, err := os.Lstat(name); (!isGone(err) || leadsNowhere(name)) && !slices.Contains(all, name) {
				all = append(all, name)
			}
			if folder == filepath.Dir(folder) {
				break
			}
		}
	}
	return all
}

// file adds a policy file, if it is there.
func (l *loader) file(path string, level policy.Level) error {
	if path == "" {
		return nil
	}
	text, err := readPolicy(path)
	if isGone(err) && !leadsNowhere(path) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the policy cannot be read: %w", err)
	}
	sum := digest(text)
	p, err := l.parse(path, sum, text)
	if err != nil {
		return err
	}
	f := PolicyFile{Path: path, Level: level, SHA256: sum}
	if level == policy.Project {
		if l.trust == nil {
			l.trust = readTrust(l.places.State)
		}
		f.Trusted = l.trust.holds(path, sum)
	}
	l.layers = append(l.layers, policy.Layer{Policy: p, Level: level, Trusted: f.Trusted})
	l.files = append(l.files, f)
	return nil
}

// readPolicy reads a regular file. Nobody waits for the other end of a pipe that stands in its place.
func readPolicy(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPolicy {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxPolicy)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if len(text) > maxPolicy {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxPolicy)
	}
	return text, err
}

// isGone reports whether an error says that there is no file, and not only that it cannot be read.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// leadsNowhere reports whether a link stands in the place of a policy file, or of its folder, that leads to nothing: there
// was a policy, or there is to be one.
func leadsNowhere(path string) bool {
	for _, name := range []string{path, filepath.Dir(path)} {
		info, err := os.Lstat(name)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return true
		}
	}
	return false
}

// own is what no hooked tool may write to.
func (l *loader) own() policy.Own {
	p := l.places
	folders := []string{p.State, p.Ledger, p.Sessions}
	if p.Managed != "" {
		folders = append(folders, filepath.Dir(p.Managed))
	}
	if p.Dir != "" {
		folders = append(folders, filepath.Join(p.Dir, ledger.DirName))
	}
	for _, home := range p.Homes {
		folders = append(folders, ConfigDir(home), StateDir(home))
	}
	files := append([]string{p.Managed, p.Named, p.Program}, p.Own...)
	for _, f := range l.files {
		files = append(files, f.Path)
	}
	return policy.Own{Files: resolved(files), Folders: resolved(folders)}
}

// resolved are paths, each once, and what they are with their links resolved where that is another one.
func resolved(paths []string) []string {
	var all []string
	add := func(path string) bool {
		if path == "" || slices.Contains(all, path) {
			return false
		}
		all = append(all, path)
		return true
	}
	for _, path := range paths {
		if !add(path) {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			add(real)
		}
	}
	return all
}
