package gate

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/interlock"
)

// leaveAt is what a process leaves that died after it had begun something at a server.
func (s *shop) leaveAt(scope interlock.Scope, left string) {
	s.t.Helper()
	lane, err := s.Stops.Enter(context.Background(), scope)
	if err != nil {
		s.t.Fatal(err)
	}
	defer lane.Leave()
	if err := lane.Begin([]byte(left)); err != nil {
		s.t.Fatal(err)
	}
}

// TestSurveyTellsWhatIsToBeVerified tells of what was left what an operator may see, and no argument of it, in whatever form
// it was left; and leaves it to the next call.
func TestSurveyTellsWhatIsToBeVerified(t *testing.T) {
	s := newShop(t)
	s.save("r1", "tea")
	s.leave("put", "0123456789abcdef") // by local at shop
	_, left := leftOf(t, s, "save", `{"request_id":"hidden","text":"hidden"}`, "")
	twice := bytes.Replace(left, []byte(`"rule":"saves"`), []byte(`"rule":"a\u001b[2J"`), 1)
	rules := left[bytes.Index(left, []byte(`"verify":[`))+len(`"verify":[`) : len(left)-2]
	twice = append(append(append(twice[:len(twice)-2:len(twice)-2], ','), rules...), "]}"...)
	hostile := interlock.Scope{Principal: "ann\n\x1b[2J", Server: ""}
	s.leaveAt(hostile, string(twice))
	for i, what := range []string{"{}", `"hidden"`, "hidden", `{"args":{"hidden":1},"attempt":"hidden","offset":0,"verify":[]}`, ""} {
		s.leaveAt(interlock.Scope{Principal: "bob", Server: fmt.Sprint(i)}, what)
	}
	stopped := interlock.Stop{Scope: interlock.Scope{Principal: "ann", Server: "shop"}, Reason: "looked", Time: 1}
	if err := s.Stops.Latch(context.Background(), stopped); err != nil {
		t.Fatal(err)
	}
	busy, err := s.Stops.Enter(context.Background(), interlock.Scope{Principal: "eve", Server: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Begin(left); err != nil {
		t.Fatal(err)
	}

	stops, got, err := Survey(interlock.OpenStops(s.disk, "d/stops")) // of another process
	if diff := cmp.Diff([]interlock.Stop{stopped}, stops); diff != "" || err != nil {
		t.Errorf("%v, the stops (-want +got):\n%s", err, diff)
	}
	want := []Unverified{{Scope: hostile, Tool: "save", Attempt: "0123456789abcdef", Rules: []string{"a\x1b[2J", "saves"}}}
	for i := range 5 {
		want = append(want, Unverified{Scope: interlock.Scope{Principal: "bob", Server: fmt.Sprint(i)}, Unreadable: true})
	}
	want = append(want, Unverified{Scope: interlock.Scope{Principal: "local", Server: "shop"}, Tool: "put", Attempt: "0123456789abcdef", Rules: []string{"puts"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if strings.Contains(fmt.Sprintf("%+v", got), "hidden") {
		t.Errorf("arguments are shown: %+v", got)
	}
	busy.Leave()
	s.want("plain", `{"request_id":"r2","text":"tea"}`, "ok unchecked")
	if s.looks != 1 {
		t.Errorf("%d looks at what was left, want the one of the next change", s.looks)
	}
	_, got, err = Survey(s.Stops)
	if len(got) != 7 || err != nil || got[6].Principal != "eve" { // she is dead by now, and local's is seen to
		t.Errorf("afterwards %+v, %v are left, want 7, the last of them eve's", got, err)
	}
}
