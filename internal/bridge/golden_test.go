package bridge_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"sallyport/internal/bridge"
	"sallyport/internal/wire"
)

var update = flag.Bool("update", false, "write what is said into testdata/*.txtar")

// TestConversations plays the conversations in testdata/*.txtar. Archives named modern* have a modern client and a
// legacy server, those named legacy* the reverse. Each file in an archive is a conversation of its own. Its lines are:
//
//	! attach JSON    the server has said JSON in its handshake; without JSON, what the archive begins with
//	> LINE           the client sends LINE
//	< LINE           the client hears LINE
//	S< LINE          the server hears LINE
//	S> LINE          the server says LINE: an answer, or something that belongs to no call
//	S> [ID] LINE     the server says LINE on behalf of its call with that id
//	! cancel ID      the client cancels its request
//	! wait DURATION  time passes
//	! die            the server dies
//	! close          the link is closed
//
// Ids of the bridge's and sealed states stand as bridge-1, STATE-1 and so on, in the order in which they come up. MCP
// and META stand for what is below in abbreviations.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			for i, file := range archive.Files {
				t.Run(file.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						got := play(t, name, string(archive.Comment), string(file.Data))
						if *update {
							archive.Files[i].Data = []byte(got)
						} else if diff := cmp.Diff(string(file.Data), got); diff != "" {
							t.Errorf("conversation (-want +got):\n%s", diff)
						}
					})
				})
			}
		})
		if *update {
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// adapter is what Modern and Legacy have in common.
type adapter interface {
	wire.Link
	Hear(wire.Incoming)
	Attach(wire.Link, []byte)
}

// stage is where a conversation is played.
type stage struct {
	t     *testing.T
	link  *scriptedLink
	to    adapter
	era   wire.Era
	names names

	mu     sync.Mutex // guards what follows
	heard  []string
	cancel map[string]context.CancelFunc
	calls  sync.WaitGroup
}

func newStage(t *testing.T, modern bool) *stage {
	s := &stage{t: t, link: newScriptedLink(t), cancel: map[string]context.CancelFunc{}}
	opt := bridge.Options{Principal: "alice"}
	if modern {
		s.to, s.era = bridge.NewModern(s.hear, opt), wire.Modern
	} else {
		s.to, s.era = bridge.NewLegacy(s.hear, opt), wire.Legacy
	}
	t.Cleanup(func() {
		if err := s.to.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		s.calls.Wait()
	})
	return s
}

func (s *stage) hear(in wire.Incoming) { s.note(string(in.Line)) }

func (s *stage) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, line)
}

// said returns what was said since it was called last: to the server first.
func (s *stage) said() []string {
	synctest.Wait()
	var lines []string
	for _, line := range s.link.sent() {
		lines = append(lines, "S< "+s.names.hide(line))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sortAnswers(s.heard)
	for _, line := range s.heard {
		lines = append(lines, "< "+s.names.hide(line))
	}
	s.heard = nil
	return lines
}

// sortAnswers puts answers that came one right after the other in an order, since those of different requests have none.
func sortAnswers(lines []string) {
	isAnswer := func(line string) bool {
		in, err := wire.ScanIncoming([]byte(line))
		return err != nil || in.Kind == wire.Response
	}
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && isAnswer(lines[to]) {
			to++
		}
		slices.Sort(lines[from:to])
		from = to
	}
}

// send sends a line of the client's.
func (s *stage) send(line string) {
	in, err := wire.ScanIncoming([]byte(line))
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	if in.Kind != wire.Request {
		if err := s.to.Send(s.t.Context(), []byte(line)); err != nil {
			s.note("(not sent: " + err.Error() + ")")
		}
		return
	}
	r := read(s.t, line, s.era)
	r.Hear = s.hear
	ctx, cancel := context.WithCancel(s.t.Context())
	id := string(r.ID.Bytes())
	s.mu.Lock()
	s.cancel[id] = cancel
	s.mu.Unlock()
	s.calls.Go(func() {
		defer cancel()
		answer, err := s.to.Call(ctx, r)
		switch {
		case err != nil:
			s.note(fmt.Sprintf("(%s: %s)", id, describe(err)))
		case string(answer.ID.Bytes()) != id:
			s.note("(an answer for another request) " + string(answer.Line))
		default:
			s.note(string(answer.Line))
		}
	})
}

func describe(err error) string {
	var lost *wire.LostError
	var unsent *wire.NotSentError
	switch {
	case errors.As(err, &lost):
		return "lost: " + lost.Err.Error()
	case errors.As(err, &unsent):
		return "not sent: " + unsent.Err.Error()
	}
	return err.Error()
}

func (s *stage) command(command string) {
	verb, rest, _ := strings.Cut(command, " ")
	switch verb {
	case "attach":
		s.to.Attach(s.link, []byte(rest))
	case "cancel":
		s.mu.Lock()
		cancel := s.cancel[rest]
		s.mu.Unlock()
		cancel()
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d)
	case "die":
		s.link.Close()
	case "close":
		s.to.Close()
	default:
		s.t.Fatalf("unknown command %q", command)
	}
}

// play says the lines of a script and returns it with what was really said.
func play(t *testing.T, name, handshake, script string) string {
	s := newStage(t, strings.HasPrefix(name, "modern"))
	var got strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		if rest == "attach" {
			rest += " " + strings.TrimSpace(handshake)
		}
		real := s.names.show(rest)
		switch word {
		case "<", "S<":
			continue
		case ">":
			s.send(real)
		case "S>":
			on := ""
			if strings.HasPrefix(real, "[") {
				on, real, _ = strings.Cut(real[1:], "] ")
			}
			s.link.say(on, real, s.to.Hear)
		case "!":
			s.command(real)
		case "#", "":
		default:
			t.Fatalf("what is this line: %s", line)
		}
		got.WriteString(line + "\n")
		for _, line := range s.said() {
			got.WriteString(line + "\n")
		}
	}
	return got.String()
}

// names gives what is random names that are not.
type names struct{ known []string }

// abbreviations are what makes the scripts long.
var abbreviations = strings.NewReplacer(
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities"`, `"META"`,
	`io.modelcontextprotocol/`, `MCP/`)

var unabbreviated = strings.NewReplacer(
	`"META"`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities"`,
	`MCP/`, `io.modelcontextprotocol/`)

var random = regexp.MustCompile(`bridge-[0-9a-f]{24}|[0-9A-Za-z_-]{60,}`)

// hide replaces what is random by its name.
func (n *names) hide(line string) string {
	return random.ReplaceAllStringFunc(abbreviations.Replace(line), func(real string) string {
		for i := 0; i < len(n.known); i += 2 {
			if n.known[i+1] == real {
				return n.known[i]
			}
		}
		kind := "STATE"
		if strings.HasPrefix(real, "bridge-") {
			kind = "bridge"
		}
		count := 1
		for i := 0; i < len(n.known); i += 2 {
			if strings.HasPrefix(n.known[i], kind) {
				count++
			}
		}
		name := fmt.Sprintf("%s-%d", kind, count)
		n.known = append(n.known, name, real)
		return name
	})
}

var named = regexp.MustCompile(`(bridge|STATE)-[0-9]+`)

// show replaces names by what they stand for.
func (n *names) show(line string) string {
	line = named.ReplaceAllStringFunc(line, func(name string) string {
		for i := 0; i < len(n.known); i += 2 {
			if n.known[i] == name {
				return n.known[i+1]
			}
		}
		return name
	})
	return unabbreviated.Replace(line)
}
