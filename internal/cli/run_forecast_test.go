package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"sallyport/internal/gate"
	"sallyport/internal/plan"
	"sallyport/internal/policy"
)

// gaps are between the columns of a table.
var gaps = regexp.MustCompile(` {2,}`)

// TestForecastForAPerson: names of tools, and what a policy says, may be anybody's text.
func TestForecastForAPerson(t *testing.T) {
	const raw, shown = "a\x1b[2J\u202e\nb", `a\x1b[2J\u202e\nb`
	allowed := gate.Preview{Decision: policy.Allow, Key: "k"}
	looks := gate.Preview{Decision: policy.Allow, ReadOnly: true}
	denied := gate.Preview{Rule: raw, Reason: raw}
	verified := gate.Preview{Decision: policy.Allow, Key: "k", Verified: true}
	for _, c := range []struct {
		name  string
		f     plan.Forecast
		row   string
		notes []string
	}{
		{"read only", plan.Forecast{Call: looks}, "s  t: allow  by the call  needs none  -  ", nil},
		{"hostile names", plan.Forecast{Tool: raw, Call: allowed, Observes: raw, Observe: looks, HasUndo: true, Undoes: raw, Undo: allowed},
			"s  " + shown + ": allow  " + shown + ": allow  " + shown + ": allow  never  ", nil},
		{"a hostile refusal", plan.Forecast{Call: denied, Refusal: raw}, "s  t: deny  by the call  none  -  " + shown, nil},
		{"a hostile policy", plan.Forecast{Call: denied}, "s  t: deny  by the call  none  -  " + shown + " (rule " + shown + ")", nil},
		{"the undo is denied", plan.Forecast{Call: allowed, HasUndo: true, Undoes: "u", Undo: denied, Proven: time.Unix(0, 0)},
			"s  t: allow  by the call  u: deny  too long ago  undo: " + shown + " (rule " + shown + ")", nil},
		{"somebody is asked about the undo", plan.Forecast{Call: allowed, HasUndo: true, Undoes: "u", Undo: gate.Preview{Decision: policy.Ask, Rule: "r", Reason: "why"}, Proven: time.Unix(0, 0), Fresh: true},
			"s  t: allow  by the call  u: ask  1970-01-01T00:00:00Z  undo: why (rule r)", nil},
		{"each later", plan.Forecast{Call: denied, Unknown: true, Observes: "o", Observe: denied, ObserveLater: true, HasUndo: true, Undoes: "u", Undo: denied, UndoLater: true},
			"s  t: later  o: later  u: later  never  its arguments come from earlier steps: only the tool was judged", []string{"its arguments come"}},
		{"no key", plan.Forecast{Call: gate.Preview{Decision: policy.Allow}}, "s  t: allow  by the call  none  -  cut off, it cannot be resumed: ", []string{"cut off, it cannot be resumed"}},
		{"the call is verified", plan.Forecast{Call: verified, HasUndo: true, Undoes: "u", Undo: allowed},
			"s  t: allow  by the call  u: allow  never  the policy verifies the call (verify): ", []string{"the policy verifies the call"}},
		{"all of it", plan.Forecast{Call: gate.Preview{Decision: policy.Allow, Verified: true}, HasUndo: true, Undoes: "u", Undo: verified, Refusal: "no"},
			"s  t: allow  by the call  u: allow  never  no; the policy verifies the call ", []string{"the policy verifies the call", "the policy verifies its undo", "cut off, it cannot be resumed"}},
	} {
		c.f.Step = "s"
		if c.f.Tool == "" {
			c.f.Tool = "t"
		}
		var b bytes.Buffer
		if err := writeForecast(&b, []plan.Forecast{c.f}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		row, want := gaps.ReplaceAllString(lines[1], "  "), gaps.ReplaceAllString(c.row, "  ")
		if len(lines) != 3 || !strings.HasPrefix(row, want) {
			t.Errorf("%s: got %q, want it to begin with %q", c.name, row, want)
		}
		notes := forecastNotes(c.f)
		if len(notes) != len(c.notes) {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.notes)
			continue
		}
		for i := range notes {
			if !strings.HasPrefix(notes[i], c.notes[i]) {
				t.Errorf("%s: notes %q, want %q", c.name, notes, c.notes)
			}
		}
	}
}
