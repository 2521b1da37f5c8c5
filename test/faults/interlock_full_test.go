//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// lookerOnSmallDisk is a server behind a gate whose ledger is on a small disk, while the server's own files are elsewhere.
func lookerOnSmallDisk(t *testing.T, more string) (k *looker, ballast string) {
	t.Helper()
	disk := smallDisk(t, "size=1m,mode=0700")
	return lookerIn(t, folder(filepath.Join(disk, "ledger")), t.TempDir(), more), filepath.Join(disk, "ballast")
}

// refusedInWords: the call was not made, and its caller is told why.
func refusedInWords(answer string) bool {
	return strings.Contains(answer, `"error"`) && (strings.Contains(answer, "nothing was done") || strings.Contains(answer, `"rule":"latch"`))
}

// TestVerifiedCallOnAFullDisk: where it cannot be written down that something is to be verified it is not done; once there is
// room the same gate goes on.
func TestVerifiedCallOnAFullDisk(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	for name, more := range map[string]string{"keyed": keyedPuts, "unkeyed": ""} {
		t.Run(name, func(t *testing.T) {
			k, ballast := lookerOnSmallDisk(t, more)
			large := strings.Repeat("x", 5000)
			texts := []string{"roomy"}
			for i := range 8 {
				texts = append(texts, fmt.Sprintf("full-%d", i))
			}
			texts = append(texts, "again")
			answers := k.put(how{more: `,"pad":"` + large + `"`, before: func(i int) {
				switch i {
				case 1:
					fill(t, ballast)
				case len(texts) - 1:
					must(t, os.Remove(ballast))
				}
			}}, texts...)
			log := k.read("log")
			for i, text := range texts {
				// The last pages may take some of the calls that come when it is full, or all but the last that is to be written of one.
				done, full := verdictIn(answers[i]) == "true", strings.HasPrefix(text, "full")
				unknown := full && more != "" && strings.Contains(answers[i], "inconclusive: ")
				if !done && !unknown && (!full || !refusedInWords(answers[i])) || (done || unknown) != strings.Contains(log, "received "+text+"\n") {
					t.Errorf("%s heard %s\n%s", text, answers[i], log)
				}
			}
			if last := len(texts) - 2; verdictIn(answers[last]) != "" {
				t.Errorf("the disk was not full: %s", answers[last])
			}
			mustVerify(t, k.dir)
		})
	}
}

// TestDiskFullBetweenEffectAndVerdict: the server fills the disk while it acts, so that the gate cannot write down what it
// sees. No further call is made before there is room, and then a liar is stopped and an honest server goes on.
func TestDiskFullBetweenEffectAndVerdict(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	for name, more := range map[string]string{"keyed": keyedPuts, "unkeyed": ""} {
		for word, lies := range map[string]bool{"honest": false, "liar": true} {
			t.Run(name+" "+word, func(t *testing.T) {
				k, ballast := lookerOnSmallDisk(t, more)
				if got := k.put(how{}, "earlier")[0]; verdictIn(got) != "true" {
					t.Fatalf("the earlier call heard %s", got)
				}
				for size(t, k.dir.ledger())%4096 < 3600 { // so that the record does not fit into what the ledger has of the disk
					k.put(how{}, fmt.Sprint("more", size(t, k.dir.ledger())))
				}
				first := k.put(how{lies: lies, more: fmt.Sprintf(`,"fill":%q,"pad":"%s"`, ballast, strings.Repeat("x", 900))}, "first", "second")
				if !exists(ballast) {
					t.Fatal("the disk was not filled: the test tests nothing")
				}
				if lies && verdictIn(first[0]) == "true" || strings.Contains(k.read("log"), "received second") {
					t.Errorf("on a full disk heard %q\n%s", first, k.read("log"))
				}
				if got := k.put(how{lies: lies}, "third")[0]; !strings.Contains(got, `"error"`) && got != "" {
					t.Errorf("a gate that comes on a full disk heard %s", got)
				}
				must(t, os.Remove(ballast))
				answers := k.put(how{lies: lies}, "later", "last")
				for _, got := range answers {
					if lies != stoppedIn(got) || !lies && verdictIn(got) != "true" {
						t.Errorf("once there is room heard %s\n%s", got, k.read("log"))
					}
				}
				if records, err := os.ReadFile(k.dir.ledger()); err != nil || strings.Count(string(records), `"request_id":"key-first"`) == 0 {
					t.Errorf("the first call is not on record, %v:\n%s", err, records)
				}
				if log := k.read("log"); strings.Contains(log, "third") || strings.Count(log, "received first") != 1 {
					t.Errorf("the server did\n%s", log)
				}
				mustVerify(t, k.dir)
			})
		}
	}
}

