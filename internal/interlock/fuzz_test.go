package interlock

import (
	"bytes"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

// FuzzSlot holds what is read from a slot against what is written to one: what can be read is of the slot's own scope, and
// spelt again it reads the same; only one of a byte is clear.
func FuzzSlot(f *testing.F) {
	f.Add([]byte{})
	f.Add(stopFrame(spilt))
	f.Add([]byte{'s'})
	f.Add(slotOf(tea, toPour))
	f.Add(slotOf(tea, nil))
	f.Add(slotOf(tea, make([]byte, mostInline+1)))
	f.Add(append(stopFrame(spilt), slotOf(tea, toPour)...))
	f.Add(slotOf(Scope{"bob", ""}, toPour))
	f.Add([]byte("sallyport slot 1 stop 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseSlot(tea.sum(), text)
		switch {
		case err != nil:
			if got.kind != "" {
				t.Errorf("an unreadable slot is %q", got.kind)
			}
			return
		case (got.kind == "") != (len(text) <= clearSize):
			t.Errorf("%d bytes are read as %q", len(text), got.kind)
		case got.kind == "":
			return
		}
		if got.scope != tea {
			t.Errorf("it is of %+v", got.scope)
		}
		again := slotOf(got.scope, got.left)
		switch got.kind {
		case stopped:
			again = stopFrame(got.stop)
		case apart:
			again = appendFrame(apart, got.scope, []byte(got.apart))
		}
		back, err := parseSlot(tea.sum(), again)
		if err != nil || back.kind != got.kind || back.stop != got.stop || back.apart != got.apart || !bytes.Equal(back.left, got.left) {
			t.Errorf("%+v reads back as %+v, %v", got, back, err)
		}
	})
}

// slotOf is what is in a slot while a mutation is pending.
func slotOf(scope Scope, left []byte) []byte {
	text, _ := pendingFrame(scope, left)
	return text
}

// FuzzScope gives every scope a slot of its own, which says whose it is.
func FuzzScope(f *testing.F) {
	f.Add("alice", "tea", "alice", "coffee")
	f.Add("ab", "c", "a", "bc")
	f.Add("", "", "\x00", "")
	f.Add("\xff", "", "\ufffd", "")
	f.Fuzz(func(t *testing.T, p, s, q, r string) {
		one, two := Scope{p, s}, Scope{q, r}
		if (one == two) != (one.sum() == two.sum()) {
			t.Errorf("%q and %q: the slots are %v and %v", one, two, one.sum().name(), two.sum().name())
		}
		if one.check() != nil {
			return
		}
		got, err := parseSlot(one.sum(), stopFrame(Stop{Scope: one, Time: 1}))
		if err != nil || got.stop.Scope != one {
			t.Errorf("%q reads back as %q, %v", one, got.stop.Scope, err)
		}
	})
}

// FuzzApproval reads back what it spells, and of anything else only what is an approval.
func FuzzApproval(f *testing.F) {
	p := asked(pouring)
	p.ID, p.Verdict = "0123456789abcdef", Waiting
	text, err := p.encode()
	if err != nil {
		f.Fatal(err)
	}
	head, args, _ := strings.Cut(string(text), "\n")
	f.Add([]byte(head), []byte(strings.TrimSuffix(args, "\n")))
	f.Add([]byte(head), []byte{})
	f.Add([]byte(`{"verdict":"approved"}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, head, args []byte) {
		got, err := parseApproval(head, args)
		if err != nil {
			return
		}
		text, err := got.encode()
		if err != nil {
			return // a first line that was spelt shorter than ours, and is too large in ours
		}
		again, rest, _ := strings.Cut(string(text), "\n")
		back, err := parseApproval([]byte(again), []byte(strings.TrimSuffix(rest, "\n")))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(got.Args.Bytes()) > mostArgs {
			got.Args = canon.Value{}
		}
		sameApproval(t, "read back", back, got)
	})
}
