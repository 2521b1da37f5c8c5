package interlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

var pouring = Matter{Principal: "alice", Tenant: "house", Upstream: "tea", Method: "tools/call", Tool: "pour", Digest: "d1", Key: "k1", Policy: "p1"}

// asked is an approval of a matter as it is put at start, for ten minutes.
func asked(m Matter) Approval {
	args, err := canon.Parse([]byte(`{"cup":1}`))
	if err != nil {
		panic(err)
	}
	return Approval{Matter: m, Rule: "ask-pour", Reason: "it is hot", Args: args, Created: start.UnixNano(), Expires: start.Add(10 * time.Minute).UnixNano()}
}

func put(t *testing.T, a *Approvals, p Approval) *Approval {
	t.Helper()
	got, err := a.Put(p, start)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	return got
}

func sameApproval(t *testing.T, what string, got *Approval, want *Approval) {
	t.Helper()
	bytesOf := cmp.Transformer("Bytes", func(v canon.Value) string { return string(v.Bytes()) })
	if diff := cmp.Diff(want, got, bytesOf, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// TestApproval follows a matter from the question to the answer, through two processes.
func TestApproval(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "approvals")
	gate, terminal := OpenApprovals(durable.OS, dir), OpenApprovals(durable.OS, dir)
	if found, err := gate.Find(pouring, start); found != nil || err != nil {
		t.Error(found, err)
	}
	if list, err := terminal.List(start); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	if err := gate.Remove("0123456789abcdef"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a look made the folder: %v", err)
	}
	p := put(t, gate, asked(pouring))
	want := asked(pouring)
	want.ID, want.Verdict = p.ID, Waiting
	sameApproval(t, "put", p, &want)
	again := asked(pouring)
	again.Reason = "it is hotter"
	sameApproval(t, "put again", put(t, terminal, again), &want)

	list, err := terminal.List(start)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	sameApproval(t, "listed", &list[0], &want)
	decided, err := terminal.Decide(p.ID, Agreed, "operator", "one cup only", start)
	must(t, err)
	want.Verdict, want.By, want.Note = Agreed, "operator", "one cup only"
	sameApproval(t, "decided", decided, &want)
	found, err := gate.Find(pouring, start)
	must(t, err)
	sameApproval(t, "found", found, &want)
	if _, err := terminal.Decide(p.ID, Refused, "operator", "", start); !errors.Is(err, ErrNoApproval) {
		t.Errorf("decided twice: %v", err)
	}
	other := put(t, gate, asked(pouring)) // it was used: the next call of the matter is another question
	if other.ID == p.ID || other.Verdict != Waiting {
		t.Errorf("%+v was put", other)
	}
	if _, err := terminal.Decide(p.ID, Agreed, "operator", "", start); !errors.Is(err, ErrNoApproval) {
		t.Errorf("an approval that was replaced: %v", err)
	}
	must(t, gate.Remove(p.ID)) // which is not there any more, and takes nothing else away
	if list, _ := terminal.List(start); len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("after another was removed: %+v", list)
	}
	must(t, terminal.Remove(other.ID))
	must(t, gate.Remove(other.ID))
	if found, err := gate.Find(pouring, start); found != nil || err != nil {
		t.Error(found, err)
	}
}

