// Package output holds what a policy may ask to be done to an upstream's results before they reach the caller: a maximum
// size, control and bidirectional characters and ANSI escapes marked or removed, secrets masked. Without a rule a result
// is not touched.
//
// [Rule.Apply] does it. It looks at the strings of the result, and leaves all that it does not find as it came, byte by
// byte. What a secret looks like is the business of others: the rules are those of gitleaks (folder rules), and what they
// do not know is not masked.
package output

import (
	"errors"
	"fmt"

	"sallyport/internal/canon"
)

// Treatment is what is done to characters that a rule speaks of.
type Treatment int

const (
	Keep   Treatment = iota // nothing
	Mark                    // each is replaced by a visible name, such as ⟦U+202E⟧, and an ANSI escape by ⟦ANSI⟧
	Remove                  // each is taken out
)

// Rule is what a policy asks of results. The zero Rule asks for nothing.
type Rule struct {
	MaxBytes int       // of the result as it came, and as it goes to the client; 0: no limit
	Control  Treatment // C0 and C1 control characters but tab, line feed and carriage return; ANSI escapes as a whole; bidirectional and invisible format characters
	Secrets  bool      // masked
}

// Stricter returns what asks for all that either rule asks for.
func (r Rule) Stricter(other Rule) Rule {
	if r.MaxBytes == 0 || other.MaxBytes != 0 && other.MaxBytes < r.MaxBytes {
		r.MaxBytes = other.MaxBytes
	}
	r.Control = max(r.Control, other.Control)
	r.Secrets = r.Secrets || other.Secrets
	return r
}

// Apply returns result, the JSON value of a result or error of an upstream's, as the rule wants it; the very same bytes
// where the rule asks for nothing or finds nothing. Text within JSON strings, keys too, is what is looked at; all other
// bytes stay. The error says that the result may not pass at all, in words for the caller.
func (r Rule) Apply(result []byte) ([]byte, error) {
	if err := r.fits(result); err != nil {
		return nil, err
	}
	if r.Control == Keep && !r.Secrets {
		return result, nil
	}
	if _, err := canon.Skim(result); err != nil {
		return nil, errors.New("the result cannot be searched as the policy asks, since it is no JSON")
	}
	out := result
	if r.Control != Keep { // first: a secret may be hidden by what is taken out
		out = rewrite(out, controlEdits(r.Control))
		if len(out) > 4*len(result)+(64<<10) {
			return nil, errors.New("the result has too many control characters to mark them")
		}
	}
	if r.Secrets {
		var err error
		if out, err = maskSecrets(out, effortFor(len(out))); err != nil {
			return nil, err
		}
	}
	return out, r.fits(out)
}

// fits says why a result is too large, or nothing.
func (r Rule) fits(result []byte) error {
	if r.MaxBytes > 0 && len(result) > r.MaxBytes {
		return fmt.Errorf("the result is larger than the policy allows: %d bytes, and %d may pass", len(result), r.MaxBytes)
	}
	return nil
}
