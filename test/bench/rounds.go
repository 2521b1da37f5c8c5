//go:build linux

package main

import (
	"cmp"
	"slices"
	"syscall"
	"time"
)

// timed does something and says how long each repetition took.
type timed func() (each time.Duration, err error)

// pairs are the times of something and of its ceiling, taken in turn.
type pairs struct{ ours, ceiling []time.Duration }

// inTurn measures ours and the ceiling alternately, after one round that does not count.
func inTurn(rounds int, ours, ceiling timed) (pairs, error) {
	var p pairs
	for round := range rounds + 1 {
		below, err := ceiling()
		if err != nil {
			return p, err
		}
		own, err := ours()
		if err != nil {
			return p, err
		}
		if round > 0 {
			p.ours, p.ceiling = append(p.ours, own), append(p.ceiling, below)
		}
	}
	return p, nil
}

// slowdown is how many times as long as the ceiling ours took: the median of the pairs, each of
// which saw much the same load.
func (p pairs) slowdown() float64 {
	ratios := make([]float64, len(p.ours))
	for i := range ratios {
		ratios[i] = float64(p.ours[i]) / float64(p.ceiling[i])
	}
	return median(ratios)
}

// rates makes a row that compares how many there were in a second.
func (p pairs) rates(what string, b bar) row {
	return row{what, perSecond(median(p.ours)), perSecond(median(p.ceiling)), 1 / p.slowdown(), b}
}

// times makes a row that compares how long one took.
func (p pairs) times(what string, b bar) row {
	return row{what, brief(median(p.ours)), brief(median(p.ceiling)), p.slowdown(), b}
}

func median[T cmp.Ordered](values []T) T { return percentile(values, 50) }

// percentile is the least of the values that percent of them do not exceed.
func percentile[T cmp.Ordered](values []T, percent int) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

// wall times n repetitions of do by the clock.
func wall(n int, do func() error) timed {
	return func() (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := do(); err != nil {
				return 0, err
			}
		}
		return time.Since(start) / time.Duration(n), nil
	}
}

// typical times n repetitions of do by the clock, each on its own, and says how long one in the
// middle took: a disk that stands still for somebody else's sake now and then does not count.
func typical(n int, do func() error) timed {
	return func() (time.Duration, error) {
		var times []time.Duration
		for range n {
			start := time.Now()
			if err := do(); err != nil {
				return 0, err
			}
			times = append(times, time.Since(start))
		}
		return median(times), nil
	}
}

// cpu is the time that this process has spent on processors.
func cpu() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