// TestApprovalIsOfOneMatter is found for nothing that differs in anything.
func TestApprovalIsOfOneMatter(t *testing.T) {
	a := OpenApprovals(durable.OS, t.TempDir())
	p := put(t, a, asked(pouring))
	if _, err := a.Decide(p.ID, Agreed, "operator", "", start); err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, change := range []func(m *Matter){
		func(m *Matter) { m.Principal = "bob" }, func(m *Matter) { m.Tenant = "" }, func(m *Matter) { m.Upstream = "" },
		func(m *Matter) { m.Method = "prompts/get" }, func(m *Matter) { m.Tool = "spill" }, func(m *Matter) { m.Digest = "d2" },
		func(m *Matter) { m.Key = "" }, func(m *Matter) { m.Round = "r" }, func(m *Matter) { m.Policy = "p2" },
		func(m *Matter) { m.Tool, m.Digest = "pourd", "1" }, func(m *Matter) { m.Key, m.Round = "", "k1" },
		func(m *Matter) { m.Principal, m.Tenant = "alicehouse", "" }, func(m *Matter) { m.Tool = "../pour" }, func(m *Matter) { m.Key = "k\x001" },
	} {
		m := pouring
		change(&m)
		if found, err := a.Find(m, start); found != nil || err != nil {
			t.Errorf("%+v: found %+v, %v", m, found, err)
		}
		if q := put(t, a, asked(m)); q.Verdict != Waiting || q.ID == p.ID || q.Matter != m {
			t.Errorf("%+v: put %+v", m, q)
		}
		others++
	}
	if list, err := a.List(start); len(list) != others+1 || err != nil {
		t.Errorf("%d are listed, %v, want %d", len(list), err, others+1)
	}
}

// TestApprovalExpires by what is written in it, whatever the file's times are.
func TestApprovalExpires(t *testing.T) {
	dir := t.TempDir()
	a := OpenApprovals(durable.OS, dir)
	p := put(t, a, asked(pouring))
	must(t, os.Chtimes(filepath.Join(dir, pouring.fileName()), start.Add(24*time.Hour), start.Add(24*time.Hour)))
	end := start.Add(10 * time.Minute)
	if _, err := a.Decide(p.ID, Agreed, "operator", "", end); !errors.Is(err, ErrNoApproval) {
		t.Errorf("decided when it had expired: %v", err)
	}
	if found, err := a.Find(pouring, end.Add(-1)); found == nil || err != nil {
		t.Errorf("a moment before: %v, %v", found, err)
	}
	if _, err := a.Decide(p.ID, Agreed, "operator", "", end.Add(-1)); err != nil {
		t.Error(err)
	}
	if found, err := a.Find(pouring, end); found != nil || err != nil {
		t.Errorf("then: %v, %v", found, err)
	}
	if list, err := a.List(end); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	other := asked(pouring)
	other.Tool, other.Expires = "stir", end.Add(time.Hour).UnixNano()
	if _, err := a.Put(other, end); err != nil {
		t.Error(err)
	}
	must(t, a.Sweep(end))
	if names, err := a.list(); len(names) != 1 || err != nil {
		t.Errorf("what expired is still there: %q, %v", names, err)
	}
	late := asked(pouring)
	if _, err := a.Put(late, end); err == nil {
		t.Error("a question was put that had expired")
	}
}

// TestAwait ends with the answer of another process, with the approval's end, when it is replaced, and with ctx.
func TestAwait(t *testing.T) {
	for name, test := range map[string]waiting{
		"approved": {func(a *Approvals, _ func(), p *Approval) error {
			_, err := a.Decide(p.ID, Agreed, "operator", "", time.Now())
			return err
		}, Agreed, nil, time.Minute},
		"denied": {func(a *Approvals, _ func(), p *Approval) error {
			_, err := a.Decide(p.ID, Refused, "operator", "", time.Now())
			return err
		}, Refused, nil, time.Minute},
		"removed":   {func(a *Approvals, _ func(), p *Approval) error { return a.Remove(p.ID) }, "", nil, time.Minute},
		"expired":   {nil, "", nil, 10 * time.Minute},
		"cancelled": {func(_ *Approvals, cancel func(), _ *Approval) error { cancel(); return nil }, "", context.Canceled, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { awaitOnce(t, test) })
		})
	}
	a := OpenApprovals(durable.OS, t.TempDir())
	for _, id := range []string{"0123456789abcdef", "", "../lock", "0123456789ABCDEF"} {
		if got, err := a.Await(t.Context(), id); got != nil || err != nil {
			t.Errorf("%q: %v, %v", id, got, err)
		}
	}
}

// waiting is a wait for an answer, and how it ends.
type waiting struct {
	after   func(a *Approvals, cancel func(), p *Approval) error // what happens after a minute
	verdict Verdict                                              // "": none
	err     error
	took    time.Duration
}