// TestLedgerThatMayNotGrow: under a limit on the sizes of files a call is not made whose record would come after it, and would not
// fit.
func TestLedgerThatMayNotGrow(t *testing.T) {
	t.Parallel()
	k := newLooker(t, "")
	if got := k.put(how{}, "earlier")[0]; verdictIn(got) != "true" {
		t.Fatalf("the earlier call heard %s", got)
	}
	limited := []string{"sh", "-c", fmt.Sprintf(`ulimit -S -f %d; exec "$@"`, size(t, k.dir.ledger())/512+16), "sh"}
	if got := k.put(how{wrap: limited}, "next")[0]; !refusedInWords(got) || !strings.Contains(got, "ulimit -f") || strings.Contains(k.read("log"), "next") {
		t.Errorf("heard %s\n%s", got, k.read("log"))
	}
	if got := k.put(how{}, "after")[0]; verdictIn(got) != "true" {
		t.Errorf("without the limit heard %s", got)
	}
	mustVerify(t, k.dir)
}

// TestLatchesThatCannotBeWritten: the folder of the latches is there and on a disk that can only be read. What only reads and
// what is not verified goes on while nothing is stopped; what would be verified is not done.
func TestLatchesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	k := newLooker(t, "")
	if got := k.put(how{}, "earlier")[0]; verdictIn(got) != "true" {
		t.Fatalf("the earlier call heard %s", got)
	}
	stops := k.dir.path("stops")
	must(t, syscall.Mount(stops, stops, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { _ = syscall.Unmount(stops, syscall.MNT_DETACH) })
	must(t, syscall.Mount("", stops, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if err := os.WriteFile(filepath.Join(stops, "x"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("the folder can be written to (%v): the test tests nothing", err)
	}
	if got := k.put(how{}, "next")[0]; !refusedInWords(got) || strings.Contains(k.read("log"), "next") {
		t.Errorf("heard %s\n%s", got, k.read("log"))
	}
	must(t, syscall.Unmount(stops, syscall.MNT_DETACH))
	if got := k.put(how{}, "after")[0]; verdictIn(got) != "true" {
		t.Errorf("once it can be written heard %s", got)
	}
}

// TestAskedCallOnAFullDisk: a call that a person is asked about does not wait for an answer that could not be written down.
func TestAskedCallOnAFullDisk(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	k, ballast := lookerOnSmallDisk(t, "")
	if got := k.put(how{}, "earlier")[0]; verdictIn(got) != "true" {
		t.Fatalf("the earlier call heard %s", got)
	}
	must(t, os.WriteFile(k.rule, []byte("version: 2\ndefault: deny\nrules:\n  - {id: asks, decision: ask, tools: [put]}\n"), 0o600))
	fill(t, ballast)
	if got := k.put(how{}, "asked")[0]; !refusedInWords(got) {
		t.Errorf("heard %s", got)
	}
	if left, _ := filepath.Glob(k.dir.path("approvals/*-*")); len(left) > 0 {
		t.Errorf("on a full disk these were put to a person: %q", left)
	}
	if log := k.read("log"); strings.Contains(log, "asked") {
		t.Errorf("the server did\n%s", log)
	}
}

// TestRunOnAFullDisk: a run that cannot be journaled is not begun, one whose disk fills stops, and both go on once there is
// room.
func TestRunOnAFullDisk(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	disk := smallDisk(t, "size=1m,mode=0700")
	ballast := filepath.Join(disk, "ballast")
	p := newPlanner(t, "")
	p.dir = folder(filepath.Join(disk, "ledger"))
	restart(t, p.dir)
	fill(t, ballast)
	if out, code := command(t, p.args("run")...); code != 2 || !strings.HasPrefix(out, "sallyport: ") {
		t.Errorf("on a full disk it ends with %d\n%s", code, out)
	}
	if n := p.notes(); n > 0 {
		t.Errorf("on a full disk %d notes were written", n)
	}
	must(t, os.Remove(ballast))
	// Room for less and less of what a run writes, until it is not even begun.
	stopped := 0
	for room := 48 << 10; room >= 0; room -= 4 << 10 {
		fill(t, ballast)
		must(t, os.Truncate(ballast, max(0, size(t, ballast)-int64(room))))
		out, code := command(t, p.args("run")...)
		if code != 0 && code != 10 && code != 2 {
			t.Errorf("with room for %d bytes it ends with %d\n%s", room, code, out)
		}
		must(t, os.Remove(ballast))
		if code == 0 {
			continue
		}
		stopped++
		out, code = command(t, p.args("run", "--resume")...)
		if code != 0 && !(code == 2 && strings.Contains(out, "begin a new run")) {
			t.Errorf("with room for %d bytes, and then with more, it ends with %d\n%s", room, code, out)
		}
	}
	if stopped == 0 {
		t.Error("no run was stopped: the test tests nothing")
	}
	t.Logf("%d runs were stopped", stopped)
	records, err := os.ReadFile(p.dir.ledger())
	must(t, err)
	written := map[string]int{}
	for line := range strings.Lines(string(records)) {
		if strings.Contains(line, `"name":"write_note"`) && strings.Contains(line, `"outcome":"committed"`) {
			_, id, _ := strings.Cut(line, `"request_id":"`)
			id, _, _ = strings.Cut(id, `"`)
			written[id]++
		}
	}
	for id, n := range written {
		if n != 1 {
			t.Errorf("%s was written %d times", id, n)
		}
	}
	if n := p.notes(); n != len(written) {
		t.Errorf("%d notes are there, and %d on record", n, len(written))
	}
	mustVerify(t, p.dir)
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	return info.Size()
}
