package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
	"sallyport/internal/policy"
)

// TestPreviewIsWhatDoDoes previews calls of every kind, and then makes them, in each state that a scope can be in.
func TestPreviewIsWhatDoDoes(t *testing.T) {
	states := map[string]func(s *shop){
		"clear":         func(*shop) {},
		"stopped":       func(s *shop) { s.act = liars["does nothing"]; s.want("save", saved, "ok differed"); s.act = nil },
		"unreadable":    func(s *shop) { s.damage() },
		"no latches":    func(s *shop) { s.Stops = nil },
		"no approvals":  func(s *shop) { s.Approvals = nil },
		"no way to see": func(s *shop) { s.noLook = true },
	}
	for state, set := range states {
		for _, tool := range []string{"read", "save", "own", "put", "ownput", "steady", "plain", "send", "dear", "costly", "owncostly", "careful", "private", "content", "nowhere"} {
			for _, args := range []string{`{"request_id":"n1","text":"tea"}`, `{"request_id":"n1","bad":1}`, `{}`} {
				s := newShop(t)
				set(s)
				s.ask = func(context.Context, *interlock.Approval) (Said, error) { return Later, nil }
				before, effects := s.disk.Changes(), s.total()
				p := s.Preview(s.call(tool, args, rest{}))
				if s.disk.Changes() != before || s.total() != effects {
					t.Errorf("%s %s %s: the preview touched something", state, tool, args)
				}
				result, err := s.run(tool, args, rest{})
				var denied *DeniedError
				var needed *InputNeededError
				got := policy.Allow
				if errors.As(err, &denied) {
					got = policy.Deny
				} else if errors.As(err, &needed) {
					got = policy.Ask
				}
				if p.Decision != got || denied != nil && (p.Rule != denied.Rule || p.Reason != denied.Reason) {
					t.Errorf("%s %s %s: preview %+v, and then: %s", state, tool, args, p, words(result, err))
				}
				if got == policy.Allow && p.Verified != (result.Checks != Unchecked) {
					t.Errorf("%s %s %s: preview verified %v, and then: %s", state, tool, args, p.Verified, words(result, err))
				}
			}
		}
	}
}

func TestPreviewOfKeysAndRepeats(t *testing.T) {
	s := newShop(t)
	for tool, want := range map[string]Preview{
		"read":   {Decision: policy.Allow, ReadOnly: true, Repeats: true},
		"save":   {Decision: policy.Allow, Key: "r1", Verified: true},
		"own":    {Decision: policy.Allow, Key: "r1", Verified: true},
		"put":    {Decision: policy.Allow, Verified: true},
		"steady": {Decision: policy.Allow, Key: "r1", Verified: true, Repeats: true},
		"send":   {Decision: policy.Allow},
		"dear":   {Decision: policy.Ask, Rule: "dear", Reason: "This is dear.", Key: "r1"},
	} {
		if got := s.Preview(s.call(tool, saved, rest{})); got != want {
			t.Errorf("%s: %+v, want %+v", tool, got, want)
		}
	}
	c := s.call("ownput", saved, rest{})
	c.Tool.Idempotent = true
	if got := s.Preview(c); !got.Repeats || got.Key != "" {
		t.Errorf("a tool that says idempotent: %+v", got)
	}
	if got := s.Preview(s.call("save", `{"text":"tea"}`, rest{})); got.Decision != policy.Deny || got.Rule != "saves" {
		t.Errorf("without its key: %+v", got)
	}
}

// TestPreviewOfAReplay: what the claims know is answered under a latch too.
func TestPreviewOfAReplay(t *testing.T) {
	s := newShop(t)
	s.act = liars["does nothing"]
	s.want("save", saved, "ok differed")
	if got := s.Preview(s.call("save", saved, rest{})); got.Decision != policy.Allow {
		t.Errorf("of a replay: %+v", got)
	}
	if got := s.Preview(s.call("save", `{"request_id":"r2","text":"tea"}`, rest{})); got.Decision != policy.Deny || got.Rule != LatchRule {
		t.Errorf("of a new one: %+v", got)
	}
}

