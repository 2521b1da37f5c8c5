package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// The bounds of what is read of an upstream's lists.
const (
	maxPages     = 100
	maxRows      = 10000
	maxListBytes = 32 << 20
	listTimeout  = 30 * time.Second
	listAgain    = time.Second      // between two looks for a name that is not there
	listAge      = 30 * time.Second // how old a list gets of which we would not be told that it changed
)

// catalog is what is known of an upstream's lists: rows by list and name.
type catalog struct {
	leg *leg

	mu    sync.Mutex // guards what follows
	lists map[string]*listing
	epoch int // raised whenever what is known may be out of date
}

// listing is what is known of one list.
type listing struct {
	busy chan struct{} // holds a token while somebody reads the list; made with room for one

	order []*row
	rows  map[string]*row // the same, by name
	stale map[string]*row // from before: what is there again unchanged need not be read anew
	whole bool            // order has all
	epoch int             // of the catalog, when what is known was asked for
	at    time.Time
	size  int
}

// listing returns what is known of a list; mu is held.
func (c *catalog) listing(of list) *listing {
	if c.lists == nil {
		c.lists = make(map[string]*listing)
	}
	l := c.lists[of.method]
	if l == nil {
		l = &listing{busy: make(chan struct{}, 1)}
		c.lists[of.method] = l
	}
	return l
}

// forget makes everything be read again before it is used.
func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, l := range c.lists {
		l.clear()
	}
}

// clear makes a list one of which nothing is known.
func (l *listing) clear() {
	if len(l.rows) > 0 {
		l.stale = l.rows
	}
	l.order, l.rows, l.whole, l.at, l.size = nil, nil, false, time.Time{}, 0
}

// add puts a row at the end, or the one in its place that is known and the same to the byte, so that what was made of it
// is made once. It returns the one that it put there.
func (l *listing) add(r *row) *row {
	if old := l.stale[r.name]; old != nil && bytes.Equal(old.raw, r.raw) && bytes.Equal(old.seen, r.seen) {
		r = old
	}
	if l.rows == nil {
		l.rows = make(map[string]*row)
	}
	l.rows[r.name] = r
	l.order = append(l.order, r)
	l.size += len(r.raw)
	return r
}

// full reports whether no more rows are kept.
func (l *listing) full() bool { return l.size > maxListBytes || len(l.order) >= maxRows }

// now is what epoch it is: what was asked for in an earlier one may be out of date.
func (c *catalog) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// find returns the row of that name, nil if the upstream has none. It asks the upstream where what is known does not
// say, but not again and again for a name that is not there.
func (c *catalog) find(ctx context.Context, of list, name string) (*row, error) {
	if r, sure := c.known(of, name); sure {
		return r, nil
	}
	if err := c.read(ctx, of, name); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listing(of).rows[name], nil
}

// known returns what is known of a name, and whether that is sure.
func (c *catalog) known(of list, name string) (r *row, sure bool) {
	told := c.leg.tellsOf(of)
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listing(of)
	age := time.Since(l.at)
	if l.epoch != c.epoch {
		return nil, false
	}
	if r := l.rows[name]; r != nil && (told || age < listAge) {
		return r, true
	}
	return nil, l.whole && age < listAgain
}

// all returns the rows of a list, in the upstream's order, as they are now.
func (c *catalog) all(ctx context.Context, of list) ([]*row, error) {
	if err := c.read(ctx, of, ""); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listing(of).order, nil
}

// recent is all, but for a list that was read just now.
func (c *catalog) recent(ctx context.Context, of list) ([]*row, error) {
	c.mu.Lock()
	l := c.listing(of)
	rows, recent := l.order, l.whole && l.epoch == c.epoch && time.Since(l.at) < listAgain
	c.mu.Unlock()
	if recent {
		return rows, nil
	}
	return c.all(ctx, of)
}

// kept returns the rows that are known at the moment.
func (c *catalog) kept(of list) []*row {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listing(of).order
}

// read reads a list from its first page to its last, one reader at a time. Where a name is given, and another reader has
// just found it, or that it is not there, that will do.
func (c *catalog) read(ctx context.Context, of list, name string) error {
	c.mu.Lock()
	l := c.listing(of)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if name != "" {
		if _, sure := c.known(of, name); sure {
			return nil
		}
	}
	epoch := c.now()
	rows, err := c.pages(ctx, of)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.clear()
	for _, r := range rows {
		l.add(r)
	}
	l.whole, l.at, l.epoch = true, time.Now(), epoch
	return nil
}

