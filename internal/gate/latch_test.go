package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/canon"
	"sallyport/internal/interlock"
)

// TestLyingServerStopsItsScope has a server answer success without the effect: the very next change is refused, by this
// process and the next, and reads and other scopes go on.
func TestLyingServerStopsItsScope(t *testing.T) {
	for lie, act := range liars {
		for _, tool := range []string{"save", "put", "own", "ownput", "late", "steady"} {
			t.Run(lie+" "+tool, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShop(t)
					s.act = act
					s.want(tool, saved, "ok differed")
					s.act = nil
					s.held(tool)
					s.open()
					s.held(tool)
				})
			})
		}
	}
}

// held checks that changes in the scope of a tool are refused, and nothing else.
func (s *shop) held(tool string) {
	s.t.Helper()
	before, others := s.total(), 0
	mine, theirs := []string{"save", "put", "plain", "send", "dear"}, []string{"own", "ownput"}
	if strings.HasPrefix(tool, "own") {
		mine, theirs = theirs, []string{"save", "put", "plain"}
	}
	for _, name := range mine {
		s.want(name, `{"request_id":"r2","text":"tea"}`, "denied by latch: stopped: what is there is not what rule…")
	}
	if s.total() != before {
		s.t.Errorf("%d effects in a stopped scope", s.total()-before)
	}
	for _, name := range theirs {
		others++
		if got := s.says(name, fmt.Sprintf(`{"request_id":"o%d-%d","text":"tea"}`, before, others), rest{}); !strings.HasPrefix(got, "ok") {
			s.t.Errorf("%s in another scope: %s", name, got)
		}
	}
	if got := s.says("plain", `{"request_id":"p","text":"tea"}`, rest{principal: "other"}); !strings.HasPrefix(got, "ok") {
		s.t.Errorf("another principal: %s", got)
	}
	s.want("read", `{"request_id":"r1"}`, "ok unchecked")
}

func TestOtherMethodsUnderALatch(t *testing.T) {
	s := newShop(t)
	if got := s.says("x:1", `{"uri":"x:1"}`, rest{method: "resources/read"}); got != "ok unchecked" {
		t.Errorf("before: %s", got)
	}
	s.act = liars["does nothing"]
	s.want("save", saved, "ok differed")
	if got := s.says("x:1", `{"uri":"x:1"}`, rest{method: "resources/read"}); !strings.HasPrefix(got, "denied by latch") {
		t.Errorf("a method that no rule calls read_only, under a latch: %s", got)
	}
}

func TestUnverifiableCallsAreDenied(t *testing.T) {
	for name, test := range map[string]struct {
		tool, args string
		set        func(s *shop)
		rule, want string
	}{
		"content is for hooks":  {"content", saved, func(*shop) {}, "content", "for hooks"},
		"no latch":              {"save", saved, func(s *shop) { s.Stops = nil }, "saves", "nowhere to stop"},
		"no way to look":        {"save", saved, func(s *shop) { s.noLook = true }, "saves", "nothing can be observed"},
		"no canonical form":     {"save", `{"request_id":"r1","text":"tea","n":1e400}`, func(*shop) {}, "saves", "no canonical form"},
		"too large to be kept":  {"save", `{"request_id":"r1","text":"` + strings.Repeat("x", mostVerified) + `"}`, func(*shop) {}, "saves", "larger than"},
		"a latch that is wrong": {"save", saved, func(s *shop) { s.damage() }, "latch", "cannot be told"},
		"for unverified calls":  {"plain", saved, func(s *shop) { s.damage() }, "latch", "cannot be told"},
	} {
		s := newShop(t)
		test.set(s)
		_, err := s.run(test.tool, test.args, rest{})
		var denied *DeniedError
		if !errors.As(err, &denied) || denied.Rule != test.rule || !strings.Contains(denied.Reason, test.want) {
			t.Errorf("%s: %+v", name, err)
		}
		if s.total() != 0 {
			t.Errorf("%s: there was an effect", name)
		}
		if got := s.records(); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "deny not_executed "+test.rule) {
			t.Errorf("%s: records %q", name, got)
		}
	}
}

