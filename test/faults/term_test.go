//go:build linux

package faults_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// TestTermination ends a server with SIGTERM in the middle of many calls. It ends in peace, and
// what it says of each call is true at that moment, without anybody's repair.
func TestTermination(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	notes := map[string]string{}
	acknowledged, refused := 0, 0
	for round := range 10 {
		s := start(t, dir, launch{})
		s.mustWrite(fmt.Sprintf("first-%d", round), "text")
		notes[fmt.Sprintf("first-%d", round)] = "text"
		waits := map[string]<-chan answer{}
		for i := range 300 {
			id := fmt.Sprintf("request-%d-%d", round, i)
			waits[id] = s.send("write_note", map[string]string{"request_id": id, "text": "text"})
		}
		time.Sleep(time.Duration(round*3) * time.Millisecond) // some moment, nothing is waited for
		must(t, s.cmd.Process.Signal(syscall.SIGTERM))
		select {
		case <-s.ended:
		case <-time.After(patience):
			t.Fatalf("the server goes on %v after SIGTERM", patience)
		}
		if s.err != nil {
			t.Errorf("after SIGTERM: %v\n%s", s.err, s.stderr)
		}
		for id, wait := range waits {
			switch a := s.await(wait); {
			case a.Status == "committed":
				acknowledged++
				notes[id] = "text"
			case a.notBegun():
				refused++
			case !a.Gone: // a request that was not even read
				t.Errorf("%s: %v", id, a)
			}
		}
		if err := dir.evidence(notes); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d calls committed, %d refused at the end", acknowledged, refused)
	mustVerify(t, dir)
}