func awaitOnce(t *testing.T, test waiting) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := &counted{FS: durable.OS}
	waits, other := OpenApprovals(looks, dir), OpenApprovals(durable.OS, dir)
	q := asked(pouring)
	q.Created, q.Expires = time.Now().UnixNano(), time.Now().Add(10*time.Minute).UnixNano()
	p, err := other.Put(q, time.Now())
	must(t, err)
	if test.after != nil {
		go func() {
			time.Sleep(time.Minute)
			if err := test.after(other, cancel, p); err != nil {
				t.Error(err)
			}
		}()
	}
	began := time.Now()
	got, err := waits.Await(ctx, p.ID)
	took := time.Since(began)
	verdict := Verdict("")
	if got != nil {
		verdict = got.Verdict
	}
	if verdict != test.verdict || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
		t.Errorf("%q, %v, want %q, %v", verdict, err, test.verdict, test.err)
	}
	if took < test.took || took > test.took+pollEach {
		t.Errorf("it took %v, want %v", took, test.took)
	}
	if most := int64(took/pollEach) + 4; looks.opened.Load() > most {
		t.Errorf("%d looks in %v, want at most %d", looks.opened.Load(), took, most)
	}
}

// counted counts the files that are opened to be read.
type counted struct {
	durable.FS
	opened atomic.Int64
}

func (c *counted) OpenRead(name string) (durable.File, error) {
	c.opened.Add(1)
	return c.FS.OpenRead(name)
}

// TestFloodOfApprovals stops a principal that asks without end, and no other.
func TestFloodOfApprovals(t *testing.T) {
	disk := crashfs.New()
	a := OpenApprovals(disk, "approvals")
	put := func(m Matter, now time.Time) error {
		_, err := a.Put(asked(m), now)
		return err
	}
	// Written without Put, which counts anew each time.
	must(t, disk.OwnDir("approvals"))
	for i := range mostWaiting {
		p := asked(pouring)
		p.Key, p.ID, p.Verdict = fmt.Sprint(i), fmt.Sprintf("%016x", i), Waiting
		text, err := p.encode()
		must(t, err)
		must(t, a.write(p.fileName(), text))
	}
	if err := put(pouring, start); !errors.Is(err, ErrTooManyApprovals) {
		t.Errorf("one more: %v", err)
	}
	one := pouring
	one.Key = "7"
	must(t, put(one, start)) // it waits already
	bob := pouring
	bob.Principal = "bob"
	must(t, put(bob, start))
	if _, err := a.Decide(fmt.Sprintf("%016x", 3), Refused, "operator", "", start); err != nil {
		t.Fatal(err)
	}
	must(t, put(pouring, start)) // there is room for one
	two := pouring
	two.Key = "another"
	if err := put(two, start); !errors.Is(err, ErrTooManyApprovals) {
		t.Errorf("one more: %v", err)
	}
	later := asked(two)
	later.Expires = start.Add(time.Hour).UnixNano()
	if _, err := a.Put(later, start.Add(10*time.Minute)); err != nil {
		t.Errorf("when the others have expired: %v", err)
	}
	if names, err := a.list(); len(names) != 2 || err != nil { // bob's is bob's
		t.Errorf("%d are left, %v, want 2", len(names), err)
	}
}

// TestLargeApproval is put without arguments that are too large; one whose names are too large, or no text, is not put.
func TestLargeApproval(t *testing.T) {
	a := OpenApprovals(durable.OS, t.TempDir())
	p := asked(pouring)
	p.Reason = strings.Repeat("é", 10000)
	large, err := canon.Parse([]byte(`"` + strings.Repeat("x", mostArgs-1) + `"`))
	must(t, err)
	p.Args = large
	got := put(t, a, p)
	if got.Args.Exists() || len(got.Reason) > mostText || len(got.Reason) < mostText-4 {
		t.Errorf("%d bytes of arguments, %d of the reason", len(got.Args.Bytes()), len(got.Reason))
	}
	fits, err := canon.Parse([]byte(`"` + strings.Repeat("x", mostArgs-2) + `"`))
	must(t, err)
	p.Tool, p.Args = "fits", fits
	if got := put(t, a, p); len(got.Args.Bytes()) != mostArgs {
		t.Errorf("%d bytes of arguments, want %d", len(got.Args.Bytes()), mostArgs)
	}
	for _, bad := range []string{strings.Repeat("x", mostHead), "\xff"} {
		p.Key = bad
		if got, err := a.Put(p, start); err == nil {
			t.Errorf("%.30q was put as %+v", bad, got.Matter)
		}
		if found, err := a.Find(p.Matter, start); found != nil || err != nil {
			t.Errorf("%.30q: %v, %v", bad, found, err)
		}
	}
}

