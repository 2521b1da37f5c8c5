package output

import (
	"bufio"
	"encoding/base64"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

// sample is a text, and the rule that it is about.
type sample struct{ rule, text string }

func readSamples(t *testing.T, name string) []sample {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []sample
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rule, encoded, found := strings.Cut(lines.Text(), " ")
		if rule == "#" || !found {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue // of the comment
		}
		all = append(all, sample{rule, string(text)})
	}
	if len(all) < 300 {
		t.Fatalf("%s has only %d samples", name, len(all))
	}
	return all
}

// inResult is a result with a text in it.
func inResult(text string) string {
	return `{"content":[{"type":"text","text":` + string(canon.AppendString(nil, text)) + `}]}`
}

// leftOut are the rules for files of some name.
var leftOut = []string{"freemius-secret-key", "hashicorp-tf-password", "kubernetes-secret-yaml", "nuget-config-password", "pkcs12-file"}

// TestSecretsAreMasked finds a secret of every kind, far from any end of the text.
func TestSecretsAreMasked(t *testing.T) {
	filler := strings.Repeat("the quick brown fox jumps over the lazy dog.\n", 400)
	tested := map[string]bool{}
	for _, s := range readSamples(t, "secrets.txt") {
		if slices.Contains(leftOut, s.rule) {
			continue
		}
		tested[s.rule] = true
		text := filler + s.text + "\n" + filler
		if s.rule == "sidekiq-sensitive-url" { // which is one only at the end
			text = filler + s.text
		}
		out := apply(t, Rule{Secrets: true}, inResult(text))
		if !strings.Contains(out, "[secret: ") || strings.Contains(out, string(canon.AppendString(nil, s.text))) {
			t.Errorf("%s: not found: %.100q", s.rule, s.text)
		}
		if !strings.HasPrefix(out, inResult(filler)[:len(filler)]) || !strings.HasSuffix(out, `."}]}`) && !strings.HasSuffix(out, `.\n"}]}`) && s.rule != "sidekiq-sensitive-url" {
			t.Errorf("%s: more than the secret is changed", s.rule)
		}
	}
	d, err := secrets()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.all {
		if !tested[r.id] && !strings.HasPrefix(r.id, "dropbox-") { // of two of which there is none

			t.Errorf("rule %s has no sample", r.id)
		}
	}
}