// damage writes into the latch of the shop what no latch says.
func (s *shop) damage() {
	s.t.Helper()
	s.want("save", `{"request_id":"r0","text":"tea"}`, "ok held")
	s.texts, s.done = map[string]string{}, map[string]int{}
	names, err := s.disk.Names("d/stops")
	if err != nil {
		s.t.Fatal(err)
	}
	damaged := 0
	for _, name := range names {
		if len(name) != 64 {
			continue
		}
		f, err := s.disk.Open("d/stops/" + name)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("rubbish"), 0); err != nil {
			s.t.Fatal(err)
		}
		f.Close()
		damaged++
	}
	if damaged == 0 {
		s.t.Fatal("there is no latch to be damaged")
	}
}

// TestVerifiedCallsRunOneAtATime sends a hundred at once: each effect is looked at before the next one, and other scopes run
// beside.
func TestVerifiedCallsRunOneAtATime(t *testing.T) {
	s := newShop(t)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			tool := []string{"save", "put"}[i%2]
			if got := s.says(tool, fmt.Sprintf(`{"request_id":"r%d","text":"tea"}`, i), rest{}); got != "ok held" {
				t.Errorf("call %d: %s", i, got)
			}
		})
	}
	wg.Wait()
	if len(s.order) != 200 {
		t.Fatalf("%d steps, want 200", len(s.order))
	}
	for i := 0; i < 200; i += 2 {
		effect, look := s.order[i], s.order[i+1]
		if strings.TrimPrefix(effect, "effect ") != strings.TrimPrefix(look, "look ") {
			t.Fatalf("after %q came %q", effect, look)
		}
	}
}

