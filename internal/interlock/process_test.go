package interlock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sallyport/internal/durable"
)

// noWait is for what has nobody to wait for.
var noWait = context.Background()

const childEnv = "INTERLOCK_TEST_CHILD"

// TestMain is also the other process of the tests below: it does the words of its input, one after the other, and says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(dir string) error {
	s := OpenStops(durable.OS, dir)
	var l *Lane
	words := bufio.NewScanner(os.Stdin)
	for words.Scan() {
		var err error
		answer := "ok"
		switch words.Text() {
		case "enter":
			l, err = s.Enter(noWait, tea)
		case "begin":
			err = l.Begin(toPour)
		case "clear":
			err = l.Clear()
		case "stop":
			err = l.Stop(spilt)
		case "leave":
			l.Leave()
		case "check":
			var standing Standing
			standing, _, err = s.Check(tea)
			answer = standing.String()
		case "turns":
			err = turns(s, dir, 40)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", words.Text(), err)
		}
		fmt.Println(answer)
	}
	return words.Err()
}

// turns takes the lane again and again, and each time adds a letter to a file for which no other lock is taken.
func turns(s *Stops, dir string, times int) error {
	for range times {
		l, err := s.Enter(noWait, tea)
		if err != nil {
			return err
		}
		if err := l.Begin(toPour); err != nil {
			return err
		}
		text, _ := os.ReadFile(dir + "/count")
		if err := os.WriteFile(dir+"/count", append(text, 'x'), 0o600); err != nil {
			return err
		}
		if err := l.Clear(); err != nil {
			return err
		}
		l.Leave()
	}
	return nil
}

// peer is another process.
type peer struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func newPeer(t *testing.T, dir string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &peer{t, cmd, in, bufio.NewScanner(out)}
	t.Cleanup(p.kill)
	return p
}

func (p *peer) say(word string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, word)
	must(p.t, err)
}

func (p *peer) hear(want string) {
	p.t.Helper()
	p.out.Scan()
	if got := p.out.Text(); got != want {
		p.t.Fatalf("the other process says %q, want %q", got, want)
	}
}

func (p *peer) do(words ...string) {
	p.t.Helper()
	for _, word := range words {
		p.say(word)
		p.hear("ok")
	}
}

// kill is kill -9.
func (p *peer) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// TestProcessKilledInALane is seen by others for what it is: busy while it lives, left when it died between Begin and Clear,
// stopped if it came that far; and its lane is free.
func TestProcessKilledInALane(t *testing.T) {
	for _, test := range []struct {
		words       []string
		alive, dead Standing
	}{
		{[]string{"enter"}, Clear, Clear},
		{[]string{"enter", "begin"}, Busy, Left},
		{[]string{"enter", "begin", "clear"}, Clear, Clear},
		{[]string{"enter", "begin", "clear", "begin"}, Busy, Left},
		{[]string{"enter", "begin", "stop"}, Stopped, Stopped},
		{[]string{"enter", "begin", "leave"}, Left, Left},
	} {
		t.Run(strings.Join(test.words, " "), func(t *testing.T) {
			dir := t.TempDir()
			s := openStops(t, dir)
			wantStanding(t, s, tea, Clear) // so that nothing it may remember helps
			p := newPeer(t, dir)
			p.do(test.words...)
			wantStanding(t, s, tea, test.alive)
			if test.words[len(test.words)-1] != "leave" {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				if _, err := s.Enter(ctx, tea); err == nil {
					t.Error("two processes have the lane")
				}
			}
			p.kill()
			wantStanding(t, s, tea, test.dead)
			l := enter(t, s, tea)
			standing, _, left := l.Found()
			if standing != test.dead || (string(left) == string(toPour)) != (test.dead == Left) {
				t.Errorf("found %v, %q, want %v", standing, left, test.dead)
			}
		})
	}
}

// TestStopIsSeenByOtherProcesses that looked a moment ago, and so is its release.
func TestStopIsSeenByOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	s := openStops(t, dir)
	p := newPeer(t, dir)
	check := func(want Standing) {
		t.Helper()
		p.say("check")
		p.hear(want.String())
	}
	for range 3 {
		check(Clear)
		l := enter(t, s, tea)
		must(t, l.Begin(toPour))
		check(Busy)
		must(t, l.Stop(spilt))
		check(Stopped)
		l.Leave()
		check(Stopped)
		must(t, s.Release(t.Context(), spilt))
	}
	check(Clear)
}

// TestLaneIsOfOneProcess has processes change a file that only the lane guards; each comes to its turn.
func TestLaneIsOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	peers := []*peer{newPeer(t, dir), newPeer(t, dir), newPeer(t, dir)}
	for _, p := range peers {
		p.say("turns")
	}
	for _, p := range peers {
		p.hear("ok")
	}
	text, err := os.ReadFile(dir + "/count")
	if err != nil || len(text) != 120 {
		t.Errorf("%d turns count, %v, want 120", len(text), err)
	}
}

// TestLaneIsSharedFairly lets another process in while this one never stops asking.
func TestLaneIsSharedFairly(t *testing.T) {
	dir := t.TempDir()
	s := openStops(t, dir)
	p := newPeer(t, dir)
	done := make(chan struct{})
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			for {
				select {
				case <-done:
					ended <- nil
					return
				default:
				}
				l, err := s.Enter(noWait, tea)
				if err != nil {
					ended <- err
					return
				}
				time.Sleep(time.Millisecond)
				l.Leave()
			}
		}()
	}
	p.do("enter", "leave", "enter", "leave")
	began := time.Now()
	for range 10 {
		p.do("enter", "leave")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("ten turns took %v", took)
	}
	close(done)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
