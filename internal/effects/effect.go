package effects

// Kind is what an effect does to the world.
type Kind uint8

// The kinds.
const (
	Run     Kind = iota // a program is run
	Read                // a file, or what is in a folder, is read
	Write               // a file or folder is made, changed, moved or deleted
	Connect             // a host is reached
	Spawn               // another agent is started
)

// String returns the key under which a policy speaks of the kind.
func (k Kind) String() string {
	return [...]string{"runs", "reads", "writes", "connects", "spawns"}[k]
}

// Effect is one thing that a call would do.
type Effect struct {
	Kind Kind

	// By is the index, among the effects of the call, of the run through whose own arguments this happens: of "cat x" the
	// reading of x. It is -1 for what stands for itself: redirections, and whatever is no part of a command's words.
	By int

	// Opaque says, in a phrase for people, why this effect cannot be read; "" where it can. An effect that is opaque could
	// be any of its kind. A text that cannot be read at all is an opaque effect of each kind.
	Opaque string

	Command *Command // of a Run that is not opaque
	Path    Path     // of a Read or Write
	Deep    bool     // of a Write: everything below Path is moved or deleted too
	Host    string   // of a Connect: lower case, ":port" behind it where one is written
	Agent   string   // of a Spawn: the kind of agent asked for, "" if none is
}

// Match is how surely a pattern speaks of something.
type Match uint8

// The matches.
const (
	No    Match = iota
	Maybe       // a part that is only known when the call runs could make it so
	Yes
)

// Declaration says which top-level arguments of a tool name what it reads, writes, runs and connects to, in place of
// what their names suggest. An empty one, not nil, says that the tool has no effects that its arguments name.
type Declaration struct {
	Reads, Writes, Runs, Connects []string
}
