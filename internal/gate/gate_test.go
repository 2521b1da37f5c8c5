package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/ledger"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

const testPolicy = `{"version":1,"allow":["put","get","send"],"deny":["hidden"],"arg_rules":{"put":{"request_id":{"min_len":3}}}}`

// world is a gate with tools whose effects can be counted.
type world struct {
	*Gate
	t      *testing.T
	disk   *crashfs.FS
	tools  map[string]*Tool
	puts   atomic.Int32
	there  sync.Map // request_id: digest of the arguments that were put
	onPut  func(ctx context.Context, g Grant) error
	ledger *ledger.Ledger
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, disk: crashfs.New()}
	w.disk.OwnDir("d")
	w.open()
	return w
}

// open is what a starting process does; opened again, the old process is dead.
func (w *world) open() {
	w.t.Helper()
	w.disk.DropLocks()
	p, err := policy.Parse("policy.json", []byte(testPolicy))
	if err != nil {
		w.t.Fatal(err)
	}
	claims, err := mutation.Open(w.disk, "d", func() (bool, error) { return false, nil })
	if err != nil {
		w.t.Fatal(err)
	}
	w.ledger, err = ledger.Open(w.disk, "d")
	if err != nil {
		w.t.Fatal(err)
	}
	w.Gate = New(p, w.ledger, claims, slog.New(slog.DiscardHandler))
	check := func(args canon.Value) error {
		if args.Get("bad").Exists() {
			return errors.New("bad is not known")
		}
		return nil
	}
	w.tools = map[string]*Tool{
		"put": {Name: "put", Key: "request_id", Check: check, Invoke: w.put, Look: w.look,
			Status: func(_ string, o ledger.Outcome, _ Result) Result { return Result{Body: []byte(`"` + o + `"`)} }},
		"get": {Name: "get", ReadOnly: true, Label: "observe", Check: check, Invoke: func(_ context.Context, p *Permit) (Result, error) {
			_, err := p.Use("get")
			return Result{Body: []byte(`"got"`)}, err
		}},
		"send": {Name: "send", Check: check, Invoke: func(_ context.Context, p *Permit) (Result, error) {
			w.puts.Add(1)
			_, err := p.Use("send")
			return Result{Body: []byte(`"sent"`)}, err
		}},
		"hidden":   {Name: "hidden", Check: check, Invoke: w.put},
		"unlisted": {Name: "unlisted", Check: check, Invoke: w.put},
	}
}

func (w *world) put(ctx context.Context, p *Permit) (Result, error) {
	grant, err := p.Use("put")
	if err != nil {
		return Result{}, &NotDone{err}
	}
	if w.onPut != nil {
		if err := w.onPut(ctx, grant); err != nil {
			return Result{}, err
		}
	}
	w.effect(grant)
	return Result{Body: []byte(`"put"`)}, nil
}

func (w *world) effect(g Grant) {
	digest, _ := g.Args.Digest()
	w.puts.Add(1)
	w.there.Store(g.ID, digest)
}

func (w *world) look(_ context.Context, _ Caller, id string) (string, bool, error) {
	digest, found := w.there.Load(id)
	if !found {
		return "", false, nil
	}
	return digest.(string), true, nil
}

func (w *world) call(ctx context.Context, name, args string) (string, error) {
	w.t.Helper()
	v, err := canon.Parse([]byte(args))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.Do(ctx, Call{Caller: Caller{Principal: "local"}, Name: name, Tool: w.tools[name], Args: v})
	return string(r.Body), err
}

func (w *world) mustCall(name, args, want string) {
	w.t.Helper()
	if got, err := w.call(context.Background(), name, args); err != nil || got != want {
		w.t.Errorf("%s %s: %s, %v, want %s", name, args, got, err, want)
	}
}

