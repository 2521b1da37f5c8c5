package interlock

import (
	"context"
	"strings"
	"testing"

	"sallyport/internal/durable/crashfs"
)

// TestWhatLiesApartIsWiped: arguments that were verified are not kept beside the slot.
func TestWhatLiesApartIsWiped(t *testing.T) {
	disk := crashfs.New()
	s := OpenStops(disk, "stops")
	lane, err := s.Enter(context.Background(), Scope{Principal: "local", Server: "files"})
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte(`{"args":"` + strings.Repeat("SECRET", mostInline) + `"}`)
	must(t, lane.Begin(secret))
	if !strings.Contains(everything(t, disk), "SECRET") {
		t.Fatal("it is not there before: the test shows nothing")
	}
	must(t, lane.Clear())
	lane.Leave()
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
