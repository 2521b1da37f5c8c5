package effects

import (
	"strings"
	"testing"
)

// TestBareWordsAreFilesWhereThereAreSome holds words that do not look like paths against a folder that has a file of
// that name, and one that has none.
func TestBareWordsAreFilesWhereThereAreSome(t *testing.T) {
	with := worldOf(t, map[string]string{"work/secrets/a.txt": "s"}, nil)
	without := worldOf(t, map[string]string{"work/main.go": "x"}, nil)
	for _, text := range []string{
		"vault secrets list", "./bin/app secrets list", "createdb secrets", "mycli --namespace secrets get", "mycli --label=secrets",
		"go run ./cmd/tool secrets", "python3 manage.py secrets", "git checkout secrets",
	} {
		for _, w := range []*World{with, without} {
			fresh := *w
			found := false
			for _, e := range Shell(text, &fresh) {
				found = found || (e.Kind == Read || e.Kind == Write) && e.Path.Text == "secrets"
			}
			if found != (w == with) {
				t.Errorf("%q uses the folder: %v, where it stands: %v", text, found, w == with)
			}
		}
	}
}

func TestOptionsThatLeaveOut(t *testing.T) {
	for option, want := range map[string]bool{
		"--exclude": true, "--exclude-dir": true, "--ignorePattern": true, "--testPathIgnorePatterns": true, "-skip": true,
		"--omit": true, "--not": true, "--without": true,
		"--no-ignore": false, "--ignore-case": false, "--exclude-from": false, "--ignore-file": false, "--notify": false, "--annotation": false,
		"--file": false, "-f": false,
	} {
		if got := leavesOut(option); got != want {
			t.Errorf("leavesOut(%q) = %v", option, got)
		}
	}
}

// TestSameEffectsStandOnce reads a loop over many values that does the same again and again.
func TestSameEffectsStandOnce(t *testing.T) {
	text := strings.Repeat("cat a.txt; ls b; wc -l a.txt\n", 1000)
	effects := Shell(text, plainWorld())
	if n := len(effects); n > 2*fewEffects {
		t.Errorf("%d effects", n)
	}
	if fault := illFormed(effects); fault != "" {
		t.Error(fault)
	}
	for _, e := range effects {
		if e.Kind == Read && effects[e.By].Command.Program() == "ls" {
			t.Errorf("%s is read by ls", e.Path.Text)
		}
	}
}
