// Package principal knows who may ask over HTTP: it reads the file of bearer tokens and finds whose a request's is.
//
// The file has digests only; New makes a token and the digest that stands for it. Tokens are looked for in the
// Authorization header and nowhere else, in time that tells nothing about them.
package principal

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"sallyport/internal/canon"
)

const (
	maxFile   = 4 << 20 // bytes
	maxTokens = 10_000
	maxToken  = 4096 // bytes of a bearer token
	maxName   = 128
)

// Who is somebody who may ask.
type Who struct{ Name, Tenant string }

// Token is a token as the file has it: not itself, but its digest.
type Token struct {
	SHA256  [sha256.Size]byte
	Who     Who
	Expires time.Time // zero if it does not
}

// Tokens are the tokens of a file. They are immutable. The zero Tokens are nobody's.
type Tokens struct {
	list  []Token
	notes []string
}

// Read reads a token file. It refuses one that others than its owner can write to: they could name themselves anybody.
func Read(name string) (*Tokens, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	t, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	if othersCanRead(info) {
		t.notes = append(t.notes, "others can read "+name+": it has digests only, but only random tokens are safe behind them; chmod 600 it")
	}
	return t, nil
}

// open opens a regular file that is ours or root's, and that nobody else can write to.
func open(name string) (*os.File, error) {
	if info, err := os.Stat(name); err != nil { // a pipe would keep Open waiting
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkOwner(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkOwner refuses a file that somebody else could have written.
func checkOwner(name string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", name)
	case !trustedOwner(info):
		return fmt.Errorf("%s belongs to another user", name)
	case !othersCannotWrite(info):
		return fmt.Errorf("others can write to %s: chmod 600 it", name)
	}
	return nil
}

// Notes says what an operator should know of the file, each one line for the log.
func (t *Tokens) Notes() []string { return t.notes }

// Len is how many tokens there are.
func (t *Tokens) Len() int { return len(t.list) }

// Parse reads the text of a token file; name is for its errors.
func Parse(name string, text []byte) (*Tokens, error) {
	fail := func(at canon.Value, format string, args ...any) error {
		line, col := canon.Place(text, at.OffsetIn(text))
		return fmt.Errorf("%s:%d:%d: %s", name, line, col, fmt.Sprintf(format, args...))
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	doc, err := canon.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if n, ok := doc.Get("version").Int(); !ok || n != 1 {
		return nil, fail(doc, "version must be 1")
	}
	t := &Tokens{}
	for key, v := range doc.Members() {
		switch {
		case key == "version":
		case key != "tokens":
			return nil, fail(v, "unknown key %q", key)
		case v.Kind() != canon.Array:
			return nil, fail(v, "tokens must be a list")
		default:
			if t.list, err = parseTokens(v, fail); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func parseTokens(v canon.Value, fail func(canon.Value, string, ...any) error) ([]Token, error) {
	var list []Token
	seen := map[[sha256.Size]byte]bool{}
	for element := range v.Elements() {
		token, err := parseToken(element)
		switch {
		case err != nil:
			return nil, fail(element, "%v", err)
		case seen[token.SHA256]:
			return nil, fail(element, "the same token twice: whose it is could not be told")
		case len(list) == maxTokens:
			return nil, fail(element, "more than %d tokens", maxTokens)
		}
		seen[token.SHA256] = true
		list = append(list, token)
	}
	return list, nil
}

func parseToken(v canon.Value) (t Token, err error) {
	if v.Kind() != canon.Object {
		return t, errors.New("a token must be an object")
	}
	digest := false
	for key, member := range v.Members() {
		text, ok := member.Text()
		if !ok {
			return t, fmt.Errorf("%s must be a string", key)
		}
		switch key {
		case "sha256":
			sum, err := hex.DecodeString(text)
			if err != nil || len(sum) != sha256.Size {
				return t, errors.New("sha256 must be 64 hexadecimal digits: the digest of a token, never the token itself")
			}
			digest = true
			copy(t.SHA256[:], sum)
		case "principal":
			t.Who.Name = text
		case "tenant":
			t.Who.Tenant = text
			if err := checkWord("tenant", text); err != nil {
				return t, err
			}
		case "expires":
			if t.Expires, err = time.Parse(time.RFC3339, text); err != nil {
				return t, errors.New("expires must be a moment such as 2027-01-31T00:00:00Z")
			}
		default:
			return t, fmt.Errorf("unknown key %q", key)
		}
	}
	if !digest {
		return t, errors.New("a token must have a sha256")
	}
	if t.SHA256 == sha256.Sum256(nil) {
		return t, errors.New("it is the digest of nothing at all")
	}
	return t, CheckName(t.Who.Name)
}

// CheckName reports what is wrong with a principal's name. Those that stand for somebody else are refused, in any case:
// local is who asks on stdio, operator who settles claims, anonymous who asks over HTTP where there are no tokens.
func CheckName(name string) error {
	switch strings.ToLower(name) {
	case "":
		return errors.New("a token must have a principal")
	case "local", "operator", "anonymous":
		return fmt.Errorf("%s cannot have a token: the name stands for somebody who has none", name)
	}
	return checkWord("principal", name)
}

// CheckTenant reports what is wrong with a tenant's name.
func CheckTenant(name string) error { return checkWord("tenant", name) }

func checkWord(what, text string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@:/+-"
	if text == "" || len(text) > maxName || strings.Trim(text, letters) != "" {
		return fmt.Errorf("a %s has 1 to %d of the characters A-Z, a-z, 0-9 and _.@:/+-", what, maxName)
	}
	return nil
}

// Identify returns whose bearer token a request has, in time that does not depend on which it is. A request with several
// Authorization headers, or with one that is no bearer token, is nobody's; so is one whose token has expired.
func (t *Tokens) Identify(r *http.Request) (Who, bool) { return t.identify(r.Header, time.Now()) }

func (t *Tokens) identify(header http.Header, now time.Time) (Who, bool) {
	token, ok := bearer(header)
	if t == nil || !ok {
		return Who{}, false
	}
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.list { // all of them
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t.list[i].SHA256[:]), i, found)
	}
	if found < 0 {
		return Who{}, false
	}
	if expires := t.list[found].Expires; !expires.IsZero() && !now.Before(expires) {
		return Who{}, false
	}
	return t.list[found].Who, true
}

// bearer returns the token of the one Authorization header (RFC 6750, section 2.1).
func bearer(header http.Header) (string, bool) {
	var values []string
	for key, all := range header { // also one that was set under another spelling
		if strings.EqualFold(key, "Authorization") {
			values = append(values, all...)
		}
	}
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if token = strings.Trim(token, " "); !ok || !strings.EqualFold(scheme, "Bearer") || len(token) > maxToken {
		return "", false
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/"
	body := strings.TrimRight(token, "=")
	return token, body != "" && strings.Trim(body, letters) == ""
}

// New returns a random token and the digest that stands for it.
func New() (token string, digest [sha256.Size]byte) {
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand
	token = "spt_" + base64.RawURLEncoding.EncodeToString(b[:])
	return token, sha256.Sum256([]byte(token))
}

// With returns the tokens and one more.
func (t *Tokens) With(token Token) (*Tokens, error) {
	if err := CheckName(token.Who.Name); err != nil {
		return nil, err
	}
	if token.Who.Tenant != "" {
		if err := CheckTenant(token.Who.Tenant); err != nil {
			return nil, err
		}
	}
	more := &Tokens{notes: t.notes}
	more.list = append(append(more.list, t.list...), token)
	if len(more.list) > maxTokens {
		return nil, fmt.Errorf("more than %d tokens", maxTokens)
	}
	return more, nil
}

// Text is the tokens as their file has them, one a line.
func (t *Tokens) Text() []byte {
	out := []byte("{\"version\": 1, \"tokens\": [")
	for i, token := range t.list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, "\n  {"...)
		member := func(key, value string) {
			out = append(canon.AppendString(out, key), ": "...)
			out = append(canon.AppendString(out, value), ", "...)
		}
		member("sha256", hex.EncodeToString(token.SHA256[:]))
		member("principal", token.Who.Name)
		if token.Who.Tenant != "" {
			member("tenant", token.Who.Tenant)
		}
		if !token.Expires.IsZero() {
			member("expires", token.Expires.UTC().Format(time.RFC3339))
		}
		out = append(out[:len(out)-len(", ")], '}')
	}
	return append(out, "\n]}\n"...)
}
