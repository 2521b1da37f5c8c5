package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"sallyport/internal/canon"
)

// draft is a version of the language.
type draft int

const (
	draft04 draft = iota
	draft06
	draft07
	draft2019
	draft2020
)

// draftOf knows a draft by its $schema.
func draftOf(uri string) (draft, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(uri, "#"), "https:"), "http:")
	for d, known := range []string{
		"//json-schema.org/draft-04/schema", "//json-schema.org/draft-06/schema", "//json-schema.org/draft-07/schema",
		"//json-schema.org/draft/2019-09/schema", "//json-schema.org/draft/2020-12/schema",
	} {
		if name == known {
			return draft(d), true
		}
	}
	return 0, false
}

// place is where in the schema the compiler is.
type place struct {
	pointer  string // from the whole schema's root
	depth    int
	draft    draft
	base     *url.URL
	resource *resource
}

// below returns the place of a schema within the one at p.
func (p place) below(words ...string) place {
	for _, word := range words {
		p.pointer += "/" + strings.ReplaceAll(strings.ReplaceAll(word, "~", "~0"), "/", "~1")
	}
	p.depth++
	return p
}

// errorf is an error with the place.
func (p place) errorf(format string, args ...any) error {
	where := "the schema"
	if p.pointer != "" {
		where += " at " + short(p.pointer, 200)
	}
	return fmt.Errorf("%s: "+format, append([]any{where}, args...)...)
}

// compiler makes nodes of a schema. It makes those of all places where the language has schemas, then joins the
// references to them.
type compiler struct {
	doc       canon.Value
	schemas   int
	elsewhere int              // of them, those at places that are none for schemas
	programs  int              // instructions of patterns
	at        map[string]*node // by pointer from the root
	named     map[string]*node // by absolute URI, with an anchor as its fragment
	resources map[string]string
	refs      []reference
	notes     []string
}

// reference is a $ref that is not joined yet.
type reference struct {
	from    *node
	place   place
	to      string
	dynamic bool
}

func newCompiler(doc canon.Value) *compiler {
	return &compiler{doc: doc, at: map[string]*node{}, named: map[string]*node{}, resources: map[string]string{}}
}

func (c *compiler) compile() (*node, error) {
	top := place{draft: draft2020, base: &url.URL{}}
	root, err := c.schema(c.doc, top)
	if err != nil {
		return nil, err
	}
	if err := c.join(); err != nil {
		return nil, err
	}
	if err := c.refuseLoops(); err != nil {
		return nil, err
	}
	return root, nil
}

