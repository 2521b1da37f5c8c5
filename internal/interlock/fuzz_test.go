package interlock

import (
	"bytes"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

// FuzzSlot holds what is read from a slot against what is written to one: what can be read is of the slot's own scope, and
// spelt again it reads the same; of two frames the later one counts; only where there is nothing, or a frame says so, it is clear.
func FuzzSlot(f *testing.F) {
	stop, left, clear := stopFrame(spilt), slotOf(tea, toPour), appendFrame(2, cleared, tea, nil)
	for _, pair := range [][2][]byte{
		{nil, nil}, {stop, nil}, {nil, stop}, {stop, left}, {clear, left}, {clear, stop}, {stop, stop}, {[]byte{'s'}, nil}, {[]byte{0}, left},
		{slotOf(tea, nil), clear}, {slotOf(tea, make([]byte, pageSize+1)), nil}, {append(stopFrame(spilt), left...), clear},
		{slotOf(Scope{"bob", ""}, toPour), clear}, {appendFrame(1<<64-1, cleared, tea, nil), nil}, {appendFrame(3, cleared, tea, toPour), clear},
		{[]byte("sallyport slot 2 1 stop 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"), nil},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		s := slot{parseBlock(tea.sum(), one), parseBlock(tea.sum(), two)}
		last := uint64(0)
		for i, text := range [][]byte{one, two} {
			b := s[i]
			if (b.fill == empty) != (len(text) == 0 || text[0] == 0) {
				t.Errorf("%q is read as %d", text, b.fill)
			}
			if b.fill == whole {
				last = max(last, b.seq)
				readsBack(t, b)
			} else if b.kind != "" {
				t.Errorf("a block that cannot be read is %q", b.kind)
			}
		}
		got, err := s.now()
		switch {
		case err != nil:
			if got.kind != "" {
				t.Errorf("an unreadable slot is %q", got.kind)
			}
			if s.blank() || (s[first].fill == whole) != (s[second].fill == whole) && last <= mostSeq {
				t.Error("it could have been read")
			}
		case s.blank():
			if got.kind != cleared {
				t.Errorf("nothing is read as %q", got.kind)
			}
		case got.scope != tea, got.seq != last, s.next() != last+1, s[first].fill != whole && s[second].fill != whole:
			t.Errorf("it is %+v, of %+v", got, s)
		}
	})
}

// readsBack spells a block again.
func readsBack(t *testing.T, b block) {
	t.Helper()
	body := b.left
	if b.kind == stopped {
		body = stopBody(b.stop)
	}
	text := appendFrame(b.seq, b.kind, b.scope, body)
	back := parseBlock(tea.sum(), text)
	if back.fill != whole || back.kind != b.kind || back.seq != b.seq || back.stop != b.stop || !bytes.Equal(back.left, b.left) || back.size != pages(len(text)) {
		t.Errorf("%+v reads back as %+v", b, back)
	}
	for _, other := range []string{cleared, pending, stopped} {
		if changed := bytes.Replace(text, []byte(" "+b.kind+" "), []byte(" "+other+" "), 1); other != b.kind && parseBlock(tea.sum(), changed).fill == whole {
			t.Errorf("%q can be made %q", b.kind, other)
		}
	}
}

// slotOf and stopFrame are the first frame of a slot, of which the one is pending and the other a stop.
func slotOf(scope Scope, left []byte) []byte { return appendFrame(1, pending, scope, left) }
func stopFrame(stop Stop) []byte             { return appendFrame(1, stopped, stop.Scope, stopBody(stop)) }

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
		text := stopFrame(Stop{Scope: one, Time: 1})
		if got := parseBlock(one.sum(), text); got.fill != whole || got.stop.Scope != one || len(text) > mostFrame {
			t.Errorf("%q reads back as %+v", one, got)
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
