package policy

import (
	"cmp"
	"time"

	"sallyport/internal/postcondition"
)

// Verification is a rule's "verify": by which other call it is found out whether a call did what it claims. It is immutable.
type Verification struct {
	Rule string // the rule's id

	// Content says that the file a hook's call wrote must hold what the call claims ("verify: content"). Nothing else is set
	// then. It is for hooks only: the gate itself refuses calls under it.
	Content bool

	Tool   string                   // that observes, by its exposed name
	Args   *postcondition.Template  // its arguments, from VerifyObserveNames
	Expect *postcondition.Condition // over VerifyNames
	For    time.Duration            // how long to look again while it does not hold; 0: once
}

// The names in a verification's templates, and in its condition: call is {tool, arguments}, args is call.arguments, result is
// what the call itself came to (postcondition.Observed), principal is {name, tenant}.
var (
	VerifyObserveNames = []string{"args", "call", "principal", "result"}
	VerifyNames        = []string{"args", "call", "observation", "principal", "result"}
)

// String says in a few words how it is verified.
func (v *Verification) String() string {
	if v.Content {
		return "the content of the file that it writes"
	}
	return "a call of " + quoted(v.Tool)
}

// under returns the verification under the name that its rule has among all files.
func (v *Verification) under(name string) *Verification {
	if v.Rule == name {
		return v
	}
	named := *v
	named.Rule = name
	return &named
}

// gather adds what another rule says, where it is asked what rules together could say.
func (t *Terms) gather(other Terms) {
	t.ReadOnly = t.ReadOnly || other.ReadOnly
	t.Key = cmp.Or(t.Key, other.Key)
	t.Verify = append(t.Verify, other.Verify...)
}

// verifies reports whether the gate itself verifies a call with these terms.
func (t *Terms) verifies() bool {
	for _, v := range t.Verify {
		if !v.Content {
			return true
		}
	}
	return false
}
