package interlock

import (
	"math/rand/v2"
	"strings"
	"testing"

	"sallyport/internal/durable/crashfs"
)

// TestWhatWasPendingIsWiped: arguments that were verified, or stopped for, are not kept in the slot, nor is what a crash left of
// them when the next call was.
func TestWhatWasPendingIsWiped(t *testing.T) {
	secret := func(length int) step { return begin([]byte(`{"args":"` + strings.Repeat("SECRET", length/6) + `"}`)) }
	times := 20
	if raceEnabled {
		times = 5
	}
	for _, length := range []int{12, pageSize, 3*pageSize + 100, mostFrame + 1} {
		for _, end := range []step{clears, stop} {
			disk := crashfs.New()
			s := OpenStops(disk, "stops")
			must(t, inLane(s, secret(length)))
			if !strings.Contains(everything(t, disk), "SECRET") {
				t.Fatal("it is not there before: the test shows nothing")
			}
			must(t, inLane(s, end))
			if strings.Contains(everything(t, disk), "SECRET") {
				t.Errorf("%d bytes are still there after %s", length, end.name)
			}
		}
		disk, found, seen := crashfs.New(), 0, 0
		s := OpenStops(disk, "stops")
		must(t, inLane(s, begin(toPour), clears))
		from := disk.Changes()
		must(t, inLane(s, secret(length), clears))
		for crash := range disk.Random(from, times, rand.New(rand.NewPCG(1, 1))) {
			seen++
			if strings.Contains(everything(t, crash.FS), "SECRET") {
				found++
			}
			next := OpenStops(crash.FS, "stops")
			if standing, _, _ := next.Check(tea); standing == Left {
				must(t, inLane(next, clears))
			}
			must(t, inLane(next, begin(toPour), clears))
			if strings.Contains(everything(t, crash.FS), "SECRET") {
				t.Errorf("%v: some of %d bytes is still there after the next call", crash, length)
			}
		}
		if found == 0 || found == seen {
			t.Errorf("after %d of %d crashes it was there: the test shows nothing", found, seen)
		}
	}
}

// TestWhatAKilledProcessWroteIsWiped, too, though it may have been at it when it was killed.
func TestWhatAKilledProcessWroteIsWiped(t *testing.T) {
	disk := crashfs.New()
	s := OpenStops(disk, "stops")
	must(t, inLane(s, begin(toPour), clears))
	f, err := disk.Open("stops/" + tea.sum().name())
	must(t, err)
	text := appendFrame(2, pending, tea, []byte(strings.Repeat("SECRET", pageSize)))
	_, err = f.WriteAt(text[:4*pageSize], mostFrame)
	must(t, err)
	must(t, inLane(s, begin(toPour), clears))
	if strings.Contains(everything(t, disk), "SECRET") {
		t.Error("it is still there")
	}
}

// everything is the text of all files of the latches.
func everything(t *testing.T, disk *crashfs.FS) string {
	t.Helper()
	names, err := disk.Names("stops")
	must(t, err)
	var all strings.Builder
	for _, name := range names {
		text, err := disk.ReadFile("stops/" + name)
		must(t, err)
		all.Write(text)
	}
	return all.String()
}
