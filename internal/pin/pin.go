// Package pin keeps sallyport.lock: the digest of each tool's and prompt's whole definition, as an operator has seen it.
// What changed since is not what was agreed to.
//
// Read gives a Lock, and State holds a definition against it. With makes another Lock with what a server lists now,
// Compare says how two of them differ, and Text is the file. The definitions themselves are in the file beside their
// digests, so that a difference can be looked at. Who may change the file is for others to say.
package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"sallyport/internal/canon"
)

// FileName is what a lock file is called.
const FileName = "sallyport.lock"

// maxFile is more than any lock file has, in bytes.
const maxFile = 64 << 20

// Kind is what is pinned.
type Kind string

const (
	Tool   Kind = "tool"
	Prompt Kind = "prompt"
)

// State is how a definition stands to the lock.
type State int

const (
	Unpinned State = iota // the lock does not have it
	Same
	Changed
)

func (s State) String() string { return [...]string{"unpinned", "same", "changed"}[s] }

// Definition is a tool or a prompt as a server lists it.
type Definition struct {
	Kind Kind
	Name string
	Text []byte // its row in the list, as it came
}

// Lock is a lock file as it was read. The zero Lock pins nothing. It is immutable.
type Lock struct{ servers map[string]pins }

// pins are what is pinned of a server.
type pins map[item]pinned

type item struct {
	kind Kind
	name string
}

// pinned is a pinned definition.
type pinned struct {
	digest string // sha256:HEX
	value  canon.Value
}

// Read reads a lock file. One that is not there is an fs.ErrNotExist.
func Read(name string) (*Lock, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// State tells how a definition of a server's stands to the lock. Name is the server's own, without a prefix, and
// definition its row in the server's list as it came.
func (l *Lock) State(server string, kind Kind, name string, definition []byte) State {
	if l == nil {
		return Unpinned
	}
	p, ok := l.servers[server][item{kind, name}]
	switch {
	case !ok:
		return Unpinned
	case p.digest == digestOf(definition):
		return Same
	}
	return Changed
}

// Pins reports whether the lock speaks of a server at all: of one that it does not know nothing is pinned.
func (l *Lock) Pins(server string) bool {
	if l == nil {
		return false
	}
	_, ok := l.servers[server]
	return ok
}

// Servers returns the names of the servers of which something is pinned, sorted.
func (l *Lock) Servers() []string { return slices.Sorted(maps.Keys(l.servers)) }

// Count returns how many tools and prompts of a server are pinned.
func (l *Lock) Count(server string) int { return len(l.servers[server]) }

// With returns a lock that has of a server these definitions and no others. A server that lists the same name twice is
// refused: one could not tell which of the two is meant.
func (l *Lock) With(server string, definitions []Definition) (*Lock, error) {
	now := pins{}
	for _, d := range definitions {
		key := item{d.Kind, d.Name}
		if _, twice := now[key]; twice {
			return nil, fmt.Errorf("server %s lists the %s %s twice", server, d.Kind, Visible(d.Name))
		}
		now[key] = pin(d.Text)
	}
	servers := maps.Clone(l.servers)
	if servers == nil {
		servers = map[string]pins{}
	}
	servers[server] = now
	return &Lock{servers}, nil
}

// pin returns what is kept of a definition. One that has no canonical spelling, or that is too deep to stand in the file,
// is kept as a string of its bytes.
func pin(definition []byte) pinned {
	if canonical, err := canon.Canonical(definition); err == nil {
		// In the file it stands within five objects.
		if _, err := canon.Parse([]byte("[[[[[" + string(canonical) + "]]]]]")); err == nil {
			return pinned{digestOf(definition), mustParse(canonical)}
		}
	}
	text := canon.AppendString(nil, strings.ToValidUTF8(string(definition), "\uFFFD"))
	return pinned{digestOf(definition), mustParse(text)}
}

func mustParse(text []byte) canon.Value {
	v, err := canon.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("pin: canonical text that cannot be read: %v", err))
	}
	return v
}

// digestOf is the digest of the canonical spelling of a definition, or of its bytes where it has none.
func digestOf(definition []byte) string {
	canonical, err := canon.Canonical(definition)
	if err != nil {
		canonical = definition
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// errEdited says that a file is not as sallyport writes it.
var errEdited = errors.New("the definition does not have the digest that stands beside it")

// Parse reads the text of a lock file; name is for its errors.
func Parse(name string, text []byte) (*Lock, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	doc, err := canon.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

func parse(doc canon.Value) (*Lock, error) {
	if doc.Kind() != canon.Object {
		return nil, errors.New("must be an object")
	}
	version := doc.Get("version")
	if n, ok := version.Int(); !ok || n != 1 {
		return nil, errors.New("version must be 1: another sallyport wrote it, or it is no lock file")
	}
	l := &Lock{servers: map[string]pins{}}
	for key, v := range doc.Members() {
		switch {
		case key == "version":
		case key != "servers":
			return nil, fmt.Errorf("unknown key %s", Visible(key))
		case v.Kind() != canon.Object:
			return nil, errors.New("servers must be an object")
		default:
			for server, v := range v.Members() {
				pinned, err := parseServer(v)
				if err != nil {
					return nil, fmt.Errorf("server %s: %w", Visible(server), err)
				}
				l.servers[server] = pinned
			}
		}
	}
	return l, nil
}

func parseServer(v canon.Value) (pins, error) {
	if v.Kind() != canon.Object {
		return nil, errors.New("must be an object")
	}
	all := pins{}
	for key, v := range v.Members() {
		kind := Kind(strings.TrimSuffix(key, "s"))
		if key != "tools" && key != "prompts" {
			return nil, fmt.Errorf("unknown key %s", Visible(key))
		}
		if v.Kind() != canon.Object {
			return nil, fmt.Errorf("%s must be an object", key)
		}
		for name, v := range v.Members() {
			p, err := parsePin(v)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", kind, Visible(name), err)
			}
			all[item{kind, name}] = p
		}
	}
	return all, nil
}

func parsePin(v canon.Value) (pinned, error) {
	var p pinned
	for key, v := range v.Members() {
		switch key {
		case "sha256":
			text, _ := v.Text()
			if sum, err := hex.DecodeString(text); err != nil || len(sum) != sha256.Size || text != strings.ToLower(text) {
				return p, errors.New("sha256 must be 64 lower-case hexadecimal digits")
			}
			p.digest = "sha256:" + text
		case "definition":
			p.value = v
		default:
			return p, fmt.Errorf("unknown key %s", Visible(key))
		}
	}
	if p.digest == "" || !p.value.Exists() {
		return p, errors.New("must have sha256 and definition")
	}
	if p.value.Kind() == canon.String { // kept as bytes, some of which may not have been UTF-8
		return p, nil
	}
	if digestOf(p.value.Bytes()) != p.digest {
		return p, errEdited
	}
	return p, nil
}