// schema compiles the schema at p, with those within it.
func (c *compiler) schema(v canon.Value, p place) (*node, error) {
	if c.schemas++; c.schemas > MaxSchemas || p.depth > MaxDepth {
		return nil, p.errorf("%w: %d schemas, %d within each other", errTooMuch, MaxSchemas, MaxDepth)
	}
	n := &node{}
	c.at[p.pointer] = n
	if p.resource == nil {
		p.resource = &resource{root: n}
		c.named[""], c.resources[""] = n, ""
	}
	switch v.Kind() {
	case canon.Bool:
		allows, _ := v.Bool()
		n.never, n.resource = !allows, p.resource
		return n, nil
	case canon.Object:
	default:
		return nil, p.errorf("must be an object or a boolean, not %v", v.Kind())
	}
	m := membersOf(v)
	p, err := c.identify(n, m, p)
	if err != nil {
		return nil, err
	}
	n.resource = p.resource
	n.containsCounts = p.draft >= draft2020
	r := reader{compiler: c, node: n, place: p, members: m, onlyRef: p.draft <= draft07 && m.get("$ref").Exists()}
	for _, member := range m {
		if err := r.keyword(member.key, member.value); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// members are those of an object, which is read once for them.
type members []struct {
	key   string
	value canon.Value
}

func membersOf(v canon.Value) members {
	var all members
	for key, value := range v.Members() {
		all = append(all, struct {
			key   string
			value canon.Value
		}{key, value})
	}
	return all
}

func (m members) get(key string) canon.Value {
	for _, member := range m {
		if member.key == key {
			return member.value
		}
	}
	return canon.Value{}
}

// identify reads what says who a schema is: $schema, $id and the anchors.
func (c *compiler) identify(n *node, m members, p place) (place, error) {
	text := func(key string) string {
		text, _ := m.get(key).Text()
		return text
	}
	idKey := "$id"
	if schema := m.get("$schema"); schema.Exists() {
		uri, _ := schema.Text()
		d, ok := draftOf(uri)
		if !ok {
			return p, p.errorf("$schema is none that is known: JSON Schema 2020-12, 2019-09, draft-07, draft-06 and draft-04 are")
		}
		p.draft = d
	}
	if p.draft == draft04 {
		idKey = "id"
	}
	id := text(idKey)
	if p.draft <= draft07 && m.get("$ref").Exists() { // beside which nothing counts
		return p, nil
	}
	if anchor, ok := strings.CutPrefix(id, "#"); ok {
		if p.draft <= draft07 && anchor != "" {
			return p, c.name(n, p, anchor)
		}
		id = ""
	}
	if id != "" {
		relative, err := url.Parse(id)
		if err != nil || relative.Fragment != "" {
			return p, p.errorf("%s is no URI without a fragment", idKey)
		}
		p.base = p.base.ResolveReference(relative)
		p.resource = &resource{root: n}
		name := p.base.String()
		if _, taken := c.named[name]; taken && name != "" {
			return p, p.errorf("another schema has the same %s", idKey)
		}
		c.named[name], c.resources[name] = n, p.pointer
	}
	return p, c.anchors(n, m, p)
}

func (c *compiler) anchors(n *node, m members, p place) error {
	if recursive, _ := m.get("$recursiveAnchor").Bool(); recursive && p.draft == draft2019 && p.resource.root == n {
		p.resource.dynamic = map[string]*node{"": n}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		anchor, ok := m.get(key).Text()
		if !ok || p.draft < draft2019 || key == "$dynamicAnchor" && p.draft < draft2020 {
			continue
		}
		if err := c.name(n, p, anchor); err != nil {
			return err
		}
		if key == "$dynamicAnchor" {
			if p.resource.dynamic == nil {
				p.resource.dynamic = map[string]*node{}
			}
			p.resource.dynamic[anchor] = n
		}
	}
	return nil
}

// name gives a schema an anchor.
func (c *compiler) name(n *node, p place, anchor string) error {
	name := withFragment(p.base, anchor)
	if other, taken := c.named[name]; taken && other != n {
		return p.errorf("another schema has the same anchor")
	}
	c.named[name] = n
	return nil
}

func withFragment(base *url.URL, fragment string) string {
	u := *base
	u.Fragment, u.RawFragment = "", ""
	return u.String() + "#" + fragment
}

// join resolves the references.
func (c *compiler) join() error {
	for i := 0; i < len(c.refs); i++ { // resolving one may find others
		r := c.refs[i]
		relative, err := url.Parse(r.to)
		if err != nil {
			return r.place.errorf("a reference that is no URI")
		}
		target := r.place.base.ResolveReference(relative)
		n, err := c.find(target, r)
		if err != nil {
			return err
		}
		r.from.ref = n
		if r.dynamic && n.resource.dynamic[target.Fragment] == n {
			r.from.dynamic = target.Fragment
		}
	}
	return nil
}

func (c *compiler) find(target *url.URL, r reference) (*node, error) {
	whole := *target
	whole.Fragment, whole.RawFragment = "", ""
	root, ok := c.resources[whole.String()]
	if !ok {
		return nil, r.place.errorf("a reference to a schema elsewhere: nothing is fetched")
	}
	fragment := target.Fragment
	if fragment == "" {
		return c.named[whole.String()], nil
	}
	if !strings.HasPrefix(fragment, "/") {
		if n, ok := c.named[withFragment(target, fragment)]; ok {
			return n, nil
		}
		return nil, r.place.errorf("a reference to nothing")
	}
	if n, ok := c.at[root+fragment]; ok {
		return n, nil
	}
	return c.compileAt(root+fragment, r)
}

// compileAt compiles a schema at a place where the language has none, since there is a reference to it.
func (c *compiler) compileAt(pointer string, r reference) (*node, error) {
	const most = 100 // each is looked for from the root
	if c.elsewhere++; c.elsewhere > most {
		return nil, r.place.errorf("%w: %d references to places that are no schemas", errTooMuch, most)
	}
	v := c.doc
	for word := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		word = strings.ReplaceAll(strings.ReplaceAll(word, "~1", "/"), "~0", "~")
		switch v.Kind() {
		case canon.Object:
			v = v.Get(word)
		case canon.Array:
			v = elementAt(v, word)
		default:
			v = canon.Value{}
		}
	}
	if !v.Exists() {
		return nil, r.place.errorf("a reference to nothing")
	}
	p := r.place
	p.pointer, p.depth = pointer, 0
	return c.schema(v, p)
}

func elementAt(v canon.Value, index string) canon.Value {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 {
		return canon.Value{}
	}
	for element := range v.Elements() {
		if i == 0 {
			return element
		}
		i--
	}
	return canon.Value{}
}

// refuseLoops refuses schemas that lead back to themselves without having looked into the value.
func (c *compiler) refuseLoops() error {
	const (
		walking = 1
		done    = 2
	)
	state := map[*node]int{}
	var walk func(n *node) bool
	walk = func(n *node) bool {
		if state[n] != 0 {
			return state[n] == done
		}
		state[n] = walking
		for _, next := range n.inPlace() {
			if !walk(next) {
				return false
			}
		}
		state[n] = done
		return true
	}
	for _, n := range c.at {
		if !walk(n) {
			return errors.New("the schema refers to itself without an end")
		}
	}
	return nil
}

// inPlace returns the schemas that a value must be held against together with n.
func (n *node) inPlace() []*node {
	var all []*node
	for _, next := range []*node{n.ref, n.not, n.when, n.yes, n.no} {
		if next != nil {
			all = append(all, next)
		}
	}
	for _, list := range [][]*node{n.all, n.any, n.one} {
		all = append(all, list...)
	}
	for _, d := range n.dependent {
		all = append(all, d.node)
	}
	return all
}
