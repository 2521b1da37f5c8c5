//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Several servers share a ledger folder, each with a client that sends many notes at once, over
// request_ids that all clients use. Each server is killed again and again, at random, while the
// others live, and torn ends are put behind the ledger and the claims, as a dying writer would.

func TestSoakTwoServers(t *testing.T)  { soak(t, 2, 12*time.Second) }
func TestSoakFourServers(t *testing.T) { soak(t, 4, 6*time.Second) }

const (
	soakClients = 16 // calls that each server has at once
	soakIDs     = 40 // request_ids that are in use at a time
)

// seed is FAULTS_SEED, or another one each time.
func seed(t *testing.T) uint64 {
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		must(t, err)
		n = given
	}
	t.Logf("FAULTS_SEED=%d", n)
	return n
}

// truth is what was acknowledged, by whichever server.
type truth struct {
	mu       sync.Mutex // guards what follows
	texts    map[string]string
	against  map[string]bool // id and text that were answered with a conflict
	sent     map[string]bool
	answers  map[string]int
	failures []string
	newest   int // the ids in use are those of the window that ends here
}

// pick chooses a request_id and a text for it: mostly the one text that everybody sends.
func (tr *truth) pick(rng *rand.Rand) (id, text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if rng.IntN(4) == 0 {
		tr.newest++
	}
	n := max(0, tr.newest-rng.IntN(soakIDs))
	id, text = fmt.Sprintf("soak-request-%d", n), "the usual text"
	if rng.IntN(10) == 0 {
		text = "another text"
	}
	tr.sent[id] = true
	return id, text
}

// note holds an answer against those before.
func (tr *truth) note(id, text string, a answer) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.answers[a.String()]++
	acknowledged, known := tr.texts[id]
	switch {
	case a.Gone || a.Status == "in_flight" || a.notBegun():
	case a.Status == "conflict":
		tr.against[id+text] = true
		if known && acknowledged == text {
			tr.failures = append(tr.failures, fmt.Sprintf("%s: %q was acknowledged, and then a conflict", id, text))
		}
	case !done(a.Status):
		tr.failures = append(tr.failures, fmt.Sprintf("%s: %v", id, a))
	case known && acknowledged != text:
		tr.failures = append(tr.failures, fmt.Sprintf("%s: %q was acknowledged, and then %q", id, acknowledged, text))
	case tr.against[id+text]:
		tr.failures = append(tr.failures, fmt.Sprintf("%s: %q was a conflict, and then acknowledged", id, text))
	default:
		tr.texts[id] = text
	}
}

// notBegun reports whether a server that was told to end says that it did nothing.
func (a answer) notBegun() bool {
	return a.refusedSafely() && strings.Contains(a.Message, "shutting down and has not begun")
}

func soak(t *testing.T, servers int, length time.Duration) {
	t.Parallel()
	raced(t) // is built before the time runs
	dir := newFolder(t)
	n := seed(t)
	tr := &truth{texts: map[string]string{}, against: map[string]bool{}, sent: map[string]bool{}, answers: map[string]int{}}
	deadline := time.Now().Add(length)
	var wg sync.WaitGroup
	kills := make([]int, servers)
	for i := range servers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(n, uint64(i)))
			for time.Now().Before(deadline) {
				oneLife(t, dir, tr, rng)
				kills[i]++
			}
		})
	}
	planted := 0
	rng := rand.New(rand.NewPCG(n, 1000))
	for time.Now().Before(deadline) {
		time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond) // a random moment, nothing is waited for
		for _, file := range []string{dir.ledger(), dir.claims()} {
			if err := plantTorn(file, rng); err == nil {
				planted++
			} else if !errors.Is(err, os.ErrNotExist) {
				t.Errorf("planting a torn end: %v", err)
			}
		}
	}
	wg.Wait()
	t.Logf("kills %v, %d torn ends, %d ids sent, %d acknowledged, answers %v", kills, planted, len(tr.sent), len(tr.texts), tr.answers)
	for _, failure := range tr.failures {
		t.Error(failure)
	}
	settle(t, dir, tr)
}

// oneLife starts a server, keeps it busy, and kills it at a random moment.
func oneLife(t *testing.T, dir folder, tr *truth, rng *rand.Rand) {
	s := start(t, dir, launch{raced: true})
	var wg sync.WaitGroup
	for range soakClients {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		wg.Go(func() {
			for {
				id, text := tr.pick(own)
				a := <-s.send("write_note", map[string]string{"request_id": id, "text": text})
				tr.note(id, text, a)
				if a.Gone {
					return
				}
			}
		})
	}
	first := s.send("write_note", map[string]string{"request_id": "soak-request-0", "text": "the usual text"})
	if rng.IntN(4) > 0 { // else it may die while it starts
		<-first
	}
	time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond) // a random moment, nothing is waited for
	if rng.IntN(5) == 0 {
		syscall.Kill(s.cmd.Process.Pid, syscall.SIGTERM)
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond) // it may or may not end in peace
	}
	s.kill()
	wg.Wait()
	if text := s.stderr.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "no such file") {
		t.Errorf("a server complains:\n%s", text)
	}
}

// plantTorn leaves half a line at a file's end, as a writer does that dies in a write.
func plantTorn(name string, rng *rand.Rand) error {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close() // and with it the lock
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	_, err = file.WriteString(strings.Repeat("torn", 1+rng.IntN(3000)))
	return err
}

// settle starts a last server, has it answer for every id once more, and looks at everything.
func settle(t *testing.T, dir folder, tr *truth) {
	s := start(t, dir, launch{raced: true})
	waits := map[string]<-chan answer{}
	for id := range tr.sent {
		text, acknowledged := tr.texts[id]
		if !acknowledged {
			text = "the usual text"
		}
		waits[id] = s.send("write_note", map[string]string{"request_id": id, "text": text})
	}
	notes := map[string]string{}
	for id, wait := range waits {
		a := s.await(wait)
		text, acknowledged := tr.texts[id]
		switch {
		case acknowledged && a.Status != "replay":
			t.Errorf("%s was acknowledged, and its last retry answered %v", id, a)
		case acknowledged:
			notes[id] = text
		case a.Status == "conflict":
			notes[id] = "another text"
		case done(a.Status):
			notes[id] = "the usual text"
		default:
			t.Errorf("the last retry of %s: %v", id, a)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if err := dir.evidence(notes); err != nil {
		t.Error(err)
	}
	mustVerify(t, dir)
	checkTorn(t, dir)
	if out, code := command(t, "status", string(dir)); code != 0 || !strings.Contains(out, "no server") {
		t.Errorf("status: exit code %d: %s", code, out)
	}
}

// checkTorn: each torn end was set aside whole, and the ledger's are told of in records.
func checkTorn(t *testing.T, dir folder) {
	t.Helper()
	all, err := dir.records()
	must(t, err)
	for _, r := range all {
		if r.TornFile == "" {
			continue
		}
		if info, err := os.Stat(dir.path(r.TornFile)); err != nil || info.Size() != r.TornBytes {
			t.Errorf("a record tells of %d torn bytes in %s: %v", r.TornBytes, r.TornFile, err)
		}
	}
	if files, err := filepath.Glob(dir.path("*.torn-*")); err != nil || len(files) == 0 {
		t.Errorf("torn ends were planted, and none was set aside: %v", err)
	}
}
