package hook

import (
	"bytes"
	"path/filepath"

	"sallyport/internal/durable"
	"sallyport/internal/policy"
)

// keepCompiled is how many compiled policies are kept.
const keepCompiled = 64

// parse reads a policy's text. What takes time to read is kept compiled in our state folder, for the next process.
func (l *loader) parse(path, sum string, text []byte) (*policy.Policy, error) {
	if l.places.State == "" || !worthCompiling(text) {
		return policy.Parse(path, text)
	}
	dir, name := filepath.Join(l.places.State, "policies"), sum+".json"
	if l.fsys.IsOwnDir(l.places.State) == nil && l.fsys.IsOwnDir(dir) == nil {
		if compiled, err := readPolicy(filepath.Join(dir, name)); err == nil {
			return policy.ParseCompiled(path, text, compiled)
		}
	}
	compiled, err := policy.Compile(path, text)
	if err != nil {
		return nil, err
	}
	keep(l.fsys, dir, name, compiled)
	return policy.ParseCompiled(path, text, compiled)
}

// worthCompiling reports whether a text is more than JSON without expressions.
func worthCompiling(text []byte) bool {
	trimmed := bytes.TrimSpace(text)
	return len(trimmed) > 0 && trimmed[0] != '{' && trimmed[0] != '[' || bytes.Contains(text, []byte(`"when"`))
}

// keep keeps a compiled policy, if it can.
func keep(fsys durable.FS, dir, name string, compiled []byte) {
	if fsys.OwnDir(filepath.Dir(dir)) != nil || fsys.OwnDir(dir) != nil {
		return
	}
	if names, err := fsys.Names(dir); err == nil && len(names) >= keepCompiled {
		for _, old := range names {
			_ = fsys.Remove(filepath.Join(dir, old))
		}
	}
	_ = durable.Publish(fsys, dir, name, compiled, nil)
}
