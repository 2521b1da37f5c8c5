// Package postcondition says what must be true after a call, and finds out whether it is.
//
// A [Template] makes the arguments of the call that looks; [Observed] makes of its result what conditions can speak of; a
// [Condition] compares. Both faces of execute, verify, stop stand on it: rules of a policy with "verify", and steps of a
// plan. It runs nothing itself.
package postcondition

import "sallyport/internal/canon"

// Values are what the names in templates and conditions stand for, such as "args", "call", "result" and "observation".
// A name that is absent, or whose value is, stands for nothing: a template that needs it is an error, in a condition it is nil.
// The values are such as canon.Parse gives, which can be read in one way only.
type Values map[string]canon.Value

// Fault is what is wrong with a template as it was written.
type Fault struct {
	At   canon.Value // the value that is wrong, so that its place can be told
	Msg  string
	Hint string // "" if there is none
}

func (f *Fault) Error() string { return f.Msg }