// records returns "request_id name decision outcome rule" of each record, and checks the chain.
func (w *world) records() []string {
	w.t.Helper()
	text, err := w.disk.ReadFile("d/" + ledger.FileName)
	if err != nil {
		w.t.Fatal(err)
	}
	if v, err := ledger.Verify(strings.NewReader(string(text))); err != nil || !v.OK {
		w.t.Errorf("the ledger does not verify: %+v, %v", v, err)
	}
	var records []string
	err = ledger.Read(strings.NewReader(string(text)), func(line canon.Value) error {
		var parts []string
		for _, key := range []string{"request_id", "name", "decision", "outcome", "rule"} {
			if part, ok := line.Get(key).Text(); ok {
				parts = append(parts, part)
			}
		}
		if recovered, _ := line.Get("recovered").Bool(); recovered {
			parts = append(parts, "recovered")
		}
		records = append(records, strings.Join(parts, " "))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return records
}

func (w *world) wantRecords(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.records()); diff != "" {
		w.t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestDenialsAreRecordedBeforeAnythingIsTouched(t *testing.T) {
	for _, test := range []struct {
		name, args string
		want       DeniedError
		record     string
	}{
		{"hidden", `{"request_id":"req"}`, DeniedError{"hidden", "deny", "", true}, "req hidden deny not_executed deny"},
		{"unlisted", `{}`, DeniedError{"unlisted", "default", "", true}, "missing unlisted deny not_executed default"},
		{"nowhere", `{}`, DeniedError{"nowhere", "unknown", "", true}, "missing nowhere deny not_executed unknown"},
		{"put", `{"request_id":"ab"}`, DeniedError{"put", "arg_rules.put.request_id.min_len", "", false}, "ab put deny not_executed arg_rules.put.request_id.min_len"},
		{"put", `{"request_id":7}`, DeniedError{"put", "arg_rules.put.request_id.type", "", false}, "missing put deny not_executed arg_rules.put.request_id.type"},
		{"put", `[]`, DeniedError{"put", "arg_rules.put.request_id.type", "", false}, "missing put deny not_executed arg_rules.put.request_id.type"},
		{"put", `{"request_id":"abc","bad":1}`, DeniedError{"put", "schema", "", false}, "abc put deny not_executed schema"},
		{"put", `{"request_id":"abc","n":1e400}`, DeniedError{"put", "arguments", "", false}, "abc put deny not_executed arguments"},
		{"get", `{"bad":1}`, DeniedError{"get", "schema", "", false}, "observe get deny not_executed schema"},
		{"Put", `{"request_id":"abc"}`, DeniedError{"Put", "unknown", "", true}, "abc Put deny not_executed unknown"},
	} {
		w := newWorld(t)
		_, err := w.call(context.Background(), test.name, test.args)
		var denied *DeniedError
		if !errors.As(err, &denied) {
			t.Errorf("%s %s: %v, want a denial", test.name, test.args, err)
			continue
		}
		if denied.Reason == "" {
			t.Errorf("%s %s: no reason", test.name, test.args)
		}
		got := *denied
		got.Reason = ""
		if got != test.want {
			t.Errorf("%s %s: %+v, want %+v", test.name, test.args, got, test.want)
		}
		w.wantRecords(test.record)
		if w.puts.Load() != 0 {
			t.Errorf("%s %s: there was an effect", test.name, test.args)
		}
	}
}

func TestVisibleIsWhatCouldBeCalled(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]bool{"put": true, "get": true, "send": true, "hidden": false, "unlisted": false} {
		if got := w.Visible(Caller{Principal: "local"}, w.tools[name]); got != want {
			t.Errorf("Visible(%s) = %v, want %v", name, got, want)
		}
	}
}

func TestOutcomesOfAMutation(t *testing.T) {
	w := newWorld(t)
	w.mustCall("put", `{"request_id":"abc","x":1.0}`, `"put"`)
	w.mustCall("put", `{ "x" : 1.00, "request_id":"\u0061bc" }`, `"replay"`) // the same arguments, spelt otherwise
	w.mustCall("put", `{"request_id":"abc","x":1}`, `"conflict"`)
	w.mustCall("get", `null`, `"got"`) // as good as no arguments
	w.mustCall("send", `{}`, `"sent"`)
	w.mustCall("send", `{}`, `"sent"`)
	if got := w.puts.Load(); got != 3 {
		t.Errorf("%d effects, want 3", got)
	}
	w.wantRecords("abc put allow committed", "abc put allow replay", "abc put allow conflict",
		"observe get allow observed", "missing send allow forwarded", "missing send allow forwarded")
}

func TestHundredCallersOneEffect(t *testing.T) {
	w := newWorld(t)
	answers := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			got, err := w.call(context.Background(), "put", `{"request_id":"abc"}`)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			answers[got]++
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{`"put"`: 1, `"replay"`: 99}, answers); diff != "" || w.puts.Load() != 1 {
		t.Errorf("%d effects; answers (-want +got):\n%s", w.puts.Load(), diff)
	}
}

func TestNoLedgerNoCall(t *testing.T) {
	for _, op := range []string{"put", "send"} {
		w := newWorld(t)
		if err := w.disk.Remove("d/" + ledger.FileName); err != nil {
			t.Fatal(err)
		}
		_, err := w.call(context.Background(), op, `{"request_id":"abc"}`)
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "nothing was done") {
			t.Errorf("%s without a ledger: %v", op, err)
		}
		if w.puts.Load() != 0 {
			t.Errorf("%s had its effect without a ledger", op)
		}
	}
	for _, op := range []string{"get", "hidden"} {
		w := newWorld(t)
		if err := w.disk.Remove("d/" + ledger.FileName); err != nil {
			t.Fatal(err)
		}
		got, err := w.call(context.Background(), op, `{}`)
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || got != "" {
			t.Errorf("%s without a ledger: %q, %v", op, got, err)
		}
	}
}