// TestPreviewTakesNoToken leaves the limit to the call.
func TestPreviewTakesNoToken(t *testing.T) {
	f := newFar(t)
	one := counted(1)
	f.Limits = &one
	for range 3 {
		if got := f.Preview(f.make("limited", `{"request_id":"r1"}`, rest{})); got.Decision != policy.Allow {
			t.Errorf("%+v", got)
		}
	}
	if got := f.say("limited", `{"request_id":"r1"}`, rest{}); got != firstAnswer {
		t.Errorf("after previews: %s", got)
	}
}

func TestReleaseIsRecordedFirst(t *testing.T) {
	s := newShop(t)
	s.act = liars["does nothing"]
	s.want("save", saved, "ok differed")
	s.act = nil
	stop := *s.stop()
	other := stop
	other.Time++
	if err := s.Release(context.Background(), other, "looked"); !errors.Is(err, interlock.ErrNoStop) {
		t.Errorf("another stop: %v", err)
	}
	full := errors.New("the disk is full")
	s.disk.FailOn(func(op crashfs.Op, name string, _ int) error {
		if strings.HasSuffix(name, ledger.FileName) {
			return full
		}
		return nil
	})
	if err := s.Release(context.Background(), stop, "looked"); !errors.Is(err, full) {
		t.Errorf("without a record: %v", err)
	}
	s.disk.FailOn(nil)
	s.open()
	if s.stop() == nil {
		t.Fatal("it was released without a record")
	}
	if err := s.Release(context.Background(), stop, "I looked: nothing is there"); err != nil {
		t.Fatal(err)
	}
	records := s.records()
	if got, want := records[len(records)-1], "missing save allow permitted saves"; got != want {
		t.Errorf("record %q, want %q", got, want)
	}
	file, _ := s.disk.ReadFile("d/" + ledger.FileName)
	for _, want := range []string{`"method":"interlock/release"`, `"principal":"operator"`, `"reason":"I looked: nothing is there"`, `"upstream":"shop"`} {
		if !strings.Contains(string(file), want) {
			t.Errorf("the record has no %s", want)
		}
	}
	s.want("save", `{"request_id":"r2","text":"tea"}`, "ok held")
	if err := s.Release(context.Background(), stop, "again"); !errors.Is(err, interlock.ErrNoStop) {
		t.Errorf("released twice: %v", err)
	}
}

func TestReleaseOfAnUnreadableLatch(t *testing.T) {
	s := newShop(t)
	s.damage()
	s.want("plain", saved, "denied by latch…")
	stop := s.stop()
	if stop == nil || stop.Slot == "" {
		t.Fatalf("stop %+v", stop)
	}
	if err := s.Release(context.Background(), *stop, "looked"); err != nil {
		t.Fatal(err)
	}
	s.want("plain", saved, "ok unchecked")
}

