package cond

// CompileNames reads an expression over the names given, of whose values nothing is known before. An error is an *Error.
//
// It is in the same language, but asks what is the case, and what cannot be told must not look like an answer. It cannot be
// evaluated where Compile's expressions go on:
//
//   - where a member is missing, unless "?." stands before its name, "??" behind it, or it is within has(…);
//   - where nil stands in a text operator or behind "in", and where the whole gives nil;
//   - where a calculation leaves the whole numbers or the finite ones, and where numbers cannot be compared;
//   - where a text is taken for a list of its bytes.
//
// Numbers are equal if they are worth the same, 1 and 1.0, whatever they stand in; values of different kinds are not equal.
// Its errors quote no values, but what is written in the expression.
//
// A value that is given to its Eval is made of nil, bool, string, what ParseNumber gives, []any and map[string]any. How much
// there may be of it is for the caller to bound; evaluating takes no more steps than any expression may take.
func CompileNames(source string, names []string) (*Expr, error) {
	e, err := compile(&checker{source: source, strict: true, known: names})
	if err != nil {
		return nil, err
	}
	c := collector{looks: map[string]*Look{}, items: map[int]*Look{}}
	c.collect(e.root)
	e.looks = c.looks
	return e, nil
}

// Look is what an expression looks at of a value, so that the rest need not be converted for it.
type Look struct {
	All     bool             // all of it
	Members map[string]*Look // of an object
	Items   *Look            // of each element of a list
}

// Look returns what an expression of CompileNames looks at of what a name stands for, nil if it does not look at it. A value that
// has another shape than the Look has is converted as it is: what is left out is only what nothing can depend upon. It must not
// be changed.
func (e *Expr) Look(name string) *Look { return e.looks[name] }

func (l *Look) member(name string) *Look {
	if l.Members == nil {
		l.Members = map[string]*Look{}
	}
	if l.Members[name] == nil {
		l.Members[name] = &Look{}
	}
	return l.Members[name]
}

func (l *Look) item() *Look {
	if l.Items == nil {
		l.Items = &Look{}
	}
	return l.Items
}

// collector finds what an expression looks at.
type collector struct {
	looks map[string]*Look
	items map[int]*Look // by the slots of the variables that stand for items
}

func (c *collector) collect(n *node) {
	if l := c.place(n); l != nil {
		l.All = true
		return
	}
	if n.kind == macroNode && n.text != "filter" { // whose items go on to somewhere else
		if l := c.place(n.a); l != nil {
			c.items[n.slot] = l.item()
			c.collect(n.b)
			return
		}
	}
	for _, part := range [...]*node{n.a, n.b, n.c} {
		if part != nil {
			c.collect(part)
		}
	}
	for _, part := range n.list {
		c.collect(part)
	}
}

// place returns where a node stands that is nothing but a name and members, such as a.b["c"]; else nil.
func (c *collector) place(n *node) *Look {
	switch n.kind {
	case nameNode:
		if n.slot > 0 {
			return c.items[n.slot]
		}
		if c.looks[n.text] == nil {
			c.looks[n.text] = &Look{}
		}
		return c.looks[n.text]
	case chainNode:
		return c.place(n.a)
	case memberNode:
		if member, named := n.b.literalText(); named {
			if l := c.place(n.a); l != nil {
				return l.member(member)
			}
		}
	}
	return nil
}
