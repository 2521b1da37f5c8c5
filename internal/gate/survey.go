package gate

import (
	"cmp"
	"slices"

	"sallyport/internal/interlock"
)

// Unverified is a call that ended, with its process or otherwise, before what it left was looked at. The next change in its
// scope looks first, by itself. The arguments are not in it.
type Unverified struct {
	interlock.Scope
	Tool    string   // that was called
	Attempt string   // of the call, as in its records
	Rules   []string // the ids of the rules by which it is to be verified, one at least

	// Unreadable says that what was left, or its rules, cannot be read: then only Scope is given, and the next change there is denied
	// and makes a stop of it.
	Unreadable bool
}

// Survey returns what holds calls back in a ledger's folder, or has them look first: the stops, as List gives them, and the calls
// that are still to be verified, one in a scope at most, by principal and server. What a living process is at is in neither. It
// takes no lane and writes nothing, so that it disturbs no gate on the same folder. The error is that of listing the latches.
func Survey(s *interlock.Stops) (stops []interlock.Stop, unverified []Unverified, err error) {
	stops, err = s.Survey(func(scope interlock.Scope, left []byte) {
		unverified = append(unverified, unverifiedOf(scope, left))
	})
	slices.SortFunc(unverified, func(a, b Unverified) int {
		return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Server, b.Server))
	})
	return stops, unverified, err
}

// unverifiedOf reads what a call left as the next one in the scope will.
func unverifiedOf(scope interlock.Scope, left []byte) Unverified {
	r, err := readLeft(left)
	if err != nil || r.unclear != nil {
		return Unverified{Scope: scope, Unreadable: true} // what the error says may have arguments in it
	}
	u := Unverified{Scope: scope, Tool: r.tool, Attempt: r.attempt}
	for _, rule := range r.verify {
		u.Rules = append(u.Rules, rule.Rule)
	}
	return u
}