func TestStepsAreRecorded(t *testing.T) {
	s := newShop(t)
	who := Caller{Principal: "local", Tenant: "acme"}
	for _, step := range []Step{
		{Method: MethodStep, Plan: "p", Run: "r", Step: "one", Tool: "save", RequestID: "r1", Verdict: "CONTINUE", Args: "a", Expected: "e", Observed: "o"},
		{Method: MethodStep, Plan: "p", Run: "r", Step: "two", Tool: "save", Verdict: "STOP", Reason: "nothing could be seen"},
		{Method: MethodUndo, Plan: "p", Run: "r", Step: "one", Tool: "erase", Undone: true, Observed: "o"},
		{Method: MethodUndo, Plan: "p", Run: "r", Step: "one", Tool: "erase", Observed: "o"},
	} {
		if err := s.NoteStep(who, step); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.NoteStep(who, Step{Method: "tools/call", Verdict: "CONTINUE"}); err == nil {
		t.Error("a step of another method was recorded")
	}
	s.wantRecords("r1 save allow observed", "missing save allow inconclusive", "missing erase allow observed", "missing erase allow failed")
	file, _ := s.disk.ReadFile("d/" + ledger.FileName)
	first, _, _ := strings.Cut(string(file), "\n")
	for _, want := range []string{`"args_digest":"a"`, `"expected_digest":"e"`, `"observed_digest":"o"`, `"plan":"p"`, `"run":"r"`, `"step":"one"`, `"verdict":"CONTINUE"`, `"origin":"plan"`, `"tenant":"acme"`} {
		if !strings.Contains(first, want) {
			t.Errorf("the record has no %s: %s", want, first)
		}
	}
}

// TestProofs believes only rehearsals on record, in a ledger that verifies.
func TestProofs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		who := Caller{Principal: "local"}
		if when, err := s.Proven("abc"); err != nil || !when.IsZero() {
			t.Errorf("in an empty ledger: %v, %v", when, err)
		}
		// What a caller can have written: its own text, in records of other methods and in other members.
		s.says("save", `{"request_id":"\"proof\":\"abc\",\"method\":\"plan/rehearse\"","text":"tea"}`, rest{})
		if err := s.NoteStep(who, Step{Method: MethodStep, Step: "abc", Run: "abc", Plan: "abc", Tool: "abc", Reason: `"proof":"abc"`}); err != nil {
			t.Fatal(err)
		}
		if err := s.Note("plan/rehearse", "abc", "abc", "abc", `"proof":"abc"`); err != nil {
			t.Fatal(err)
		}
		if when, err := s.Proven("abc"); err != nil || !when.IsZero() {
			t.Errorf("what others wrote: %v, %v", when, err)
		}
		if err := s.NoteProof(who, "", "p", "r", "one", "save"); err == nil {
			t.Error("an empty proof was recorded")
		}
		var last time.Time
		for range 2 {
			time.Sleep(time.Hour)
			last = time.Now()
			if err := s.NoteProof(who, "abc", "p", "r", "one", "save"); err != nil {
				t.Fatal(err)
			}
		}
		if when, err := s.Proven("abc"); err != nil || !when.Equal(last) {
			t.Errorf("proven %v, %v, want %v", when, err, last)
		}
		for _, other := range []string{"ab", "abcd", ""} {
			if when, err := s.Proven(other); err != nil || !when.IsZero() {
				t.Errorf("another proof %q: %v, %v", other, when, err)
			}
		}
		s.forge()
		if when, err := s.Proven("abc"); err == nil || !when.IsZero() {
			t.Errorf("in a ledger that does not verify: %v, %v", when, err)
		}
	})
}

// forge changes a byte in the middle of the ledger, which its last line does not show.
func (s *shop) forge() {
	s.t.Helper()
	name := "d/" + ledger.FileName
	file, err := s.disk.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	at := strings.Index(string(file), `"tool`)
	if at < 0 {
		at = strings.Index(string(file), "save")
	}
	f, err := s.disk.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), int64(at+1)); err != nil {
		s.t.Fatal(err)
	}
	f.Close()
}

// TestLooksAreOnRecordAsTheCallersOwn reads the records of a verified call whole.
func TestLooksAreOnRecordAsTheCallersOwn(t *testing.T) {
	s := newShop(t)
	s.want("save", saved, "ok held")
	file, _ := s.disk.ReadFile("d/" + ledger.FileName)
	var lines []canon.Value
	if err := ledger.Read(strings.NewReader(string(file)), func(v canon.Value) error {
		own, err := canon.Parse([]byte(string(v.Bytes())))
		lines = append(lines, own)
		return err
	}); err != nil || len(lines) != 2 {
		t.Fatalf("%d records, %v", len(lines), err)
	}
	call, look := lines[0], lines[1]
	for _, key := range []string{"attempt", "principal", "upstream", "policy_digest", "observed_digest"} {
		a, b := text(call, key), text(look, key)
		if a == "" || a != b {
			t.Errorf("%s: %q of the call, %q of the look", key, a, b)
		}
	}
	seen, err := canon.Parse([]byte(`{"text":"tea"}`))
	if err != nil {
		t.Fatal(err)
	}
	if digest, _ := seen.Digest(); text(call, "observed_digest") != digest {
		t.Errorf("observed_digest is not that of what was seen")
	}
	if got := fmt.Sprintf("%v %q %q %q", text(call, "expected_digest") != "", text(call, "origin"), text(look, "origin"), text(look, "verdict")); got != `true "" "verify" ""` {
		t.Errorf("records %s", got)
	}
}