func TestWordsOfAFailure(t *testing.T) {
	w := newWorld(t)
	w.onPut = func(context.Context, Grant) error {
		return &NotDone{fmt.Errorf("writing /secret/path: %w", syscall.ENOSPC)}
	}
	_, err := w.call(context.Background(), "put", `{"request_id":"abc"}`)
	if err == nil || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), "nothing was done") || strings.Contains(err.Error(), "/secret") {
		t.Errorf("error %v", err)
	}
	w.onPut = nil
	w.mustCall("put", `{"request_id":"abc","other":1}`, `"put"`) // the key was not used up
	w.wantRecords("abc put allow failed", "abc put allow committed")
}

// TestEffectNobodyKnowsOf has a tool fail in a way that leaves its effect unknown.
func TestEffectNobodyKnowsOf(t *testing.T) {
	for _, test := range []struct {
		name    string
		onPut   func(w *world) func(context.Context, Grant) error
		retry   string
		records []string
		effects int32
	}{
		{"it happened", func(w *world) func(context.Context, Grant) error {
			return func(_ context.Context, g Grant) error { w.effect(g); return errors.New("no idea") }
		}, `"replay"`, []string{"abc put allow inconclusive", "abc put allow committed recovered", "abc put allow replay"}, 1},
		{"it did not happen", func(*world) func(context.Context, Grant) error {
			return func(context.Context, Grant) error { return errors.New("no idea") }
		}, `"put"`, []string{"abc put allow inconclusive", "abc put allow committed"}, 1},
		{"it panicked after the effect", func(w *world) func(context.Context, Grant) error {
			return func(_ context.Context, g Grant) error { w.effect(g); panic("ouch") }
		}, `"replay"`, []string{"abc put allow inconclusive", "abc put allow committed recovered", "abc put allow replay"}, 1},
		{"it was there before", func(w *world) func(context.Context, Grant) error {
			return func(_ context.Context, g Grant) error { w.effect(g); return ErrDone }
		}, `"replay"`, []string{"abc put allow replay", "abc put allow replay"}, 1},
		{"another was there", func(w *world) func(context.Context, Grant) error {
			return func(context.Context, Grant) error { w.there.Store("abc", "other"); return ErrConflict }
		}, `"put"`, []string{"abc put allow conflict", "abc put allow committed"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.onPut = test.onPut(w)
			_, err := w.call(context.Background(), "put", `{"request_id":"abc"}`)
			var unavailable *UnavailableError
			if errors.As(err, &unavailable) != (test.records[0] == "abc put allow inconclusive") {
				t.Errorf("first call: %v", err)
			}
			w.onPut = nil
			w.mustCall("put", `{"request_id":"abc"}`, test.retry)
			w.wantRecords(test.records...)
			if got := w.puts.Load(); got != test.effects {
				t.Errorf("%d effects, want %d", got, test.effects)
			}
		})
	}
}

func TestEffectThatCannotBeLookedUpStaysInconclusive(t *testing.T) {
	w := newWorld(t)
	w.tools["put"].Look = nil
	w.onPut = func(context.Context, Grant) error { return errors.New("no idea") }
	for range 2 {
		if _, err := w.call(context.Background(), "put", `{"request_id":"abc"}`); err == nil || !strings.Contains(err.Error(), "inconclusive") {
			t.Errorf("error %v, want inconclusive", err)
		}
		w.onPut = nil // it would succeed now, and must not be tried
	}
	if err := w.Recover(context.Background(), []*Tool{w.tools["put"]}); !errors.Is(err, errInconclusive) {
		t.Errorf("Recover: %v", err)
	}
	if w.puts.Load() != 0 {
		t.Error("it was carried out again")
	}
	w.wantRecords("abc put allow inconclusive", "abc put allow inconclusive")
}

