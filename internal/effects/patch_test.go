package effects

import (
	"strings"
	"testing"
)

func TestShellTextWithAPatch(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch\n"
	tests := []struct {
		text string
		want bool
	}{
		{"apply_patch <<'EOF'\n" + patch + "EOF", true},
		{"apply_patch '" + patch + "'", true},
		{"cd sub && apply_patch <<EOF\n" + patch + "EOF", true},
		{"cat > notes.md <<'EOF'\n" + patch + "EOF", false},
	}
	for _, test := range tests {
		w := pathWorld()
		p, err := ParsePath("**/.env")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range Of("Bash", parsed(t, `{"command":`+jsonText(test.text)+`}`), nil, w) {
			found = found || e.Kind == Write && e.Opaque == "" && p.Match(e.Path, e.Deep, w) == Yes
		}
		if found != test.want {
			t.Errorf("%q: got %v", test.text, found)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Add File: a\n+b\n*** Update File: c\n*** Move to: d\n@@\n x\n*** End Patch")
	f.Add("--- a/x\n+++ b/y\n")
	f.Fuzz(func(t *testing.T, text string) {
		effects := patchEffects(text, pathWorld(), "/srv/app")
		if len(effects) == 0 {
			t.Error("a patch without effects")
		}
		checkEffects(t, effects)
		more := patchEffects(text+"\n*** Delete File: /srv/last", pathWorld(), "/srv/app")
		if last := more[len(more)-1]; !strings.HasSuffix(last.Path.Text, "/srv/last") {
			t.Errorf("the last header is passed over: %v", linesOf(more))
		}
	})
}
