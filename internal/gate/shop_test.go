package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/interlock"
	"sallyport/internal/ledger"
)

const shopPolicy = `
version: 2
default: deny
rules:
  - {id: reads, decision: allow, tools: [read], read_only: true}
  - {id: broken, decision: allow, tools: [unreadable], read_only: true}
  - id: saves
    decision: allow
    tools: [save, own]
    mutation: {key: request_id}
    verify: VERIFY
  - {id: steady, decision: allow, tools: [steady], mutation: {key: request_id, idempotent: true}, verify: VERIFY}
  - {id: puts, decision: allow, tools: [put, ownput], verify: VERIFY}
  - id: late
    decision: allow
    tools: [late]
    mutation: {key: request_id}
    verify:
      observe: {tool: read, arguments: {request_id: "${args.request_id}"}}
      expect: 'observation.text == args.text'
      retry_observe_for: 2s
  - id: blind
    decision: allow
    tools: [blind]
    mutation: {key: request_id}
    verify:
      observe: {tool: unreadable, arguments: {}}
      expect: 'observation.text == args.text'
  - id: odd
    decision: allow
    tools: [odd]
    mutation: {key: request_id}
    verify:
      observe: {tool: read, arguments: {request_id: "${args.request_id}"}}
      expect: 'observation.count > 3'
  - id: answers
    decision: allow
    tools: [answers]
    mutation: {key: request_id}
    verify:
      observe: {tool: read, arguments: {request_id: "${result.id}"}}
      expect: 'observation.text == args.text && call.tool == "answers" && principal.name == "local" && result.id == args.request_id'
  - {id: content, decision: allow, tools: [content], verify: content}
  - {id: plain, decision: allow, tools: [plain], mutation: {key: request_id}}
  - {id: sends, decision: allow, tools: [send]}
  - {id: dear, decision: ask, tools: [dear], reason: "This is dear.", mutation: {key: request_id}, approval: {expires: 10m}}
  - {id: costly, decision: ask, tools: [costly, owncostly], reason: "This costs."}
  - {id: careful, decision: ask, tools: [careful], mutation: {key: request_id}, verify: VERIFY}
  - {id: again, decision: ask, tools: [again], mutation: {key: request_id, idempotent: true}}
  - {id: private, decision: ask, tools: [private], read_only: true}
  - {id: resources, decision: allow, methods: [resources/read]}
`

// shop is a gate with stop latches and approvals, before a server that keeps texts, and with tools of our own that do. The
// server outlives the gate.
type shop struct {
	*far
	mu    sync.Mutex
	texts map[string]string
	done  map[string]int // effects by request_id
	looks int
	order []string // "effect ID" and "look ID"

	act     func(ctx context.Context, s *shop, tool string, args canon.Value) (Result, error) // instead of save
	see     func(ctx context.Context, s *shop, args canon.Value) (Result, error)              // instead of what is there
	ask     func(ctx context.Context, a *interlock.Approval) (Said, error)
	looker  func(c *Call)                   // changes the call that looks
	noLook  bool                            // calls have no Observe
	lookErr func(ctx context.Context) error // fails Observe
}

func newShop(t testing.TB) *shop {
	s := &shop{far: newFar(t), texts: map[string]string{}, done: map[string]int{}}
	s.policy = strings.ReplaceAll(shopPolicy, "VERIFY",
		`{observe: {tool: read, arguments: {request_id: "${args.request_id}"}}, expect: "observation.text == args.text"}`)
	s.open()
	return s
}

func (s *shop) open() {
	s.t.Helper()
	if err := s.tryOpen(); err != nil {
		s.t.Fatal(err)
	}
}

// tryOpen is what a starting process does; the one before is dead.
func (s *shop) tryOpen() error {
	if err := s.far.tryOpen(); err != nil {
		return err
	}
	s.Stops = interlock.OpenStops(s.disk, "d/stops")
	s.Approvals = interlock.OpenApprovals(s.disk, "d/approvals")
	return nil
}

func text(args canon.Value, key string) string {
	s, _ := args.Get(key).Text()
	return s
}

// save is what an honest server does.
func (s *shop) save(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[id] = text
	s.done[id]++
	s.order = append(s.order, "effect "+id)
}

func (s *shop) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, done := range s.done {
		n += done
	}
	return n
}

func (s *shop) read(ctx context.Context, args canon.Value) (Result, error) {
	s.mu.Lock()
	s.looks++
	id := text(args, "request_id")
	s.order = append(s.order, "look "+id)
	held, found := s.texts[id]
	s.mu.Unlock()
	if s.see != nil {
		return s.see(ctx, s, args)
	}
	if !found {
		return structured(`{"text":null}`), nil
	}
	return structured(string(canon.AppendString([]byte(`{"text":`), held)) + "}"), nil
}

func structured(object string) Result {
	return Result{Body: fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, object), Form: Whole}
}

