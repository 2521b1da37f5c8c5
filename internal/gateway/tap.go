package gateway

import (
	"bytes"
	"context"
	"sync"

	"sallyport/internal/wire"
)

// tap is a link that remembers the rows of lists as the upstream said them, before a bridge changes them: what is pinned
// is what the upstream said. It also takes notice of what the upstream says that a bridge keeps to itself.
type tap struct {
	wire.Link
	note func(method string)

	mu   sync.Mutex                   // guards what follows
	rows map[string]map[string][]byte // by the list's method and the row's name
	size int
}

// Call implements wire.Link.
func (t *tap) Call(ctx context.Context, out wire.Outgoing) (wire.Incoming, error) {
	if hear := out.Hear; hear != nil {
		out.Hear = func(in wire.Incoming) {
			t.note(in.Method)
			hear(in)
		}
	}
	in, err := t.Link.Call(ctx, out)
	for _, of := range []list{toolList, promptList} {
		if err == nil && out.Method == of.method && in.Result.Exists() {
			t.keep(of, in)
		}
	}
	return in, err
}

func (t *tap) keep(of list, in wire.Incoming) {
	array, err := rowsOf(of, in.Result)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = make(map[string]map[string][]byte)
	}
	if t.rows[of.method] == nil {
		t.rows[of.method] = make(map[string][]byte)
	}
	seen := make(map[string]bool)
	for element := range array.Elements() {
		r, err := readRow(of, element.Bytes())
		if err != nil || seen[r.name] || t.size > 2*maxListBytes {
			continue // a row that is not kept is one that the lock does not know
		}
		seen[r.name] = true
		t.size += len(r.raw) - len(t.rows[of.method][r.name])
		t.rows[of.method][r.name] = r.raw
	}
}

func (t *tap) row(of list, name string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[of.method][name]
}

// asSeen notes what the upstream itself said of the rows of a page, where a bridge is between.
func (l *leg) asSeen(of list, page []*row) {
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c == nil || c.raw == nil {
		return
	}
	for _, r := range page {
		if r == nil {
			continue
		}
		if said := c.raw.row(of, r.name); said != nil && !bytes.Equal(said, r.raw) {
			r.seen = said
		}
	}
}
