package policy

import "sallyport/internal/effects"

// Level is where a policy file stands.
type Level int

// The levels.
const (
	BuiltIn Level = iota // what no policy can lift
	Starter              // the pack that comes with the program
	Project              // the repository's own file: its allow rules count only if it is trusted
	User                 //
	Managed              // the machine's
	Named                // the one named with --policy, instead of starter, project and user
)

// Layer is a policy and where it stands.
type Layer struct {
	Policy  *Policy
	Level   Level
	Trusted bool // of a Project: its allow rules, its default and its starter setting count
}

// Own is what belongs to the gate itself: no call of a hooked tool may write there, nor run an operator's command.
type Own struct {
	Files   []string // absolute paths
	Folders []string // absolute paths; everything below them too
}

// StarterOff reports whether the file says "starter: off".
func (p *Policy) StarterOff() bool {
	v, ok := p.version2()
	return ok && v.starter == "off"
}

// BestEffort reports whether calls may go on where the ledger cannot be written.
func (p *Policy) BestEffort() bool {
	v, ok := p.version2()
	return ok && v.ledger.kept == "best_effort"
}

// OperatorToken returns the SHA-256, in lower-case hex, of the token that stands in for a person at the terminal, or "".
// It counts in the machine's own file only, which no agent can write.
func (p *Policy) OperatorToken() string {
	if v, ok := p.version2(); ok {
		return v.token
	}
	return ""
}

func (p *Policy) version2() (*version2, bool) {
	if p == nil {
		return nil, false
	}
	v, ok := p.rules.(*version2)
	return v, ok
}

// Declares returns what the policy says of a tool's arguments, or nil. Where several declarations speak of it, they add up.
func (p *Policy) Declares(tool string) *effects.Declaration {
	v, ok := p.version2()
	if !ok {
		return nil
	}
	var sum *effects.Declaration
	for i := range v.declared {
		d := &v.declared[i]
		if !d.tool.match(tool) {
			continue
		}
		if sum == nil {
			sum = &effects.Declaration{}
		}
		sum.Reads = append(sum.Reads, d.Reads...)
		sum.Writes = append(sum.Writes, d.Writes...)
		sum.Runs = append(sum.Runs, d.Runs...)
		sum.Connects = append(sum.Connects, d.Connects...)
	}
	return sum
}