// pages asks for all pages of a list. A server that does not know the method has an empty one.
func (c *catalog) pages(ctx context.Context, of list) (rows []*row, err error) {
	size := 0
	seen := make(map[string]bool)
	var cursor canon.Value
	for range maxPages {
		out, err := readRequest(c.leg.ownRequest(of.method, cursor), c.leg.era)
		if err != nil {
			return nil, err
		}
		var in wire.Incoming
		if err := c.leg.call(ctx, nil, &out, &in); err != nil {
			return nil, err
		}
		if in.Error.Exists() {
			if code, _ := member(in.Error, "code").Int(); code == wire.CodeMethodNotFound && !cursor.Exists() {
				return nil, nil
			}
			return nil, fmt.Errorf("%s was answered with an error", of.method)
		}
		page, err := c.leg.readPage(of, in.Result)
		if err != nil {
			return nil, err
		}
		c.leg.asSeen(of, page)
		for _, r := range page {
			if r == nil || seen[r.name] {
				continue
			}
			seen[r.name] = true
			if size += len(r.raw); size > maxListBytes || len(rows) >= maxRows {
				c.leg.warnOnce("an upstream's list is too long: the rest is left out", "list", of.method)
				return rows, nil
			}
			rows = append(rows, r)
		}
		if cursor = member(in.Result, "nextCursor"); cursor.Kind() != canon.String {
			return rows, nil
		}
	}
	c.leg.warnOnce("an upstream's list has too many pages: the rest is left out", "list", of.method)
	return rows, nil
}

// take notes what a page says that a client asked for; first and last say which part of the list it is, and
// epoch when it was asked for. It returns the rows of the page, but for nil in the place of one whose name another page
// has given to another row.
func (c *catalog) take(of list, page []*row, first, last bool, epoch int) []*row {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listing(of)
	if first {
		l.clear()
		l.at, l.epoch = time.Now(), epoch
	}
	taken := make([]*row, len(page))
	for i, r := range page {
		switch {
		case r == nil:
		case l.rows[r.name] != nil && bytes.Equal(l.rows[r.name].raw, r.raw):
			taken[i] = l.rows[r.name]
		case l.rows[r.name] != nil:
		case l.full():
			taken[i] = r // shown, and looked for when it is called
		default:
			taken[i] = l.add(r)
		}
	}
	l.whole = first && last
	return taken
}

// readPage reads the rows of a result, nil standing for one that nobody may see. A name that is there twice counts once.
func (l *leg) readPage(of list, result canon.Value) ([]*row, error) {
	array, err := rowsOf(of, result)
	if err != nil {
		return nil, err
	}
	var rows []*row
	seen := make(map[string]bool)
	for element := range array.Elements() {
		r, err := readRow(of, element.Bytes())
		switch {
		case err != nil:
			l.warnOnce("a row of an upstream's list is not shown", "list", of.method, "reason", err)
		case seen[r.name]:
			l.warnOnce("a row of an upstream's list is not shown", "list", of.method, "name", cut(r.name), "reason", "the name is there twice")
			r = nil
		case of.prefixed() && !l.visit.server.single() && !plain(l.visit.server.exposed(l.up, r.name)):
			l.warnOnce("a row of an upstream's list is not shown", "list", of.method, "name", cut(r.name),
				"reason", "with the server's name before it, it is no name of up to 128 printable characters")
			r = nil
		default:
			seen[r.name] = true
			if of.member == toolList.member {
				r.asTool(l, l.visit.server.exposed(l.up, r.name))
			}
		}
		if err != nil {
			r = nil
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// prefixed reports whether the names of a list have the server's name before them where there are several.
func (of list) prefixed() bool { return of.key == "name" }

// rowsOf returns the array of rows in a result. One that could be read in two ways is refused.
func rowsOf(of list, result canon.Value) (array canon.Value, err error) {
	for name, value := range result.Members() {
		switch {
		case name != of.member && lookalike(name, of.member) != "" || name == of.member && array.Exists():
			return canon.Value{}, fmt.Errorf("the result has more than one member %s", of.member)
		case name == of.member:
			array = value
		}
	}
	if array.Kind() != canon.Array {
		return canon.Value{}, fmt.Errorf("the result has no array %s", of.member)
	}
	return array, nil
}

// ownID makes ids of requests of our own, which are like no client's.
var ownID = sync.OnceValue(func() string { return "sallyport-" + rand.Text()[:12] + "-" })

// ownIDText is an id for a request of our own.
func (s *Server) ownIDText() []byte {
	return canon.AppendString(nil, ownID()+strconv.FormatInt(s.requests.Add(1), 10))
}

// ownRequest spells a request of our own for one page of a list.
func (l *leg) ownRequest(method string, cursor canon.Value) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), l.visit.server.ownIDText()...)
	line = append(canon.AppendString(append(line, `,"method":`...), method), `,"params":{`...)
	if cursor.Exists() {
		line = append(append(line, `"cursor":`...), cursor.Bytes()...)
	}
	if l.era == wire.Modern {
		if cursor.Exists() {
			line = append(line, ',')
		}
		line = append(l.visit.server.appendMeta(append(line, `"_meta":`...)), '}', '}')
		return line
	}
	return append(line, "}}"...)
}

// appendMeta appends the _meta of a modern request of our own.
func (s *Server) appendMeta(dst []byte) []byte {
	return append(s.appendOwnMeta(append(dst, '{')), '}')
}

// appendOwnMeta appends the members of that.
func (s *Server) appendOwnMeta(dst []byte) []byte {
	dst = canon.AppendString(append(dst, `"`+wire.MetaProtocolVersion+`":`...), modernVersion)
	dst = append(dst, `,"`+wire.MetaClientCapabilities+`":{},"`+wire.MetaClientInfo+`":`...)
	return s.appendInfo(dst)
}

// modernVersion is the version of our own modern requests.
const modernVersion = "2026-07-28"
