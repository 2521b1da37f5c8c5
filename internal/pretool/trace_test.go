package pretool

import (
	"os"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func TestReadTrace(t *testing.T) {
	tests := []struct {
		text string
		want trace
	}{
		{`{}`, trace{found: true}},
		{`[{}]`, trace{found: true}},
		{`[]`, trace{}},
		{`[1,"x",null]`, trace{}},
		{`7`, trace{}},
		{`"LEVEL_1_CONTEXT"`, trace{}},
		{`{"pipeline":{"step":"LEVEL_1_CONTEXT"}}`, trace{found: true}},
		{`{"pipeline":[{"step":"LEVEL_1_CONTEXT"},["LEVEL_1_SESSION"],{"step":["STANDARDS"]},{}]}`, trace{found: true, context: true}},
		{`[{"pipeline":[{"step":"LEVEL_1_CONTEXT"}]},{"pipeline":[{"step":"LEVEL_1_SESSION"}]},[]]`, trace{found: true, session: true}},
		{`[{"pipeline":[{"step":"LEVEL_1_CONTEXT"}]},{}]`, trace{found: true}},
		{`{"pipeline":[{"step":"STANDARDS"},{"step":"level_1_context"},{"step":" LEVEL_1_SESSION"}]}`, trace{found: true, standards: true}},
		{`{"pipeline":[{"step":"LEVEL_1_CONTEXT"},{"step":"LEVEL_1_SESSION"},{"step":"LEVEL_2_STANDARDS"}]}`, trace{true, true, true, true}},
	}
	for _, test := range tests {
		v, err := canon.Parse([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, readTrace(v), cmp.AllowUnexported(trace{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestAddStepsKeepsWhatIsThere(t *testing.T) {
	tests := []struct {
		old      string
		newEntry bool
		want     string
	}{
		{"", false, `[{"session_id":"S","pipeline":[{"step":"a"},{"step":"b"}]}]`},
		{`{}`, false, `[{"pipeline":[{"step":"a"},{"step":"b"}]}]`},
		{`[]`, false, `[{"session_id":"S","pipeline":[{"step":"a"},{"step":"b"}]}]`},
		{`[{"x":1.50,"pipeline":[7,{"step":"c"}],"\"":2},null]`, false, `[{"x":1.50,"\"":2,"pipeline":[7,{"step":"c"},{"step":"a"},{"step":"b"}]},null]`},
		{`{"pipeline":"x"}`, false, `[{"pipeline":[{"step":"a"},{"step":"b"}]}]`},
		{`[{"y":1},7]`, true, `[{"y":1},7,{"session_id":"S","pipeline":[{"step":"a"},{"step":"b"}]}]`},
	}
	for _, test := range tests {
		s := sessionsAt(t.TempDir(), at)
		if test.old != "" {
			writeFile(t, s.traceFile("S"), test.old)
		}
		if err := s.AddSteps("S", []string{"a", "b"}, test.newEntry); err != nil {
			t.Errorf("%s: %v", test.old, err)
			continue
		}
		got, err := os.ReadFile(s.traceFile("S"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != test.want+"\n" {
			t.Errorf("%s: got %s, want %s", test.old, got, test.want)
		}
	}
}

// TestAddStepsLosesNone has several writers of one trace, and a reader that must never see half of it.
func TestAddStepsLosesNone(t *testing.T) {
	const writers, each = 4, 25
	dir := t.TempDir()
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			s := sessionsAt(dir, at) // shares nothing but the disk, as another process
			for range each {
				if err := s.AddSteps("S", []string{"LEVEL_1_CONTEXT"}, false); err != nil {
					t.Error(err)
				}
				if !s.trace("S").context {
					t.Error("a reader sees no trace, or half of one")
				}
			}
		})
	}
	group.Wait()
	s := sessionsAt(dir, at)
	text, err := os.ReadFile(s.traceFile("S"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for entry := range v.Elements() {
		for range entry.Get("pipeline").Elements() {
			steps++
		}
	}
	if steps != writers*each {
		t.Errorf("%d steps, want %d", steps, writers*each)
	}
}

func FuzzTrace(f *testing.F) {
	for _, seed := range []string{`{}`, `[{"pipeline":[{"step":"STANDARDS"}]},1]`, `[`, `{"pipeline":[1,null]}`, `[[]]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := canon.Parse(text)
		if err != nil {
			return
		}
		before := readTrace(v)
		// What we add to a trace is read back, and what was there before still is.
		more, err := canon.Parse(appendTrace(nil, v, "S", []string{"STANDARDS"}, false))
		if err != nil {
			t.Skip("too deep") // a list is one level more than its only entry
		}
		want := trace{found: true, context: before.context, session: before.session, standards: true}
		if diff := cmp.Diff(want, readTrace(more), cmp.AllowUnexported(trace{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