// TestForgedApproval is believed by nobody: a link, an approval moved to another matter, a file that is none.
func TestForgedApproval(t *testing.T) {
	spill := pouring
	spill.Tool = "spill"
	for name, forge := range map[string]func(t *testing.T, from, to string){
		"a link": func(t *testing.T, from, to string) { must(t, os.Symlink(from, to)) },
		"a copy": func(t *testing.T, from, to string) {
			text, err := os.ReadFile(from)
			must(t, err)
			must(t, os.WriteFile(to, text, 0o600))
		},
		"a folder":      func(t *testing.T, _, to string) { must(t, os.Mkdir(to, 0o700)) },
		"an empty file": func(t *testing.T, _, to string) { must(t, os.WriteFile(to, nil, 0o600)) },
		"half a file": func(t *testing.T, from, to string) {
			text, err := os.ReadFile(from)
			must(t, err)
			text = []byte(strings.Replace(string(text), `"pour"`, `"spill"`, 1))
			must(t, os.WriteFile(to, text[:len(text)-1], 0o600))
		},
		"another verdict": func(t *testing.T, from, to string) {
			text, err := os.ReadFile(from)
			must(t, err)
			text = []byte(strings.NewReplacer(`"pour"`, `"spill"`, `"approved"`, `"agreed"`).Replace(string(text)))
			must(t, os.WriteFile(to, text, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := OpenApprovals(durable.OS, dir)
			p := put(t, a, asked(pouring))
			_, err := a.Decide(p.ID, Agreed, "operator", "", start)
			must(t, err)
			forge(t, filepath.Join(dir, pouring.fileName()), filepath.Join(dir, spill.fileName()))
			if found, err := a.Find(spill, start); found != nil || err == nil {
				t.Errorf("found %+v, %v", found, err)
			}
			list, err := a.List(start)
			if err == nil || len(list) != 1 || list[0].ID != p.ID {
				t.Errorf("listed %+v, %v", list, err)
			}
			if got, err := a.Put(asked(spill), start); name != "a folder" && (err != nil || got.Verdict != Waiting) {
				t.Errorf("put %+v, %v", got, err)
			}
			if found, err := a.Find(pouring, start); err != nil || found == nil || found.ID != p.ID {
				t.Errorf("the true one: %+v, %v", found, err)
			}
		})
	}
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	a := OpenApprovals(durable.OS, dir)
	if _, err := a.Find(pouring, start); err == nil {
		t.Error("a folder that everybody can write to was believed")
	}
	if _, err := a.Put(asked(pouring), start); err == nil {
		t.Error("a folder that everybody can write to was used")
	}
}

// TestOneAnswer lets one of many win who answer at once, and all of many who ask have one question.
func TestOneAnswer(t *testing.T) {
	dir := t.TempDir()
	var ids sync.Map
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		a := OpenApprovals(durable.OS, dir) // as processes have
		all.Go(func() {
			p, err := a.Put(asked(pouring), start)
			if err != nil {
				t.Error(err)
				return
			}
			ids.Store(p.ID, true)
			v := []Verdict{Agreed, Refused}[i%2]
			switch _, err := a.Decide(p.ID, v, "operator", fmt.Sprint(i), start); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, ErrNoApproval):
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := int32(0)
	ids.Range(func(any, any) bool { n++; return true })
	if won.Load() != n || n == 0 { // who comes after an answer asks anew
		t.Errorf("%d answers to %d questions", won.Load(), n)
	}
	a := OpenApprovals(durable.OS, dir)
	for _, v := range []Verdict{Waiting, "", "yes"} {
		if _, err := a.Decide("0123456789abcdef", v, "operator", "", start); err == nil || errors.Is(err, ErrNoApproval) {
			t.Errorf("%q was taken for an answer: %v", v, err)
		}
	}
}

// TestApprovalsAfterACrash finds, in every state that a crash could leave, the question or the answer whole, and none that
// was not given; what was reported is there.
func TestApprovalsAfterACrash(t *testing.T) {
	disk := crashfs.New()
	a := OpenApprovals(disk, "approvals")
	p, err := a.Put(asked(pouring), start)
	must(t, err)
	isPut := disk.Changes()
	_, err = a.Decide(p.ID, Agreed, "operator", "", start)
	must(t, err)
	isDecided := disk.Changes()
	states := 0
	for crash := range disk.Crashes(0) {
		states++
		after := OpenApprovals(crash.FS, "approvals")
		found, err := after.Find(pouring, start)
		if err != nil {
			t.Errorf("%v: %v", crash, err)
			continue
		}
		switch {
		case crash.After >= isDecided && (found == nil || found.Verdict != Agreed),
			crash.After >= isPut && found == nil,
			crash.After < isPut && found != nil && found.Verdict != Waiting:
			t.Errorf("%v: found %+v", crash, found)
		}
		next, err := after.Put(asked(pouring), start)
		if err != nil || next.Verdict != Waiting {
			t.Errorf("%v: put %+v, %v", crash, next, err)
		}
		other := pouring
		other.Tool = "spill"
		put(t, after, asked(other))
		if names, err := crash.FS.Names("approvals"); err != nil || strings.Contains(strings.Join(names, " "), "tmp") {
			t.Errorf("%v: the folder holds %q, %v: what the dead left is still there", crash, names, err)
		}
	}
	if states < 20 {
		t.Errorf("only %d states were looked at", states)
	}
}

// TestSweep removes what expired, whoever's it was, and nothing else.
func TestSweep(t *testing.T) {
	disk := crashfs.New()
	a := OpenApprovals(disk, "approvals")
	must(t, a.Sweep(start)) // there is no folder yet
	bob := pouring
	bob.Principal = "bob"
	long := asked(bob)
	long.Expires = start.Add(time.Hour).UnixNano()
	for _, p := range []Approval{asked(pouring), long} {
		if _, err := a.Put(p, start); err != nil {
			t.Fatal(err)
		}
	}
	before := disk.Changes()
	must(t, a.Sweep(start))
	if disk.Changes() != before {
		t.Error("it touched something where nothing has expired")
	}
	must(t, a.Sweep(start.Add(30*time.Minute)))
	names, err := a.list()
	if len(names) != 1 || err != nil {
		t.Errorf("%d are left, %v, want bob's", len(names), err)
	}
	if found, err := a.Find(bob, start); found == nil || err != nil {
		t.Errorf("bob's: %v, %v", found, err)
	}
}

// TestManyWritersOfOneProcess has more of them at once than get their turn while one waits for another process.
func TestManyWritersOfOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := crashfs.New()
		a := OpenApprovals(fsys, "a")
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() {
				if err := a.locked(func() error { time.Sleep(answerWait / 50); return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		other := OpenApprovals(fsys, "a")
		free := make(chan struct{})
		all.Go(func() { other.locked(func() error { <-free; return nil }) })
		synctest.Wait()
		began := time.Now()
		var waiting sync.WaitGroup
		for range 300 {
			waiting.Go(func() {
				if err := a.locked(func() error { return nil }); !errors.Is(err, durable.ErrLocked) {
					t.Errorf("while another process holds the folder: %v", err)
				}
			})
		}
		waiting.Wait()
		if took := time.Since(began); took < answerWait || took > 2*answerWait {
			t.Errorf("300 writers waited for another process for %v", took)
		}
		close(free)
		all.Wait()
		if err := a.locked(func() error { return nil }); err != nil {
			t.Errorf("after the other process: %v", err)
		}
	})
}
