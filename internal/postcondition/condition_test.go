package postcondition

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/cond"
)

// read reads JSON of a test.
func read(t testing.TB, text string) canon.Value {
	t.Helper()
	v, err := canon.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func compiled(t testing.TB, source string, names ...string) *Condition {
	t.Helper()
	c, err := Compile(source, names)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return c
}

// outcome is what a condition comes to: true, false or an error.
func outcome(c *Condition, values Values) string {
	holds, err := c.Holds(values)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(holds)
}

func TestHolds(t *testing.T) {
	values := Values{
		"call":        read(t, `{"tool":"write_note","arguments":{"request_id":"req-0001","text":"gate applied","n":1.0,"id":12345678901234567890,"far":1e400}}`),
		"observation": read(t, `{"notes":[{"request_id":"req-0000","text":"x"},{"request_id":"req-0001","text":"gate applied"}],"count":2,"id":12345678901234567890,"near":12345678901234567891,"far":10e399,"tiny":1e-400,"ok":null,"e":{"a":[1,{"b":2.50}]}}`),
	}
	for _, tc := range []struct{ source, want string }{
		{`observation.notes.exists(n, n.request_id == call.arguments.request_id && n.text == call.arguments.text)`, "true"},
		{`!observation.notes.exists(n, n.request_id == call.arguments.request_id)`, "false"},
		{`observation.notes.size() == observation.count && observation.count == 2.0 && call.arguments.n == 1`, "true"},
		{`observation.id == call.arguments.id`, "true"},
		{`observation.near == call.arguments.id`, "false"}, // they are the same float
		{`observation.near > call.arguments.id`, "true"},
		{`observation.id == "12345678901234567890"`, "false"},
		{`observation.far == call.arguments.far`, "true"},
		{`observation.tiny == 0`, "false"},
		{`observation.e == {a: [1, {b: 2.5}]}`, "true"},
		{`observation.ok == nil`, "true"},
		{`has(observation.ok) && !has(observation.gone)`, "true"},
		{`"gone" in observation`, "false"},
		{`observation.gone != "x"`, "evaluating the condition: column 13: there is no member gone"},
		{`observation.ok`, "evaluating the condition: column 1: the expression gives neither true nor false, but nil"},
		{`observation.count.size() == 1`, "evaluating the condition: column 19: size of int"},
		{`result == nil`, "true"},
		{`result.x == 1`, "evaluating the condition: column 8: cannot fetch x from nil"},
		{`len(observation) == 8`, "true"},
	} {
		if got := outcome(compiled(t, tc.source, "call", "observation", "result"), values); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.source, got, tc.want)
		}
	}
}

// TestConditionSeesWhatItLooksAt: what it does not look at does not count towards what it may be given.
func TestConditionSeesWhatItLooksAt(t *testing.T) {
	large := `"` + strings.Repeat("x", 2<<20) + `"`
	many := "[" + strings.Repeat("0,", 30_000) + "0]"
	values := Values{"observation": read(t, `{"log":`+large+`,"state":{"ok":true,"all":`+many+`}}`), "args": read(t, large)}
	for _, tc := range []struct{ source, want string }{
		{`observation.state.ok`, "true"},
		{`observation["state"]?.ok and not has(observation.gone)`, "true"},
		{`observation.log == "x"`, "reading observation: " + errTooLarge.Error()},
		{`observation.state.all.size() == 1`, "reading observation: " + errTooLarge.Error()},
		{`observation.state == 1`, "reading observation: " + errTooLarge.Error()},
		{`"log" in observation`, "reading observation: " + errTooLarge.Error()},
		{`args == "x"`, "reading args: " + errTooLarge.Error()},
	} {
		if got := outcome(compiled(t, tc.source, "observation", "args"), values); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.source, got, tc.want)
		}
	}
}

// ledger returns what a ledger of so many notes looks like.
func ledger(t testing.TB, notes int) canon.Value {
	var b strings.Builder
	for i := range notes {
		fmt.Fprintf(&b, `%c{"request_id":"req-%06d","text":"%s","principal":"local","created":%d}`, "[,"[min(i, 1)], i, strings.Repeat("t", 100), 1764547200000000000+i)
	}
	return read(t, `{"notes":`+b.String()+`],"status":"ok"}`)
}