// tool is the tool of that name: of the server, or one of our own.
func (s *shop) tool(name string) *Tool {
	t := &Tool{Name: name, Upstream: "shop", Check: func(args canon.Value) error {
		if args.Get("bad").Exists() {
			return errors.New("bad is not known")
		}
		return nil
	}}
	if strings.HasPrefix(name, "own") {
		t.Upstream = ""
	}
	if name == "own" {
		t.Key = "request_id"
		t.Status = func(id string, o ledger.Outcome, stored Result) Result {
			return Result{Body: fmt.Appendf(nil, `{"status":%q,"stored":%d}`, o, len(stored.Body))}
		}
		t.Look = func(_ context.Context, _ Caller, id string) (string, bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			held, found := s.texts[id]
			args, err := canon.Parse(fmt.Appendf(nil, `{"request_id":%q,"text":%q}`, id, held))
			if err != nil {
				return "", false, err
			}
			digest, err := args.Digest()
			return digest, found, err
		}
	}
	return t
}

// order makes a call as a client would.
func (s *shop) call(name, args string, r rest) Call {
	s.t.Helper()
	c := s.far.make(name, args, r)
	if r.method == "" {
		c.Tool = s.tool(name)
	} else {
		c.Tool.Upstream = "shop"
	}
	c.Invoke = func(ctx context.Context, p *Permit) (Result, error) {
		if _, err := p.Use(c.Tool.Name); err != nil {
			return Result{}, &NotDone{err}
		}
		if name == "read" || name == "private" || name == "unreadable" {
			return s.read(ctx, c.Args)
		}
		if s.act != nil {
			return s.act(ctx, s, name, c.Args)
		}
		s.save(text(c.Args, "request_id"), text(c.Args, "text"))
		return s.answerOf(name, c.Args), nil
	}
	if !s.noLook {
		c.Observe = func(ctx context.Context, tool string, args canon.Value) (Call, error) {
			if s.lookErr != nil {
				if err := s.lookErr(ctx); err != nil {
					return Call{}, err
				}
			}
			look := s.call(tool, string(args.Bytes()), rest{principal: c.Caller.Principal})
			look.Observe, look.Ask = nil, nil
			if s.looker != nil {
				s.looker(&look)
			}
			return look, nil
		}
	}
	c.Ask = s.ask
	return c
}

// answerOf is what the server says when it did as it was told.
func (s *shop) answerOf(name string, args canon.Value) Result {
	r := structured(string(canon.AppendString([]byte(`{"id":`), text(args, "request_id"))) + "}")
	if strings.HasPrefix(name, "own") {
		r.Form = Own
	}
	return r
}

func (s *shop) run(name, args string, r rest) (Result, error) {
	s.t.Helper()
	return s.Do(context.Background(), s.call(name, args, r))
}

var checkWords = map[Checks]string{Unchecked: "unchecked", Held: "held", Differed: "differed"}

// says is what a call came to, in short.
func (s *shop) says(name, args string, r rest) string {
	s.t.Helper()
	result, err := s.run(name, args, r)
	return words(result, err)
}

func words(result Result, err error) string {
	var denied *DeniedError
	var needed *InputNeededError
	switch {
	case errors.As(err, &denied):
		return "denied by " + denied.Rule + ": " + denied.Reason
	case errors.As(err, &needed):
		return "input needed"
	case err != nil:
		return "error: " + err.Error()
	case result.Failed:
		return "failed " + checkWords[result.Checks]
	case result.Open:
		return "open " + checkWords[result.Checks]
	}
	return "ok " + checkWords[result.Checks]
}

func (s *shop) want(name, args, want string) {
	s.t.Helper()
	if got := s.says(name, args, rest{}); got != want && !(strings.HasSuffix(want, "…") && strings.HasPrefix(got, strings.TrimSuffix(want, "…"))) {
		s.t.Errorf("%s %s:\n got %s\nwant %s", name, args, got, want)
	}
}

// verdicts returns "name outcome verdict origin" of each record, and checks the chain.
func (s *shop) verdicts() []string {
	s.t.Helper()
	s.records()
	textOf, err := s.disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	err = ledger.Read(strings.NewReader(string(textOf)), func(line canon.Value) error {
		parts := []string{}
		for _, key := range []string{"name", "outcome", "verdict", "origin"} {
			if part := text(line, key); part != "" {
				parts = append(parts, part)
			}
		}
		lines = append(lines, strings.Join(parts, " "))
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return lines
}

// stop is the stop of the scope, nil if there is none.
func (s *shop) stop() *interlock.Stop {
	s.t.Helper()
	stops, err := s.Stops.List()
	if err != nil {
		s.t.Fatal(err)
	}
	if len(stops) == 0 {
		return nil
	}
	return &stops[0]
}

// failAt fails the change to the disk with that number, from now on, and with allAfter all that follow. Whether it came is told by
// what is returned, with which the disk is well again.
func (s *shop) failAt(n int, allAfter bool) (mended func() (what string)) {
	start, what := s.disk.Changes(), ""
	s.disk.FailOn(func(op crashfs.Op, name string, changes int) error {
		if changes-start == n && what == "" {
			what = fmt.Sprint(op, " ", name)
			return errors.New("the disk")
		}
		if what != "" && allAfter {
			return errors.New("the disk")
		}
		return nil
	})
	return func() string {
		s.disk.FailOn(nil)
		return what
	}
}

func (s *shop) copyWorld(from *shop) {
	from.mu.Lock()
	defer from.mu.Unlock()
	s.texts, s.done, s.order = maps.Clone(from.texts), maps.Clone(from.done), nil
}
