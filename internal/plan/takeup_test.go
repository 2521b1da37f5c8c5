package plan

import (
	"testing"

	"sallyport/internal/gate"
)

// TestWhatIsLeftIsTakenUp: a process died with a call of which it is not known whether it was made. Another one has looked.
func TestWhatIsLeftIsTakenUp(t *testing.T) {
	type verdictOf struct {
		move    move
		verdict string
	}
	again, goesOn, stops, asks := verdictOf{move: intend}, verdictOf{decide, Continue}, verdictOf{decide, Stop}, verdictOf{move: prepare}
	known := &fact{what: prepared, key: "k"}
	for _, test := range []struct {
		name     string
		progress progress
		key      string
		seen     sight
		prepared *fact
		want     verdictOf
	}{
		{"there, and the gate can say what it came to", intended, "k", holds, nil, asks},
		{"there, and the gate knows it", intended, "k", holds, known, again},
		{"there, and the gate knows it no more", intended, "k", holds, &fact{what: prepared}, goesOn},
		{"there, and the gate would know another", intended, "k", holds, &fact{what: prepared, key: "l"}, goesOn},
		{"there, and the call would be denied", intended, "k", holds, &fact{what: prepared, key: "k", reason: "no"}, goesOn},
		{"there, and nothing names it", intended, "", holds, nil, asks},
		{"there, nothing names it, and nothing is stopped", intended, "", holds, &fact{what: prepared}, goesOn},
		{"there, and the gate called it inconclusive", lost, "k", holds, nil, asks},
		{"there, the gate called it inconclusive, and nothing is stopped", lost, "k", holds, known, goesOn},
		{"there, and the gate holds back changes", intended, "", holds, &fact{what: prepared, stopped: "look"}, stops},
		{"there, the gate knows it and holds back changes", intended, "k", holds, &fact{what: prepared, key: "k", stopped: "look"}, stops},
		{"there and answered, and the gate holds back changes", answered, "k", holds, &fact{what: prepared, key: "k", stopped: "look"}, stops},
		{"there and answered, and nothing is stopped", answered, "k", holds, known, goesOn},
		{"not there, and the gate knows it", intended, "k", differs, known, again},
		{"not there, and it is harmless", intended, "", differs, &fact{what: prepared, repeats: true}, again},
		{"not there, and nothing names it", intended, "", differs, &fact{what: prepared}, stops},
		{"not to be seen yet, and the gate knows it", intended, "k", unclear, known, again},
		{"not to be seen, and it is harmless", intended, "", unclear, &fact{what: prepared, repeats: true}, again},
		{"not to be seen, and nothing names it", intended, "", unclear, &fact{what: prepared}, stops},
		{"not to be seen, and the gate knows another", intended, "k", unclear, &fact{what: prepared, key: "l"}, stops},
	} {
		p := &shape{steps: []outline{{undo: true}}}
		s := newState(p)
		s.surveyed = true
		s.steps[0].call = attempt{progress: test.progress, left: true, key: test.key}
		s.seen = &fact{what: seen, sight: test.seen, reason: "it cannot be told"}
		s.prepared = test.prepared
		if a := p.next(s); (verdictOf{a.move, a.verdict}) != test.want {
			t.Errorf("%s: %d %q (%s), want %d %q", test.name, a.move, a.verdict, a.reason, test.want.move, test.want.verdict)
		}
	}
}

// TestTheLedgerQuotesNoArguments: the words of a policy may, and stay with the report and the journal.
func TestTheLedgerQuotesNoArguments(t *testing.T) {
	for reason, want := range map[string]string{
		refusal(gate.Preview{Rule: "r", Reason: `changing "/secret"`}):                                                                      `rule "r" denies the call`,
		"what was expected does not hold; step \"b\" cannot be undone: of its undo, " + refusal(gate.Preview{Rule: "r", Reason: "/secret"}): `what was expected does not hold; step "b" cannot be undone: of its undo, rule "r" denies the call`,
		"what was expected does not hold": "what was expected does not hold",
	} {
		if got := recordable(reason); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
	_, denied := classifyError(&gate.DeniedError{Rule: "r", Reason: "/secret"})
	if got := recordable(denied); got != `rule "r" denied the call` {
		t.Errorf("%s: %s", denied, got)
	}
}

// TestASecondCallThatIsLostIsLookedAt: the gate does not know what came of the first, and says so again. What was expected
// decides, and no third call is made.
func TestASecondCallThatIsLostIsLookedAt(t *testing.T) {
	for as, want := range map[sight]string{holds: Continue, differs: Stop, unclear: Stop} {
		p := &shape{steps: []outline{{undo: true}}}
		s := newState(p)
		s.surveyed = true
		s.steps[0].call = attempt{progress: lost, key: "k", doubt: true}
		if a := p.next(s); a.move != look {
			t.Fatalf("move %d, want a look", a.move)
		}
		s.seen = &fact{what: seen, sight: as, reason: "it cannot be told"}
		if a := p.next(s); as == holds && a.move != prepare {
			t.Errorf("move %d, want the gate to be asked whether it holds back changes", a.move)
		}
		s.prepared = &fact{what: prepared, key: "k"}
		if a := p.next(s); a.move != decide || a.verdict != want {
			t.Errorf("seen %d: %d %q, want %q", as, a.move, a.verdict, want)
		}
	}
}
