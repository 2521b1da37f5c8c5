package effects

import "sync"

// invocation is what a command's own words say that it does, before anybody looks at where it stands.
type invocation struct {
	// started are the commands that it starts in its turn, program first: of "sudo -u x rm y" the words of rm y.
	started []start

	// shell are texts for a shell that it runs: of "bash -c TEXT" or "eval TEXT" that text.
	shell []Word

	// code is text in another language that it runs: python -c, an awk program.
	code []Word

	// scripts are the files among its words whose text it runs.
	scripts []Word

	// passed are the arguments of the code that it reads from its standard input.
	passed []Word

	// operands are the files that its words name, and how it uses them.
	operands []operand

	// hosts are those that it reaches, lower case.
	hosts []string

	// stdin says what the command does with its standard input.
	stdin stdinUse

	// dir is not nil where the command changes the folder in which what it starts, or reads, stands (cd DIR, git -C DIR,
	// env -C DIR, make -C DIR). Moves says that it is the shell itself that moves (cd, pushd).
	dir   *Word
	moves bool

	// opaque is why the words cannot be read; "" where they can.
	opaque string
}

// start is a command that another one starts.
type start struct {
	words []Word
	stdin bool // words that come from standard input or from files found are added behind them (xargs)
}

// operand is a file that a command's words name.
type operand struct {
	word  Word
	read  bool
	write bool
	deep  bool // everything below it is moved or deleted too
	bare  bool // the word is a file only if there is one: of an unknown program it may be a name or subcommand
	tree  bool // a folder that a container is given
}

// stdinUse is what a command does with its standard input.
type stdinUse uint8

const (
	stdinData  stdinUse = iota // it is data, or nothing
	stdinShell                 // it is shell code: bash, sh -s
	stdinCode                  // it is code in another language: python3 -
	stdinWords                 // its words become arguments: xargs
	stdinQuery                 // it is a query for a database
	stdinPatch                 // it is a patch
	stdinNames                 // its lines name files that are read: cpio -o
)

// call is a command whose words are being judged.
type call struct {
	invocation
	reading
	program  string // by the name under which the tables know it
	operands []Word // those that are no subcommands
	places   []int  // the indices of the operands' words
	shape    string // of the operands
	also     string // uses that each operand has besides
	replaced bool   // the first operand has been given by an option
	known    bool   // the tables know the program
}

// room is where a call is read. Nothing of it is in the invocation that comes of it.
type room struct {
	call    call
	tokens  [12]token
	operand [12]Word
	place   [12]int
}

var rooms = sync.Pool{New: func() any { return new(room) }}

func (r *room) leave() {
	*r = room{}
	rooms.Put(r)
}

// invoke reads the words of a command, program first, by what is known of the common programs. It never returns paths
// of an unknown program as anything but reads; a URL among its words is a host that it reaches.
func invoke(words []Word) invocation {
	if len(words) == 0 {
		return invocation{}
	}
	here := rooms.Get().(*room)
	defer here.leave()
	c := &here.call
	c.program = tableName(programOf(words[0].Text))
	p, known := programNamed(c.program)
	if !known {
		p = program{operands: "a*"}
	}
	c.known = known
	c.reading = read(p, words, here.tokens[:0])
	c.stdin = c.inner.stdin
	c.shape = c.inner.operands
	c.operands, c.places = here.operand[:0], here.place[:0]
	for i := range c.tokens {
		switch t := &c.tokens[i]; t.kind {
		case optionToken:
			c.option(t)
		case operandToken:
			if t.behind && c.inner.style&dashed != 0 {
				continue
			}
			c.operands, c.places = append(c.operands, t.value), append(c.places, t.at)
		}
	}
	if c.inner.style&dashed != 0 && c.dashes > 0 && c.dashes+1 < len(words) {
		c.start(c.dashes + 1)
	}
	if c.inner.more != nil {
		c.inner.more(c)
	}
	c.judgeOperands()
	return c.invocation
}
