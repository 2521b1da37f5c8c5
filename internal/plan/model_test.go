package plan

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
	"sallyport/internal/durable/crashfs"
	"sallyport/internal/gate"
)

// kind is what a step of the tests is.
type kind struct {
	undo    byte // 'u': has one, 'n': needs none, ' ': has none
	stop    bool // on a mismatch
	do, un  safety
	retries bool
}

// plans are the plans of the tests by their text: reading one takes longer than running it.
var plans = map[string]*Plan{}

func planOf(t testing.TB, kinds []kind) *Plan {
	var b strings.Builder
	b.WriteString(`{"version":1,"steps":[`)
	for i, k := range kinds {
		id := string(rune('a' + i))
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%q,"call":{"tool":"do_%s","arguments":{"run":"${run.id}"`, id, id)
		if i > 0 {
			fmt.Fprintf(&b, `,"before":"${steps.%c.observation.present}"`, 'a'+i-1)
		}
		fmt.Fprintf(&b, `}},"observe":{"tool":"see_%s","arguments":{"of":"${call.tool}"}},"expect":"observation.present and not observation.wrong"`, id)
		switch k.undo {
		case 'u':
			fmt.Fprintf(&b, `,"undo":{"tool":"undo_%s"},"undone":"not observation.present"`, id)
		case 'n':
			b.WriteString(`,"undo":"none"`)
		}
		if k.stop {
			b.WriteString(`,"on_mismatch":"stop"`)
		}
		if k.retries {
			b.WriteString(`,"retry_observe_for":"1s"`)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	if plans[b.String()] == nil {
		plans[b.String()] = mustPlan(t, b.String())
	}
	return plans[b.String()]
}

// trial is one run of a plan, in as many sittings as it takes.
type trial struct {
	t     testing.TB
	plan  *Plan
	kinds []kind
	desk  *desk
	fs    *crashfs.FS
	run   string
	log   []string
	shape *shape
	fails bool // a proof is missing for a step, by its index in proofs
}

func newTrial(t testing.TB, kinds []kind) *trial {
	tr := &trial{t: t, plan: planOf(t, kinds), kinds: kinds, desk: newDesk(newWorld()), fs: crashfs.New()}
	for i, k := range kinds {
		tr.desk.safety["do_"+string(rune('a'+i))] = k.do
		if k.undo == 'u' {
			tr.desk.safety["undo_"+string(rune('a'+i))] = k.un
		}
	}
	tr.shape = shapeOf(tr.plan, false)
	return tr
}

func (tr *trial) runner() *Runner {
	return &Runner{Tools: tr.desk, Book: tr.desk, Caller: gate.Caller{Principal: "local"}, FS: tr.fs, Dir: "runs"}
}

// sitting is one process at the run. dies says before which change to the disk it does so; 0: none. It returns the
// report, whether it died, and whether the run is over.
func (tr *trial) sitting(dies int) (r Report, dead bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tr.desk.sit(cancel)
	start := tr.fs.Changes()
	tr.fs.FailOn(nil)
	if dies > 0 {
		tr.fs.FailOn(func(op crashfs.Op, _ string, changes int) error {
			if changes-start >= dies-1 {
				panic(died{fmt.Sprintf("before change %d, %s", changes, op)})
			}
			return nil
		})
	}
	defer func() {
		p := recover()
		d, ok := p.(died)
		if p != nil && !ok {
			panic(p)
		}
		if p != nil {
			tr.logf("the process died %s", d.where)
			dead = true
		}
		tr.fs.FailOn(nil)
	}()
	s, j, err := tr.sit()
	if err != nil {
		return tr.overAlready(err), false
	}
	defer j.close()
	r = s.carryOut(ctx)
	tr.logf("%v at %q: %s %v", r.End, r.Step, r.Reason, r.Remain)
	tr.check(r, s)
	return r, false
}

// overAlready is the report of a run that ended with its process.
func (tr *trial) overAlready(err error) Report {
	tr.t.Helper()
	text, _ := tr.fs.ReadFile("runs/" + tr.run + ".jsonl")
	s := &sitting{plan: tr.plan, shape: tr.shape, run: tr.run}
	var broken error
	if s.state, broken = replay(tr.shape, tr.plan, text); broken != nil || s.state.phase != over {
		tr.fault("beginning: %v", err)
	}
	r := s.report()
	tr.logf("it was over: %v", r.End)
	tr.check(r, s)
	return r
}

// sit begins the run, or goes on with it.
func (tr *trial) sit() (*sitting, *journal, error) {
	r := tr.runner()
	if tr.run == "" {
		j, err := r.begin(tr.plan)
		if unfinished, is := errors.AsType[*UnfinishedError](err); is { // it died as it began the run
			tr.run = unfinished.Run
			return tr.sit()
		}
		if err != nil {
			return nil, nil, err
		}
		tr.run = j.run
		return r.sit(tr.plan, j), j, nil
	}
	f, err := r.find(tr.plan, "")
	if err != nil {
		return nil, nil, err
	}
	j, err := openJournal(r.FS, r.Dir, tr.plan, f.header)
	if err != nil {
		return nil, nil, err
	}
	s, err := r.resit(tr.plan, j)
	if err == nil {
		tr.desk.rollback = s.state.phase == backward // a ROLLBACK that was not journaled is none
	}
	return s, j, err
}

func (tr *trial) logf(format string, args ...any) {
	tr.log = append(tr.log, fmt.Sprintf(format, args...))
}

func (tr *trial) fault(format string, args ...any) {
	tr.t.Helper()
	journal, _ := tr.fs.ReadFile("runs/" + tr.run + ".jsonl")
	tr.t.Fatalf("%s\nsteps %+v\nworld %+v\nsittings:\n  %s\n%s", fmt.Sprintf(format, args...), tr.kinds, tr.desk.things, strings.Join(tr.log, "\n  "), journal)
}

// check holds the end of a sitting to the world, and the journal to the state.
func (tr *trial) check(r Report, s *sitting) {
	tr.t.Helper()
	if len(tr.desk.violations) > 0 {
		tr.fault("%s", strings.Join(tr.desk.violations, "\n"))
	}
	for i, k := range tr.kinds {
		id := string(rune('a' + i))
		thing := tr.desk.things[id]
		switch {
		case r.End == Continued && (!thing.present || thing.wrong):
			tr.fault("CONTINUE to the end, and step %s left %+v", id, thing)
		case r.End == RolledBack && k.undo == 'u' && thing.did > 0 && thing.present:
			tr.fault("ROLLBACK done, and step %s left %+v", id, thing)
		case r.End == RolledBack && k.undo == ' ' && thing.did > 0:
			tr.fault("ROLLBACK done over step %s, which has no undo", id)
		}
	}
	switch {
	case r.End == Stopped && r.Reason == "", r.End == RollbackFailed && (r.Reason == "" || len(r.Remain) == 0):
		tr.fault("%v without a word: %+v", r.End, r)
	case (r.End == RolledBack || r.End == RollbackFailed) != tr.desk.rollback && !(r.End == Stopped && tr.desk.rollback):
		tr.fault("%v, but ROLLBACK decided: %t", r.End, tr.desk.rollback)
	}
	tr.replays(s)
}

// replays holds that the journal leads to the state in which the sitting ended.
func (tr *trial) replays(s *sitting) {
	tr.t.Helper()
	text, err := tr.fs.ReadFile("runs/" + tr.run + ".jsonl")
	if err != nil {
		tr.fault("%v", err)
	}
	again, err := replay(tr.shape, tr.plan, text)
	if err != nil {
		tr.fault("the journal does not replay: %v", err)
	}
	if diff := cmp.Diff(durableState(s.state), durableState(again)); diff != "" {
		tr.fault("the journal replays to another state (-was +is)\n%s", diff)
	}
}

type plainAttempt struct {
	Progress              progress
	Left, Doubt, Differed bool
	Key, Args             string
}

type plainTrack struct {
	Call, Undo          plainAttempt
	Done, Undone        bool
	Result, Observation string
}

type plainState struct {
	Phase          phase
	At             int
	Halted, Failed bool
	Reason, Cause  string
	Last           string
	End            End
	Steps          []plainTrack
}

// durableState is what of a state does not end with its process.
func durableState(s *state) plainState {
	text := func(v canon.Value) string { return string(v.Bytes()) }
	attempt := func(a attempt) plainAttempt {
		return plainAttempt{a.progress, a.left, a.doubt, a.differed, a.key, text(a.args)}
	}
	p := plainState{Phase: s.phase, At: s.at, Halted: s.halted, Failed: s.failed, Reason: s.reason, Cause: s.cause, Last: s.last, End: s.end}
	for _, t := range s.steps {
		p.Steps = append(p.Steps, plainTrack{attempt(t.call), attempt(t.undo), t.done, t.undone, text(t.result), text(t.observation)})
	}
	return p
}

// crash makes the disk what it may be after the process, or the machine, died now.
func (tr *trial) crash(pick func(n int) int) {
	var after []crashfs.Crash
	for c := range tr.fs.Crashes(tr.fs.Changes()) {
		after = append(after, c)
	}
	c := after[pick(len(after))]
	tr.logf("the disk is as it may be %s", c)
	tr.fs = synced(tr.t, c.FS)
}

// synced is a disk with the same files, all of them durable.
func synced(t testing.TB, from *crashfs.FS) *crashfs.FS {
	t.Helper()
	to := crashfs.New()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(to.OwnDir("runs"))
	names, _ := from.Names("runs")
	for _, name := range names {
		text, err := from.ReadFile("runs/" + name)
		must(err)
		f, err := to.Create("runs/" + name)
		must(err)
		_, err = f.WriteAt(text, 0)
		must(err)
		must(f.SyncAll())
		must(f.Close())
	}
	must(to.SyncDir("runs"))
	return to
}

var (
	seedFlag  = flag.Uint64("plan.seed", 0, "the seed of the random runs of plans; 0 is a new one")
	runsFlag  = flag.Int("plan.runs", 0, "how many random runs; 0 is 2000, and a fifth of that with the race detector")
	sittingsM = 5
)

// TestRandomRuns holds random plans with random faults, on a disk that crashes, to the promises: see desk and trial.check.
func TestRandomRuns(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	runs := *runsFlag
	if runs == 0 {
		runs = 2_000
		if raceEnabled {
			runs = 400
		}
	}
	t.Logf("go test ./internal/plan -run TestRandomRuns -plan.seed %d", seed)
	ends, fired := map[End]int{}, map[fault]int{}
	deaths, done := 0, 0
	// missing says which end or fault has not come yet: without it the runs prove little.
	missing := func() string {
		for _, e := range []End{Stopped, Continued, RolledBack, RollbackFailed} {
			if ends[e] == 0 {
				return fmt.Sprintf("the end %v", e)
			}
		}
		for f := range callFaults {
			if fired[fault(f)] == 0 {
				return fmt.Sprintf("the fault %v", fault(f))
			}
		}
		if deaths < done/10 {
			return "a death in each tenth run"
		}
		return ""
	}
	synctest.Test(t, func(t *testing.T) {
		// The rarest come in one run of a hundred: a few hundred runs may be too few, ten times as many are not.
		for ; done < runs || done < 10*runs && missing() != ""; done++ {
			rng := rand.New(rand.NewPCG(seed, uint64(done)))
			tr := newTrial(t, randomKinds(rng))
			end, died := randomRun(tr, rng)
			ends[end]++
			deaths += died
			for f, n := range tr.desk.fired {
				fired[f] += n
			}
			if t.Failed() {
				t.Fatalf("run %d", done)
			}
		}
	})
	t.Logf("%d runs ended: %v; deaths %d; faults of calls %v", done, ends, deaths, fired)
	if m := missing(); m != "" {
		t.Errorf("%s did not come in %d runs: this proves little", m, done)
	}
}

func randomKinds(rng *rand.Rand) []kind {
	kinds := make([]kind, 1+rng.IntN(4))
	for i := range kinds {
		kinds[i] = kind{undo: "uuuuuuun "[rng.IntN(9)], stop: rng.IntN(8) == 0, do: safety(rng.IntN(safeties)), un: safety(rng.IntN(safeties)), retries: rng.IntN(3) == 0}
	}
	return kinds
}

func randomRun(tr *trial, rng *rand.Rand) (end End, deaths int) {
	rate := []float64{0.05, 0.2, 0.5}[rng.IntN(3)]
	tr.desk.faults = func(tool string, _ int) fault {
		if rng.Float64() > rate {
			return fine
		}
		if strings.HasPrefix(tool, "see_") {
			return fault(rng.IntN(seeFaults))
		}
		if rng.IntN(2) == 0 {
			return []fault{errNothing, errEffect, liesNothing, liesWrong}[rng.IntN(4)] // what leads to a ROLLBACK
		}
		return fault(rng.IntN(callFaults))
	}
	tr.desk.notes = func(gate.Step) error {
		if rng.Float64() < rate/10 {
			return errors.New("the ledger takes nothing")
		}
		return nil
	}
	missing := max(0, rng.IntN(6)-2)
	tr.desk.proofs = func(proof string) (time.Time, error) {
		if rng.IntN(4) < 3 {
			return time.Now().Add(-time.Hour), nil
		}
		tr.fails = missing > 0
		return []time.Time{time.Now().Add(-time.Hour), {}, time.Now().Add(-48 * time.Hour), time.Now().Add(time.Hour)}[missing], nil
	}
	for range 1 + rng.IntN(sittingsM) {
		dies := 0
		if rng.IntN(3) == 0 {
			dies = 1 + rng.IntN(30)
		}
		tr.fails = false
		before := tr.desk.rollback
		r, dead := tr.sitting(dies)
		if tr.desk.rollback && !before && tr.fails {
			tr.fault("ROLLBACK without a fresh proof")
		}
		end = r.End
		if dead {
			deaths++
			tr.crash(rng.IntN)
		} else if r.Run != "" && r.End == Continued || r.End == RolledBack {
			return end, deaths
		}
	}
	return end, deaths
}
