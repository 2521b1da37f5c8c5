//go:build linux

package faults_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestStartBesideAWritingPeer starts servers slowly while another one commits: the ledger grows
// between any two looks that a start takes, and must not be thought shorter than its claims know it.
func TestStartBesideAWritingPeer(t *testing.T) {
	t.Parallel()
	needStrace(t)
	dir := newFolder(t)
	restart(t, dir)
	busy := start(t, dir, launch{})
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				busy.writeNote(fmt.Sprintf("busy-%06d", i), "text")
			}
		}
	})
	for i := range 5 {
		s := start(t, dir, launch{wrap: []string{"strace", "-f", "-o", "/dev/null", "-P", dir.claims(),
			"-e", "trace=openat", "-e", "inject=openat:delay_enter=3000"}})
		if a := s.writeNote(fmt.Sprintf("late-%06d", i), "text"); a.Status != "committed" {
			t.Errorf("start %d: %v, want committed", i, a)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}
