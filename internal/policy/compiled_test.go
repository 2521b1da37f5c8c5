package policy_test

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/policy"
)

func TestParseCompiled(t *testing.T) {
	texts := map[string]string{"YAML": everything, "JSON": v2(`{"id":"r","decision":"deny","runs":["curl"]}`), "version 1": `{"version":1,"allow":["a"]}`, "starter": string(policy.StarterText())}
	for name, text := range texts {
		compiled, err := policy.Compile("p", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := policy.ParseCompiled("p", []byte(text), compiled)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := mustParse(t, text)
		if p.Digest() != want.Digest() || p.Version() != want.Version() || p.Name() != "p" {
			t.Errorf("%s: got %s, version %d", name, p.Digest(), p.Version())
		}
		for _, command := range []string{"ls", "curl x", "cat .env", "rm -rf ~"} {
			if diff := cmp.Diff(want.Explain(shell(command)), p.Explain(shell(command))); diff != "" {
				t.Errorf("%s: %s (-parsed +compiled)\n%s", name, command, diff)
			}
		}
	}
}

// TestParseCompiledFailsClosedOnPatterns: a pattern that cannot be read after all may match anything, and allows nothing.
func TestParseCompiledFailsClosedOnPatterns(t *testing.T) {
	for name, tc := range map[string]struct {
		policy, good, bad, command, want string
	}{
		"a command that is denied":  {rules("allow", noCurl), `"curl *"`, `"curl |"`, "curl x", "ask by no-curl"},
		"a program that is unclear": {rules("allow", noCurl), `"curl *"`, `"| curl"`, "ls", "ask by no-curl"},
		"a path that is denied":     {rules("allow", secrets), `"**/.env"`, `"~x/.ent"`, "cat a", "ask by secrets"},
		"a command that is allowed": {rules("deny", `id: ls, decision: allow, runs: ["ls *"]`), `"ls *"`, `"ls |"`, "ls x", "deny by default"},
		"a path that is allowed":    {rules("deny", `id: all, decision: allow, runs: ["*"], writes: ["/tmp/**"]`), `"/tmp/**"`, `"~x/tm*"`, "echo x > /tmp/x", "deny by default"},
		"an argument's folder":      {rules("allow", `id: under, decision: deny, args: {command: {under: ["/tmp"]}}`), `["/tmp"]`, `["~tmp"]`, "ls", "deny by under"},
	} {
		compiled, err := policy.Compile("p", []byte(tc.policy))
		if err != nil {
			t.Fatal(err)
		}
		broken := bytes.ReplaceAll(compiled, []byte(tc.good), []byte(tc.bad))
		p, err := policy.ParseCompiled("p", []byte(tc.policy), broken)
		if err != nil || bytes.Equal(compiled, broken) {
			t.Fatalf("%s: %v", name, err)
		}
		if got := outcome(p, shell(tc.command)); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// TestParseCompiledTrustsNoOtherText: what a cache holds is used for the text it was made of, and for no other.
func TestParseCompiledTrustsNoOtherText(t *testing.T) {
	strict, loose := []byte(rules("deny", noCurl)), []byte(rules("allow", lists))
	compiled, err := policy.Compile("p", loose)
	if err != nil {
		t.Fatal(err)
	}
	head, rest := []byte(nil), []byte(nil)
	if own, err := policy.Compile("p", strict); err != nil {
		t.Fatal(err)
	} else {
		head, _, _ = bytes.Cut(own, []byte(`"policy":`))
		_, rest, _ = bytes.Cut(compiled, []byte(`"policy":`))
	}
	forged := slices.Concat(head, []byte(`"policy":`), rest)
	older := regexp.MustCompile(`"format":\d+`).ReplaceAll(forged, []byte(`"format":1`))
	for name, tc := range map[string]struct {
		cache []byte
		want  string
	}{
		"of another text":     {compiled, "deny by default"},
		"cut off":             {compiled[:len(compiled)/2], "deny by default"},
		"empty":               {nil, "deny by default"},
		"of an older release": {older, "deny by default"},
		"no JSON":             {[]byte("x"), "deny by default"},
		"that says it is of this text, as only its writer could": {forged, "allow by lists"},
	} {
		p, err := policy.ParseCompiled("p", strict, tc.cache)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := outcome(p, shell("ls")); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
	bad := []byte("version: 2\nrulez: []\n")
	if _, err := policy.Compile("p", bad); err == nil {
		t.Error("a bad file was compiled")
	}
	if _, err := policy.ParseCompiled("p", bad, compiled); err == nil || err.Error() != `p:2:1: unknown key "rulez"` {
		t.Errorf("got %v, want the error of the text", err)
	}
}
