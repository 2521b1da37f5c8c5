package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"sallyport/internal/canon"
	"sallyport/internal/gate"
	"sallyport/internal/pin"
	"sallyport/internal/schema"
)

// list is one of the lists that servers have.
type list struct {
	method     string // that asks for it
	member     string // of the result, an array of rows
	capability string // that the server declares
	key        string // of a row, that names it
	pin        pin.Kind
	use        string // the method by which a row is used
}

var (
	toolList     = list{method: "tools/list", member: "tools", capability: "tools", key: "name", pin: pin.Tool, use: "tools/call"}
	promptList   = list{method: "prompts/list", member: "prompts", capability: "prompts", key: "name", pin: pin.Prompt, use: "prompts/get"}
	resourceList = list{method: "resources/list", member: "resources", capability: "resources", key: "uri", use: "resources/read"}
	templateList = list{method: "resources/templates/list", member: "resourceTemplates", capability: "resources",
		key: "uriTemplate", use: "resources/read"}
)

// row is one row of an upstream's list, as it came.
type row struct {
	list list
	name string // by the list's key, the upstream's own
	raw  []byte // its bytes, in memory that it shares with nothing large
	seen []byte // as the upstream said it, where a bridge has changed it since; else raw

	tool    *gate.Tool                     // of a tool
	schema  func() (*schema.Schema, error) // of a tool, compiled when it is needed first
	headers func() ([]paramHeader, error)  // of a tool, likewise

	pinned atomic.Pointer[pinned] // what the lock said last
	told   atomic.Int32           // what the client was told of it
}

// pinned is how a row stands to a lock.
type pinned struct {
	lock  *pin.Lock
	state pin.State
	known bool // the lock speaks of the server
}

// readRow reads a row strictly: a row that two readers could read in two ways is not shown to any.
func readRow(of list, raw []byte) (*row, error) {
	v, err := canon.Parse(raw)
	if err != nil {
		return nil, err
	}
	if v.Kind() != canon.Object {
		return nil, errors.New("a row must be an object, not " + v.Kind().String())
	}
	for key := range v.Members() {
		if like := lookalike(key, of.key, "description", "inputSchema", "annotations", "title"); like != "" && like != key {
			return nil, fmt.Errorf("a key looks like %q but is not it", like)
		}
	}
	name, ok := v.Get(of.key).Text()
	if !ok || name == "" {
		return nil, fmt.Errorf("%s must be a string that is not empty", of.key)
	}
	return &row{list: of, name: name, raw: bytes.Clone(v.Bytes())}, nil
}

// lookalike returns the one of keys that key is when letter case and trailing NULs do not count, "" if there is none.
func lookalike(key string, keys ...string) string {
	trimmed := strings.TrimRight(key, "\x00")
	for _, known := range keys {
		if strings.EqualFold(trimmed, known) {
			return known
		}
	}
	return ""
}

// asTool completes the row of a tool, which clients know by the name exposed.
func (r *row) asTool(l *leg, exposed string) {
	up := l.up
	v, _ := canon.Skim(r.raw)
	input := member(v, "inputSchema")
	r.schema = sync.OnceValues(func() (*schema.Schema, error) {
		if input.Kind() != canon.Object {
			return nil, errors.New("inputSchema must be an object")
		}
		compiled, err := schema.Compile(input.Bytes())
		if err == nil {
			for _, note := range compiled.Notes() {
				l.warnOnce("a tool's input schema is not checked in all", "name", cut(r.name), "left", note)
			}
		}
		return compiled, err
	})
	r.headers = sync.OnceValues(func() ([]paramHeader, error) { return paramHeaders(input) })
	r.tool = &gate.Tool{
		Name:       exposed,
		Upstream:   up.Name(),
		Definition: r.raw,
		Check: func(args canon.Value) error {
			compiled, err := r.schema()
			if err != nil {
				return fmt.Errorf("the tool's input schema cannot be used: %w", err)
			}
			return compiled.Check(args)
		},
	}
}

// unfit says why the row must not be used, by what it is itself; nil if it may.
func (r *row) unfit(up Upstream) error {
	if r.tool == nil {
		return nil
	}
	if _, err := r.schema(); err != nil {
		return fmt.Errorf("its input schema cannot be used: %w", err)
	}
	if _, err := r.headers(); err != nil && overHTTP(up) {
		return err
	}
	return nil
}

// refuse returns why the lock keeps the row from being used, nil if it does not. kept is what the lock is about.
func (s *Server) refuse(up Upstream, r *row) *gate.DeniedError {
	if s.Lock == nil || r.list.pin == "" {
		return nil
	}
	lock := s.Lock()
	if lock == nil {
		return nil
	}
	p := r.pinned.Load()
	if p == nil || p.lock != lock {
		definition := r.raw
		if r.seen != nil {
			definition = r.seen
		}
		p = &pinned{lock: lock, state: lock.State(up.Name(), r.list.pin, r.name, definition), known: lock.Pins(up.Name())}
		r.pinned.Store(p)
	}
	denied := &gate.DeniedError{Tool: s.exposed(up, r.name), Rule: "pin"}
	switch {
	case p.state == pin.Changed:
		denied.Reason = "pinned definition changed: run sallyport pin --diff"
	case p.state == pin.Unpinned && p.known:
		denied.Reason = "not pinned: run sallyport pin"
	case p.state == pin.Same, p.state == pin.Unpinned:
		return nil
	default:
		denied.Reason = "the lock file cannot tell whether it is pinned"
	}
	return denied
}

// plain reports whether a name will do where names are put together: printable ASCII without spaces, not too long
// (MCP 2026-07-28, server/tools, Tool Names).
func plain(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
