package interlock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sallyport/internal/durable"
)

// BenchmarkCheck measures the look at a scope that is clear against its ceiling in the same run, one look at the status of
// the same file. A slot that is there and clear is what every scope has after its first verified mutation.
func BenchmarkCheck(b *testing.B) {
	for _, slot := range []string{"clear", "absent"} {
		b.Run(slot, func(b *testing.B) {
			dir := b.TempDir()
			s := OpenStops(durable.OS, dir)
			path := filepath.Join(dir, tea.sum().name())
			if slot == "clear" {
				if err := inLane(s, begin(toPour), clears); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			ours := time.Duration(0)
			ceiling := time.Duration(0)
			const round = 100 // in turns, so that both meet the same machine
			for b.Loop() {
				began := time.Now()
				for range round {
					if standing, _, err := s.Check(tea); standing != Clear {
						b.Fatal(standing, err)
					}
				}
				between := time.Now()
				for range round {
					os.Lstat(path)
				}
				ours += between.Sub(began)
				ceiling += time.Since(between)
			}
			each := float64(ours.Nanoseconds()) / float64(b.N*round)
			b.ReportMetric(each, "ns/check")
			b.ReportMetric(each*float64(ours+ceiling)/float64(ours)-each, "ns/lstat")
			b.ReportMetric(float64(ours)/float64(ceiling), "x-lstat")
		})
	}
}

// BenchmarkLane measures what the lane adds to a verified mutation, each step for itself. Begin has the only sync.
func BenchmarkLane(b *testing.B) {
	s := OpenStops(durable.OS, b.TempDir())
	var lane *Lane
	steps := []struct {
		unit string
		do   func() error
		took time.Duration
	}{
		{"µs/enter", func() (err error) { lane, err = s.Enter(noWait, tea); return err }, 0},
		{"µs/begin", func() error { return lane.Begin(toPour) }, 0},
		{"µs/clear", func() error { return lane.Clear() }, 0},
		{"µs/leave", func() error { lane.Leave(); return nil }, 0},
	}
	for b.Loop() {
		for i := range steps {
			began := time.Now()
			if err := steps[i].do(); err != nil {
				b.Fatal(err)
			}
			steps[i].took += time.Since(began)
		}
	}
	for _, step := range steps {
		b.ReportMetric(float64(step.took.Nanoseconds())/1e3/float64(b.N), step.unit)
	}
}
