package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOperatorTokenIsThatOfTheManagedFile(t *testing.T) {
	managed := filepath.Join(t.TempDir(), "policy.yaml")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("correct horse")))
	for _, test := range []struct{ text, token, want string }{
		{"", "correct horse", "cannot be read"},
		{"version: 2\n", "correct horse", "names no operator_token"},
		{"version: 3\n", "correct horse", "version 3 is not supported"},
		{"version: 2\noperator_token: sha256:" + sum + "\n", "correct horse ", "it is not the one"},
		{"version: 2\noperator_token: sha256:" + sum + "\n", sum, "it is not the one"},
		{"version: 2\noperator_token: sha256:" + sum + "\n", "correct horse", ""},
	} {
		if test.text != "" {
			if err := os.WriteFile(managed, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := confirmByToken(test.token, managed)
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) && test.want != "" {
			t.Errorf("with %q, %q: %v, want %q", test.text, test.token, err, test.want)
		}
	}
}
