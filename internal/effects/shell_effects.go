package effects

import "strings"

// effectKey is what makes an effect the same as another of the same text.
type effectKey struct {
	use  operand // what is done to a file; nothing for a run
	by   int
	what string
	from string
}

// fewEffects is how many effects a text may have before it pays to look for those that stand already.
const fewEffects = 200

// add adds an effect, unless it stands already, and returns its index.
func (s *shell) add(e Effect) int {
	if e.Kind == Run {
		if at, stands := s.stood(effectKey{what: runKey(&e, s)}); stands {
			return at
		}
	}
	s.effects = append(s.effects, e)
	return len(s.effects) - 1
}

// runKey is what tells a run apart; "" where nobody looks.
func runKey(e *Effect, s *shell) string {
	if len(s.effects) < fewEffects {
		return ""
	}
	if e.Opaque != "" {
		return "\x00" + e.Opaque
	}
	var b strings.Builder
	for _, w := range e.Command.Words {
		b.WriteString(w.Text)
		b.WriteByte(0)
		if w.Splits {
			b.WriteByte(1)
		}
	}
	b.WriteString(e.Command.Code)
	return b.String()
}

// stood returns where an effect stands that the text had before; if it had none, the next one is it.
func (s *shell) stood(key effectKey) (at int, stands bool) {
	if len(s.effects) < fewEffects {
		return 0, false
	}
	if at, stands = s.said[key]; stands {
		return at, true
	}
	if s.said == nil {
		s.said = map[effectKey]int{}
	}
	s.said[key] = len(s.effects)
	return 0, false
}
