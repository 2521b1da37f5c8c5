package principal

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func parse(t *testing.T, tokens string) *Tokens {
	t.Helper()
	all, err := Parse("tokens.json", []byte(`{"version":1,"tokens":[`+tokens+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestIdentify(t *testing.T) {
	tokens := parse(t, `{"sha256":"`+digest("tok-ci")+`","principal":"ci","tenant":"acme"},
		{"sha256":"`+digest("tok-old")+`","principal":"old","expires":"2026-01-01T00:00:00Z"},
		{"sha256":"`+strings.ToUpper(digest("tok-b=="))+`","principal":"b"}`)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		header http.Header
		now    time.Time
		want   Who
		ok     bool
	}{
		{"a token", http.Header{"Authorization": {"Bearer tok-ci"}}, now, Who{"ci", "acme"}, true},
		{"the scheme in any case", http.Header{"Authorization": {"bEARER tok-ci"}}, now, Who{"ci", "acme"}, true},
		{"several spaces", http.Header{"Authorization": {"Bearer   tok-ci"}}, now, Who{"ci", "acme"}, true},
		{"padding", http.Header{"Authorization": {"Bearer tok-b=="}}, now, Who{"b", ""}, true},
		{"another token", http.Header{"Authorization": {"Bearer tok-cj"}}, now, Who{}, false},
		{"a token in another case", http.Header{"Authorization": {"Bearer TOK-CI"}}, now, Who{}, false},
		{"its digest", http.Header{"Authorization": {"Bearer " + digest("tok-ci")}}, now, Who{}, false},
		{"two headers, both right", http.Header{"Authorization": {"Bearer tok-ci", "Bearer tok-ci"}}, now, Who{}, false},
		{"two headers of two spellings", http.Header{"Authorization": {"Bearer tok-ci"}, "authorization": {"Bearer tok-b=="}}, now, Who{}, false},
		{"two in one", http.Header{"Authorization": {"Bearer tok-ci, Bearer tok-ci"}}, now, Who{}, false},
		{"no header", http.Header{}, now, Who{}, false},
		{"an empty one", http.Header{"Authorization": {""}}, now, Who{}, false},
		{"no token", http.Header{"Authorization": {"Bearer "}}, now, Who{}, false},
		{"only padding", http.Header{"Authorization": {"Bearer =="}}, now, Who{}, false},
		{"another scheme", http.Header{"Authorization": {"Basic tok-ci"}}, now, Who{}, false},
		{"no scheme", http.Header{"Authorization": {"tok-ci"}}, now, Who{}, false},
		{"another header", http.Header{"X-Authorization": {"Bearer tok-ci"}}, now, Who{}, false},
		{"a long one", http.Header{"Authorization": {"Bearer " + strings.Repeat("x", maxToken+1)}}, now, Who{}, false},
		{"an expired one", http.Header{"Authorization": {"Bearer tok-old"}}, now, Who{}, false},
		{"on the moment", http.Header{"Authorization": {"Bearer tok-old"}}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Who{}, false},
		{"before it", http.Header{"Authorization": {"Bearer tok-old"}}, time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC), Who{"old", ""}, true},
	} {
		got, ok := tokens.identify(c.header, c.now)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: got %v, %t", c.name, got, ok)
		}
	}
}

// TestTokensInTheAddressAreNotLookedAt: addresses end up in logs.
func TestTokensInTheAddressAreNotLookedAt(t *testing.T) {
	tokens := parse(t, `{"sha256":"`+digest("tok")+`","principal":"ci"}`)
	r := httptest.NewRequest("POST", "/mcp?access_token=tok&token=tok", strings.NewReader("access_token=tok"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "Authorization", Value: "tok"})
	if who, ok := tokens.Identify(r); ok {
		t.Errorf("it is %v", who)
	}
	r.Header.Set("Authorization", "Bearer tok")
	if who, ok := tokens.Identify(r); !ok || who.Name != "ci" {
		t.Errorf("with the header it is %v, %t", who, ok)
	}
}

func TestZeroTokensAreNobodys(t *testing.T) {
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Authorization", "Bearer x")
	for _, tokens := range []*Tokens{nil, {}} {
		if who, ok := tokens.Identify(r); ok {
			t.Errorf("it is %v", who)
		}
	}
}