// TestOtherScopesRunBeside holds one lane, and goes on in others.
func TestOtherScopesRunBeside(t *testing.T) {
	s := newShop(t)
	begun, let := make(chan struct{}), make(chan struct{})
	s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
		if text(args, "request_id") == "r1" {
			close(begun)
			<-let
		}
		s.save(text(args, "request_id"), text(args, "text"))
		return s.answerOf(tool, args), nil
	}
	done := make(chan string)
	go func() { done <- s.says("save", saved, rest{}) }()
	<-begun
	s.want("own", `{"request_id":"o1","text":"tea"}`, "ok held")
	s.want("plain", `{"request_id":"p1","text":"tea"}`, "ok unchecked") // what is not verified does not wait
	s.want("read", `{"request_id":"p1"}`, "ok unchecked")
	if got := s.says("put", `{"request_id":"q1","text":"tea"}`, rest{principal: "other"}); got != "ok held" {
		t.Errorf("another principal: %s", got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Do(ctx, s.call("save", `{"request_id":"r2","text":"tea"}`, rest{})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second one in the scope: %v", err)
	}
	close(let)
	if got := <-done; got != "ok held" {
		t.Errorf("the first: %s", got)
	}
	if s.done["r2"] != 0 {
		t.Error("a call that was given up while it waited was carried out")
	}
}

// TestVerificationGoesOnWithoutItsCaller cancels the call while it is looked at.
func TestVerificationGoesOnWithoutItsCaller(t *testing.T) {
	for _, tool := range []string{"save", "put", "own"} {
		s := newShop(t)
		ctx, cancel := context.WithCancel(context.Background())
		s.see = func(ctx context.Context, s *shop, args canon.Value) (Result, error) {
			cancel()
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			return structured(`{"text":"tea"}`), nil
		}
		if got := words(s.Do(ctx, s.call(tool, saved, rest{}))); got != "ok held" || s.stop() != nil {
			t.Errorf("%s: %s, stop %+v", tool, got, s.stop())
		}
	}
}

// TestEndOfTheProcessLeavesItToTheNext ends the process while a call is looked at: the next one looks first.
func TestEndOfTheProcessLeavesItToTheNext(t *testing.T) {
	for _, honest := range []bool{true, false} {
		for _, tool := range []string{"save", "put", "own"} {
			s := newShop(t)
			ending, end := context.WithCancel(context.Background())
			s.Ending = ending
			s.act = func(_ context.Context, s *shop, tool string, args canon.Value) (Result, error) {
				if honest {
					s.save(text(args, "request_id"), text(args, "text"))
				}
				return s.answerOf(tool, args), nil
			}
			s.see = func(ctx context.Context, s *shop, args canon.Value) (Result, error) {
				end()
				<-ctx.Done()
				return Result{}, ctx.Err()
			}
			s.want(tool, saved, "error: the server is ending, and what the call left was not looked at: that comes before the next change (the call itself was carried out)")
			s.act, s.see = nil, nil
			s.open()
			s.Ending = nil
			next := strings.NewReplacer("save", "plain", "put", "plain").Replace(tool)
			if got := s.says(next, `{"request_id":"r2","text":"tea"}`, rest{}); strings.HasPrefix(got, "ok") != honest {
				t.Errorf("%s, honest %v: the next call: %s", tool, honest, got)
			}
			if (s.stop() == nil) != honest {
				t.Errorf("%s, honest %v: stop %+v", tool, honest, s.stop())
			}
			if s.order[len(s.order)-1] == "effect r2" && s.order[len(s.order)-2] != "look r1" {
				t.Errorf("%s: %q", tool, s.order)
			}
		}
	}
}

// TestLeftIsVerifiedByWhatWasLeft takes the rule away, and changes it, between the crash and the next call.
func TestLeftIsVerifiedByWhatWasLeft(t *testing.T) {
	for _, honest := range []bool{true, false} {
		s := newShop(t)
		ending, end := context.WithCancel(context.Background())
		s.Ending = ending
		if !honest {
			s.act = liars["does something else"]
		}
		s.see = func(context.Context, *shop, canon.Value) (Result, error) { end(); return Result{}, errors.New("dying") }
		s.want("save", saved, "error: the server is ending…")
		s.act, s.see = nil, nil
		s.policy = "version: 2\ndefault: deny\nrules:\n" +
			"  - {id: reads, decision: allow, tools: [read], read_only: true}\n  - {id: all, decision: allow, tools: [plain]}\n"
		s.open()
		want := "ok unchecked"
		if !honest {
			want = `denied by latch: stopped: what is there is not what rule "saves" expects; look at what is there, then an operator runs sallyport release`
		}
		s.want("plain", `{"request_id":"r2","text":"tea"}`, want)
	}
}

// TestLeftCannotBeLookedAt: a call that has no way to look does not go on, and decides nothing.
func TestLeftCannotBeLookedAt(t *testing.T) {
	s := newShop(t)
	ending, end := context.WithCancel(context.Background())
	s.Ending = ending
	s.see = func(context.Context, *shop, canon.Value) (Result, error) { end(); return Result{}, errors.New("dying") }
	s.want("save", saved, "error: the server is ending…")
	s.see = nil
	s.open()
	s.noLook = true
	s.want("plain", `{"request_id":"r2","text":"tea"}`, "denied by latch: whether an earlier call left what it should cannot be told…")
	if s.stop() != nil {
		t.Errorf("stop %+v", s.stop())
	}
	s.noLook = false
	s.want("plain", `{"request_id":"r2","text":"tea"}`, "ok unchecked")
}

func TestUnlatchedCheckSyncsNothing(t *testing.T) {
	s := newShop(t)
	s.want("plain", `{"request_id":"r0"}`, "ok unchecked")
	changes := func(stops *interlock.Stops, id string) int {
		s.Stops = stops
		before := s.disk.Changes()
		s.want("plain", fmt.Sprintf(`{"request_id":%q}`, id), "ok unchecked")
		return s.disk.Changes() - before
	}
	with := changes(s.Stops, "r1")
	if without := changes(nil, "r2"); with != without {
		t.Errorf("a call makes %d changes to the disk with latches, %d without", with, without)
	}
}