// TestNoSecretsAreMasked: neither what gitleaks says is none, nor the text of issues (docker/mcp-gateway#334), nor cursors.
func TestNoSecretsAreMasked(t *testing.T) {
	for _, s := range readSamples(t, "no-secrets.txt") {
		if out := apply(t, Rule{Secrets: true}, inResult(s.text)); strings.Contains(out, "[secret: "+s.rule+"]") {
			t.Errorf("%s: %q is masked", s.rule, s.text)
		}
	}
	benign, err := os.ReadFile("testdata/benign.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(benign)) {
		if out := apply(t, Rule{Secrets: true}, inResult(line)); out != inResult(line) {
			t.Errorf("something is masked:\n%s", out)
		}
	}
	all := inResult(string(benign))
	if diff := cmp.Diff(all, apply(t, Rule{Secrets: true}, all)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The parts of made-up secrets: in one piece they would look like some.
const (
	awsKey = "AKIA" + "QYLPMN5HHHFPZAM2"
	github = "ghp_" + "x7Kq2mZ9vB4nT6wR8yL1cF3hJ5dS0pG2aE4u"
	digits = "hf9Kq2mZ9vB4n" + "T6wR8yL1cF3hJ5dS0pG"
)

func TestWhatIsMasked(t *testing.T) {
	for _, tc := range []struct{ name, result, want string }{
		{"a token in a text", `"use ` + github + ` now"`, `"use [secret: github-pat] now"`},
		{"two of them", `["` + awsKey + ` x","` + github + `"]`, `["[secret: aws-access-token] x","[secret: github-pat]"]`},
		{"twice in one text", `"` + github + ` and ` + github + `"`, `"[secret: github-pat] and [secret: github-pat]"`},
		{"among escapes", `"a\n\ttoken: \"` + github + `\"\u00e9\/"`, `"a\n\ttoken: \"[secret: github-pat]\"\u00e9\/"`},
		{"in escapes", `"\u0067hp_` + github[4:] + `"`, `"[secret: github-pat]"`},
		{"a key", `{"` + github + `":1}`, `{"[secret: github-pat]":1}`},
		{"what the name of a member tells", `{"discord_api_token":"` + strings.Repeat("0123456789abcdef", 4) + `"}`, `{"discord_api_token":"[secret: discord-api-token]"}`},
		{"a password in a text", `"password = \"` + digits + `\""`, `"password = \"[secret: generic-api-key]\""`},
		{"any value under any key", `{"key":"` + digits + `","pageToken":"` + digits + `"}`, `{"key":"` + digits + `","pageToken":"` + digits + `"}`},
		{"a private key", `"-----BEGIN RSA PRIVATE KEY-----\n` + strings.Repeat(digits+`\n`, 400) + `-----END RSA PRIVATE KEY-----\nx"`, `"[secret: private-key]\nx"`},
		{"the data of an image", `{"type":"image","data":"` + strings.Repeat("AKIAQYLPMN5HHHFPZAM2", 16) + `"}`, `{"type":"image","data":"` + strings.Repeat("AKIAQYLPMN5HHHFPZAM2", 16) + `"}`},
		{"no data of an image", `{"data":"` + github + `"}`, `{"data":"[secret: github-pat]"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, apply(t, Rule{Secrets: true}, tc.result)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	hidden := `"ghp_\u200b` + github[4:] + `"`
	if got := apply(t, Rule{Secrets: true, Control: Remove}, hidden); got != `"[secret: github-pat]"` {
		t.Errorf("a secret that is taken apart by what is removed: got %s", got)
	}
}

// TestRulesCanBeRead compiles all that is compiled lazily, and says of how many kinds a match can be found from its
// beginning.
func TestRulesCanBeRead(t *testing.T) {
	d, err := secrets()
	if err != nil {
		t.Fatal(err)
	}
	leads := 0
	for _, r := range d.all {
		e, err := r.get()
		if err != nil {
			t.Errorf("%s: %v", r.id, err)
			continue
		}
		if e.leads != nil {
			leads++
		}
		for _, a := range slices.Concat(r.allow, d.allow) {
			if _, err := a.get(); err != nil {
				t.Errorf("%s: %v", r.id, err)
			}
		}
	}
	if len(d.all) < 200 || leads < 50 {
		t.Errorf("%d rules, %d that begin with a keyword", len(d.all), leads)
	}
	if strings.Contains(string(secretsJSON), "Match any path") || !regexp.MustCompile(`gitleaks/v8 v8\.\d+`).Match(secretsJSON) {
		t.Error("the rules do not say where they are from")
	}
}

// allKeywords is a text with the keywords of all rules.
func allKeywords(t *testing.T) string {
	t.Helper()
	root, err := canon.Parse(secretsJSON)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for r := range root.Get("rules").Elements() {
		for word := range r.Get("keywords").Elements() {
			keyword, _ := word.Text()
			text += strings.ReplaceAll(keyword, `"`, "") + " = "
		}
	}
	return text
}

// TestTooMuchWorkIsRefused: a result is not given as it came because it was made too hard to search.
func TestTooMuchWorkIsRefused(t *testing.T) {
	result := []byte(inResult(strings.Repeat(allKeywords(t), 3) + github))
	out, err := maskSecrets(result, 1<<10)
	if out != nil || err == nil || err.Error() != "secrets cannot be looked for: too much of the result looks like one" {
		t.Errorf("got %.20s, %v", out, err)
	}
	if out, err := maskSecrets(result, effortFor(len(result))); err != nil || !strings.Contains(string(out), "[secret: github-pat]") {
		t.Errorf("with enough effort: %v", err)
	}
	for size, want := range map[int]effort{0: 4 << 20, 1 << 20: 6 << 20, 64 << 20: 64 << 20} {
		if got := effortFor(size); got != want {
			t.Errorf("%d bytes are worth %d, want %d", size, got, want)
		}
	}
}

func TestWordsAreFound(t *testing.T) {
	w := newWords([]string{"he", "hers", "his", "she", "a-"})
	var got []string
	w.find("USHERS this a-", func(word, end int) {
		got = append(got, []string{"he", "hers", "his", "she", "a-"}[word]+" "+string(rune('0'+end%10)))
	})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a- 4", "he 4", "hers 6", "his 1", "she 4"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func BenchmarkSecrets(b *testing.B) {
	result := []byte(inResult(strings.Repeat("The quick brown fox has the key, an API token: none. See https://example.com/a?b=c and password rules.\n", 1<<20/104)))
	b.SetBytes(int64(len(result)))
	for b.Loop() {
		if out, err := (Rule{Secrets: true}).Apply(result); err != nil || len(out) != len(result) {
			b.Fatal(err)
		}
	}
}

func BenchmarkControl(b *testing.B) {
	result := []byte(inResult(strings.Repeat("The quick brown fox – has “quotes”, umlauts ä, and\tlines.\n", 1<<20/64)))
	b.SetBytes(int64(len(result)))
	for b.Loop() {
		if out, err := (Rule{Control: Mark}).Apply(result); err != nil || len(out) != len(result) {
			b.Fatal(err)
		}
	}
}