// TestRecordThatCannotBeWrittenIsWrittenLater fails the ledger after the effect.
func TestRecordThatCannotBeWrittenIsWrittenLater(t *testing.T) {
	for _, when := range []string{"by a retry", "by a start"} {
		w := newWorld(t)
		full := false
		w.disk.FailOn(func(op crashfs.Op, name string, _ int) error {
			if full && op == crashfs.Write && strings.HasSuffix(name, ledger.FileName) {
				return syscall.ENOSPC
			}
			return nil
		})
		w.onPut = func(context.Context, Grant) error { full = true; return nil }
		_, err := w.call(context.Background(), "put", `{"request_id":"abc"}`)
		if err == nil || !strings.Contains(err.Error(), "done but could not be recorded") {
			t.Errorf("error %v", err)
		}
		full = false
		if when == "by a start" {
			w.open()
			for range 2 {
				if err := w.Recover(context.Background(), []*Tool{w.tools["put"]}); err != nil {
					t.Fatal(err)
				}
			}
			w.wantRecords("abc put allow committed recovered")
		}
		w.mustCall("put", `{"request_id":"abc"}`, `"replay"`)
		w.wantRecords("abc put allow committed recovered", "abc put allow replay")
		if w.puts.Load() != 1 {
			t.Errorf("%d effects, want 1", w.puts.Load())
		}
	}
}

func TestCallerThatGoesAway(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	w.onPut = func(ctx context.Context, _ Grant) error {
		cancel()
		return ctx.Err() // nil: what was begun goes on without its caller
	}
	if got, err := w.call(ctx, "put", `{"request_id":"abc"}`); err != nil || got != `"put"` {
		t.Errorf("cancelled after it was begun: %s, %v", got, err)
	}
	if _, err := w.call(ctx, "put", `{"request_id":"def"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it was begun: %v", err)
	}
	w.wantRecords("abc put allow committed", "def put allow not_executed")
	if w.puts.Load() != 1 {
		t.Errorf("%d effects, want 1", w.puts.Load())
	}
}

func TestCallKeepsThePolicyItBeganWith(t *testing.T) {
	w := newWorld(t)
	before := w.Policy().Digest()
	other, err := policy.Parse("other.json", []byte(`{"version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	w.onPut = func(context.Context, Grant) error { w.SetPolicy(other); return nil }
	w.mustCall("put", `{"request_id":"abc"}`, `"put"`)
	if _, err := w.call(context.Background(), "put", `{"request_id":"abc"}`); err == nil {
		t.Error("the new policy denies and was not asked")
	}
	text, _ := w.disk.ReadFile("d/" + ledger.FileName)
	lines := strings.Split(string(text), "\n")
	if !strings.Contains(lines[0], before) || !strings.Contains(lines[1], other.Digest()) {
		t.Errorf("the records do not hold the digests of the policies that decided:\n%s", text)
	}
}

func TestNothingRunsWithoutAPermit(t *testing.T) {
	args, _ := canon.Parse([]byte(`{"a":1}`))
	digest, _ := args.Digest()
	var none *Permit
	for name, p := range map[string]*Permit{
		"nil": none, "zero": {}, "for another tool": newPermit("other", Grant{Args: args}, digest),
		"for other arguments": newPermit("put", Grant{Args: args}, digestBytes([]byte(`{"a":2}`))),
	} {
		if _, err := p.Use("put"); !errors.Is(err, ErrNoPermit) {
			t.Errorf("a permit that is %s: %v, want ErrNoPermit", name, err)
		}
	}
	p := newPermit("put", Grant{Args: args}, digest)
	if _, err := p.Use("put"); err != nil {
		t.Errorf("first use: %v", err)
	}
	if _, err := p.Use("put"); !errors.Is(err, ErrNoPermit) {
		t.Errorf("second use: %v, want ErrNoPermit", err)
	}
}

func TestWithoutClaimsNoMutations(t *testing.T) {
	w := newWorld(t)
	g := New(w.Policy(), w.ledger, mutation.Refusing(mutation.ErrLost), slog.New(slog.DiscardHandler))
	w.Gate = g
	if _, err := w.call(context.Background(), "put", `{"request_id":"abc"}`); err == nil || !strings.Contains(err.Error(), "claims") {
		t.Errorf("put: %v", err)
	}
	w.mustCall("get", `{}`, `"got"`)
	if w.puts.Load() != 0 {
		t.Error("it was carried out")
	}
}

// TestPlatformWithoutLocks is what a server on Windows says.
func TestPlatformWithoutLocks(t *testing.T) {
	w := newWorld(t)
	w.Gate = New(w.Policy(), ledger.Refusing(durable.ErrUnsupported), mutation.Refusing(durable.ErrUnsupported), slog.New(slog.DiscardHandler))
	for _, tool := range []string{"put", "get", "send", "hidden"} {
		_, err := w.call(context.Background(), tool, `{"request_id":"abc"}`)
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "on this platform") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if w.puts.Load() != 0 {
		t.Error("something was carried out")
	}
}