func TestTokenFilesThatAreRefused(t *testing.T) {
	one := `"sha256":"` + digest("x") + `"`
	for _, c := range []struct{ text, want string }{
		{`{`, "tokens.json: unexpected end"},
		{`[]`, "version must be 1"},
		{`{"tokens":[]}`, "version must be 1"},
		{`{"version":2,"tokens":[]}`, "version must be 1"},
		{`{"version":1,"token":[]}`, `1:22: unknown key "token"`},
		{`{"version":1,"tokens":{}}`, "tokens must be a list"},
		{`{"version":1,"tokens":["tok"]}`, "a token must be an object"},
		{`{"version":1,"tokens":[{"token":"tok","principal":"ci"}]}`, `unknown key "token"`},
		{`{"version":1,"tokens":[{"sha256":"tok","principal":"ci"}]}`, "never the token itself"},
		{`{"version":1,"tokens":[{"principal":"ci"}]}`, "must have a sha256"},
		{`{"version":1,"tokens":[{"sha256":"` + digest("") + `","principal":"ci"}]}`, "the digest of nothing at all"},
		{`{"version":1,"tokens":[{` + one + `}]}`, "must have a principal"},
		{`{"version":1,"tokens":[{` + one + `,"principal":""}]}`, "must have a principal"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"local"}]}`, "local cannot have a token"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"Operator"}]}`, "Operator cannot have a token"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"a b"}]}`, "a principal has 1 to 128"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"\u0131"}]}`, "a principal has 1 to 128"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"ci","tenant":""}]}`, "a tenant has 1 to 128"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"ci","expires":"soon"}]}`, "expires must be a moment"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"ci","expires":0}]}`, "expires must be a string"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"ci"},{` + one + `,"principal":"root"}]}`, "the same token twice"},
		{`{"version":1,"tokens":[{` + one + `,"principal":"ci","principal":"root"}]}`, "duplicate key"},
	} {
		_, err := Parse("tokens.json", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestReadRefusesFilesThatOthersCouldHaveWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing on Windows")
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(path, []byte(`{"version":1,"tokens":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o600: "", 0o640: "", 0o400: "", 0o620: "others can write", 0o602: "others can write", 0o666: "others can write"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		tokens, err := Read(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("mode %o: %v", mode, err)
		}
		if err == nil && (len(tokens.Notes()) == 1) != (mode == 0o640) {
			t.Errorf("mode %o: notes %q", mode, tokens.Notes())
		}
	}
	if _, err := Read(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestNewTokensAreTheirOwn(t *testing.T) {
	a, digestA := New()
	b, _ := New()
	if a == b || len(a) < 40 || digestA != sha256.Sum256([]byte(a)) {
		t.Errorf("got %q and %q", a, b)
	}
	tokens, err := new(Tokens).With(Token{digestA, Who{"ci", "acme"}, time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse("tokens.json", tokens.Text())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tokens.list, read.list); diff != "" {
		t.Errorf("-made +read:\n%s", diff)
	}
	if strings.Contains(string(tokens.Text()), a) {
		t.Error("the file has the token itself")
	}
	who, ok := read.identify(http.Header{"Authorization": {"Bearer " + a}}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if !ok || who != (Who{"ci", "acme"}) {
		t.Errorf("got %v, %t", who, ok)
	}
}

// FuzzParse holds that what was read can be written and is then the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"tokens":[{"sha256":"` + digest("x") + `","principal":"ci","tenant":"t","expires":"2027-01-02T03:04:05+02:00"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tokens, err := Parse("x", text)
		if err != nil {
			return
		}
		again, err := Parse("x", tokens.Text())
		if err != nil || len(again.list) != len(tokens.list) {
			t.Fatalf("%v\n%s", err, tokens.Text())
		}
		for i, token := range again.list {
			if token.SHA256 != tokens.list[i].SHA256 || token.Who != tokens.list[i].Who || !token.Expires.Equal(tokens.list[i].Expires.Truncate(time.Second)) {
				t.Errorf("got %v, want %v", token, tokens.list[i])
			}
		}
	})
}
