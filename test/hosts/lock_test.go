package hosts_test

import (
	"encoding/json"
	"os"
	"testing"
)

// The lock file says which bytes are installed, and leaves it to each machine where it gets them from.
func TestLockFileHasDigestsAndNoRegistry(t *testing.T) {
	text, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 2 {
		t.Fatalf("%d packages in the lock file, want the agents and what they need", len(lock.Packages))
	}
	for name, pkg := range lock.Packages {
		if name == "" {
			continue // the package.json beside it
		}
		if pkg.Version == "" || pkg.Integrity == "" || pkg.Resolved != "" {
			t.Errorf("%s: %+v, want a version and a digest alone; see .npmrc", name, pkg)
		}
	}
}