// TestALedgerOfThousandsOfNotesCanBeObserved also compares a file that was written with what was written to it.
func TestALedgerOfThousandsOfNotesCanBeObserved(t *testing.T) {
	values := Values{"observation": ledger(t, 3900), "args": read(t, `{"request_id":"req-003899","id":"none"}`)}
	for source, want := range map[string]string{
		`observation.notes.exists(n, n.request_id == args.request_id && n.text.size() == 100)`:          "true",
		`observation.notes.exists(n, n.request_id == args.id)`:                                          "false",
		`observation.notes.exists_one(n, n.request_id == args.request_id)`:                              "true",
		`observation.notes.filter(n, n.text != "").map(n, n.request_id).all(id, id.startsWith("req-"))`: "true",
		`observation.notes.all(a, observation.notes.exists_one(b, a.request_id == b.request_id))`:       "evaluating the condition: column 52: the expression takes too long",
		`observation.notes.size() == 3900 && observation.notes[3899].created == 1764547200000003899`:    "true",
		`observation.notes.all(n, n.created == 1764547200000000000 or n.created > 1764547200000000000)`: "true",
	} {
		got := outcome(compiled(t, source, "observation", "args"), values)
		if column := strings.Index(got, ": the expression takes"); column >= 0 {
			got = "evaluating the condition: column 52" + got[column:]
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
	text := `{"content":"` + strings.Repeat("x", 1_000_000) + `"}`
	if got := outcome(compiled(t, `observation.content == args.content`, "observation", "args"), Values{"observation": read(t, text), "args": read(t, text)}); got != "true" {
		t.Errorf("a file of a million bytes: got %s", got)
	}
}

// TestErrorsQuoteNoValues has conditions that fail in every way, over values that all have a secret in them.
func TestErrorsQuoteNoValues(t *testing.T) {
	const secret = "s3cr3t"
	values := Values{"o": read(t, `{"s":"s3cr3t","n":733733733,"big":73373373373373373373373,"l":["s3cr3t"],"m":{"s3cr3t":"s3cr3t"},"null":null}`)}
	failed := 0
	for _, base := range []string{"o.s", "o.n", "o.big", "o.l", "o.m", "o.null", "o.m[o.s]", "o.l[0]", "keys(o.m)[0]"} {
		for _, form := range []string{"% + 1 == 1", "%.x == 1", "%[0] == 1", "%[o.s] == 1", "o[%] == 1", "o.m[%].x == 1", "o.l[%] == 1", "int(%) == 1", "float(%) == 1", "% > 1", "% > \"a\"", "%", "not %", "% contains \"a\"", "% matches \"a\"", "1 in %", "% in o.m", "%.exists(x, x)", "%.all(x, x.y)",
			"%.map(x, x.y) == []", "%.size() == 0", "%.startsWith(%)", "has(%.x)", "first(%) == 1", "max(%) == 1", "len(%) == 1", "any(%, #)", "lower(%) == 1", "1..% == []", "%[%:] == 1", "-% == 1", "abs(%) == 1", "keys(%) == 1", "% ** % == 1", "% % 0 == 1", "string(%) + 1 == 1", "{(%): 1}.x == 1", "trim(%) == 1"} {
			source := strings.ReplaceAll(form, "%", base)
			if form == "% % 0 == 1" {
				source = base + " % 0 == 1"
			}
			c, err := Compile(source, []string{"o"})
			if err != nil {
				continue
			}
			if _, err := c.Holds(values); err != nil {
				failed++
				if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "733") {
					t.Errorf("%s: %v", source, err)
				}
			}
		}
	}
	if failed < 200 {
		t.Errorf("only %d failed", failed)
	}
}

// TestAValueThatCanBeReadInTwoWaysIsNotRead: such a value comes from canon.Skim, by mistake.
func TestAValueThatCanBeReadInTwoWaysIsNotRead(t *testing.T) {
	v, err := canon.Skim([]byte(`{"ok":false,"ok":true,"other":{"a":1,"a":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{`o.ok`, `o.other.a == 2`, `o == 1`} {
		if got := outcome(compiled(t, source, "o"), Values{"o": v}); got != "reading o: it has the same member twice" {
			t.Errorf("%s: got %s", source, got)
		}
	}
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	_, err := Compile(`obsevation.x == 1`, []string{"args", "observation"})
	fault, ok := errors.AsType[*cond.Error](err)
	if want := (&cond.Error{Column: 1, Msg: "unknown name obsevation", Hint: `did you mean "observation"?`}); !ok || !cmp.Equal(fault, want) {
		t.Errorf("got %#v", err)
	}
	if _, err := Compile(`observation.x == 1`, nil); err == nil {
		t.Error("a name that is not given is known")
	}
}

func TestConditionSaysWhatItLooksAt(t *testing.T) {
	c := compiled(t, `steps.a.result.x == steps["b"].observation.y && run.id == "r" && args.l.exists(i, i == result)`, "args", "observation", "result", "run", "steps")
	if diff := cmp.Diff([]string{"args", "result", "run", "steps"}, c.Names()); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
	for name, want := range map[string]string{"steps": "[a b] false", "result": "[] true", "observation": "[] false", "args": "[l] false"} {
		members, all := c.Members(name)
		if got := fmt.Sprint(members, all); got != want {
			t.Errorf("members of %s: got %s, want %s", name, got, want)
		}
	}
	if c.Source() == "" {
		t.Error("no source")
	}
}

func TestConditionsAreShared(t *testing.T) {
	c := compiled(t, `observation.notes.exists(n, n.request_id == args.id)`, "observation", "args")
	observation := ledger(t, 100)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			want := i%2 == 0
			id := map[bool]string{true: "req-000042", false: "none"}[want]
			if got := outcome(c, Values{"observation": observation, "args": read(t, `{"id":"`+id+`"}`)}); got != fmt.Sprint(want) {
				t.Errorf("%s: got %s", id, got)
			}
		})
	}
	wait.Wait()
}

// BenchmarkHolds has its ceiling, one strict pass over the same bytes, beside it.
func BenchmarkHolds(b *testing.B) {
	for _, notes := range []int{1, 100, 3900} {
		values := Values{"observation": ledger(b, notes), "args": read(b, `{"id":"none"}`)}
		c := compiled(b, `observation.notes.exists(n, n.request_id == args.id && n.text == "x")`, "observation", "args")
		b.Run(fmt.Sprintf("%d/holds", notes), func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Holds(values); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/parse", notes), func(b *testing.B) {
			for b.Loop() {
				if _, err := canon.Parse(values["observation"].Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
