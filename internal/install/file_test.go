//go:build unix

package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func read(t *testing.T, path string) *File {
	t.Helper()
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text || info.Mode().Perm() != mode {
		t.Errorf("%s has %q, mode %v; want %q, mode %v", path, got, info.Mode().Perm(), text, mode)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Fatalf("%s has %v, want %v", dir, entries, want)
	}
	for i, e := range entries {
		if e.Name() != want[i] {
			t.Errorf("%s has %v, want %v", dir, entries, want)
		}
	}
}

func TestReplaceKeepsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "settings.json")
	write(t, real, "{}", 0o640)
	if err := os.Symlink("real.json", link); err != nil {
		t.Fatal(err)
	}
	if err := read(t, link).Replace([]byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, real, "new", 0o640)
	if !isLink(link) {
		t.Error("the link was replaced by a file")
	}
	wantNames(t, dir, "real.json", "settings.json")
}

func TestReplaceKeepsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	write(t, path, "{}", 0o600)
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	owner, group := os.Geteuid(), os.Getegid()
	if owner == 0 {
		owner, group = 4711, 4712
	} else if len(groups) > 0 {
		group = groups[len(groups)-1]
	}
	if err := os.Chown(path, owner, group); err != nil {
		t.Fatal(err)
	}
	if err := read(t, path).Replace([]byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != owner || int(st.Gid) != group {
		t.Errorf("owner %d:%d, want %d:%d", st.Uid, st.Gid, owner, group)
	}
}

func TestReplaceMakesWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	for mode, folder := range map[fs.FileMode]fs.FileMode{0o600: 0o700, 0o755: 0o755} {
		path := filepath.Join(dir, mode.String(), "hooks", "file")
		f := read(t, path)
		if f.Text != nil {
			t.Errorf("a file that is not there has the text %q", f.Text)
		}
		if err := f.Replace([]byte("new"), mode); err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, "new", mode)
		wantNames(t, filepath.Dir(path), "file")
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm()&^folder != 0 {
			t.Errorf("the folder has mode %v, %v; want at most %v", info.Mode(), err, folder)
		}
	}
}

func TestReplaceRefusesAChangedFile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"other text": func(path string) error { return os.WriteFile(path, []byte("[]"), 0o600) },
		"longer":     func(path string) error { return os.WriteFile(path, []byte("{} "), 0o600) },
		"removed":    os.Remove,
		"another inode": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("{}"), 0o600), os.Remove(path+".old"))
		},
		"became a link":   func(path string) error { return errors.Join(os.Remove(path), os.Symlink("elsewhere", path)) },
		"became a folder": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		path := filepath.Join(t.TempDir(), "settings.json")
		write(t, path, "{}", 0o600)
		f := read(t, path)
		keep, err := os.Open(path) // an inode that is in use is not given to another file
		if err != nil {
			t.Fatal(err)
		}
		defer keep.Close()
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if err := f.Replace([]byte("new"), 0o600); err == nil {
			t.Errorf("%s: it was overwritten", name)
		}
		if err := f.Delete(); err == nil {
			t.Errorf("%s: it was removed", name)
		}
		if got, err := os.ReadFile(path); err == nil && string(got) == "new" {
			t.Errorf("%s: it was overwritten", name)
		}
	}
}

func TestReplaceRefusesAFileThatCameMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	f := read(t, path)
	write(t, path, "{}", 0o600)
	if err := f.Replace([]byte("new"), 0o600); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want ErrChanged", err)
	}
	wantFile(t, path, "{}", 0o600)
	wantNames(t, dir, "settings.json")
}

func TestReadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	dangling, pipe := filepath.Join(dir, "dangling"), filepath.Join(dir, "pipe")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dangling, pipe, dir} {
		if f, err := Read(path); err == nil {
			t.Errorf("%s was read: %+v", path, f)
		}
	}
	empty := filepath.Join(dir, "empty")
	write(t, empty, "", 0o600)
	if f := read(t, empty); f.Text == nil {
		t.Error("an empty file passes for none")
	}
}

func TestDeleteLeavesNoDanglingLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	write(t, real, "x", 0o600)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := read(t, link).Delete(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, real, "{}\n", 0o600)
	if err := read(t, real).Delete(); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "link")
}
