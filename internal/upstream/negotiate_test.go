//go:build unix

package upstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sallyport/internal/wire"
)

// negotiationTest is with a server that does something special, and comes to a version or to an error.
type negotiationTest struct {
	does    string
	version string // "" is an error
	saying  string
	probe   time.Duration // 0 is long
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for _, test := range []negotiationTest{
		{does: "modern", version: "2026-07-28"},
		{does: "legacy", version: "2025-11-25"},
		{does: "exits on probe", version: "2025-11-25"},
		{does: "silent on probe", version: "2025-11-25", probe: 300 * time.Millisecond},
		{does: "empty", version: "2025-11-25"},
		{does: "modern only", version: "2026-07-28", probe: 2 * time.Second}, // answers the probe too late, and refuses initialize
		{does: "error with 0", version: "2025-11-25"},
		{does: "error with -32602", version: "2025-11-25"},
		{does: "error with -32020", version: "2025-11-25"}, // means something only over HTTP
		{does: "error with 1e400", version: "2025-11-25"},
		{does: `unsupported with ["2025-06-18","2099-01-01"]`, version: "2025-11-25"},
		{does: `unsupported with ["2099-01-01"]`, saying: "2099-01-01"},
		{does: `unsupported with []`, saying: "-32022"},
		{does: `unsupported with ["2026-07-28"]`, saying: "2026-07-28"}, // it contradicts itself
		{does: `supports with ["2099-01-01"]`, saying: "2099-01-01"},
		{does: `supports with ["2025-03-26"]`, version: "2025-11-25"},
		{does: `supports with {"2026-07-28":1}`, version: "2025-11-25"},
		{does: "speaks 2024-11-05", version: "2024-11-05"},
		{does: "speaks 2025-06-18", version: "2025-06-18"},
		{does: "speaks 2026-07-28", saying: "none of ours"},
		{does: "speaks 1999-01-01", saying: "none of ours"},
		{does: "dies at initialize", saying: "died"},
	} {
		t.Run(test.does, func(t *testing.T) {
			t.Parallel()
			test.run(t)
		})
	}
}

func (test negotiationTest) run(t *testing.T) {
	t.Helper()
	cfg := self(t, test.does)
	if test.probe > 0 {
		cfg.ProbeTimeout = test.probe
	}
	s := New(cfg)
	defer s.Close()
	link, w, err := s.Negotiate(t.Context(), Identity{ClientInfo: []byte(`{"name":"x"}`)}, nil)
	if test.version == "" {
		if err == nil || !strings.Contains(err.Error(), test.saying) {
			t.Errorf("got %v, want an error that says %q", err, test.saying)
		}
		if s.failures != 1 {
			t.Errorf("%d failures are counted, want 1", s.failures)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	era := wire.Legacy
	if test.version == modernVersion {
		era = wire.Modern
	}
	if w.Version != test.version || w.Era != era || !strings.HasPrefix(string(w.Result), "{") {
		t.Errorf("got %d %s %s, want %s", w.Era, w.Version, w.Result, test.version)
	}
	called(t, link, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}`)
	if s.era != era {
		t.Errorf("era %d is remembered", s.era)
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
}

// What was found out once is not asked again; but if it fails, all is asked.
func TestNegotiateRemembersTheEra(t *testing.T) {
	t.Parallel()
	s := New(self(t, "exits on probe"))
	defer s.Close()
	for _, asked := range []string{"handshake-2", "handshake-1"} { // the first time, there was a probe before
		link, w, err := s.Negotiate(t.Context(), Identity{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.failures; n != 0 {
			t.Errorf("%d failures are counted, but the process ended of the probe", n)
		}
		if err := link.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(w.Result), asked) {
			t.Errorf("initialize had not the id %s: %s", asked, w.Result)
		}
	}
	wrong := New(self(t, "modern only"))
	defer wrong.Close()
	wrong.era = wire.Legacy
	_, w, err := wrong.Negotiate(t.Context(), Identity{}, nil)
	if err != nil || w.Era != wire.Modern {
		t.Errorf("a server that changed its era gives %v and era %d", err, w.Era)
	}
}

func TestNegotiateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cfg := self(t, "silent on probe")
	cfg.ProbeTimeout = time.Hour
	s := New(cfg)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := s.Negotiate(ctx, Identity{}, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want ctx's error", err)
	}
}

func TestIdentityMustBeJSON(t *testing.T) {
	t.Parallel()
	s := New(self(t, "legacy"))
	defer s.Close()
	if _, _, err := s.Negotiate(t.Context(), Identity{ClientInfo: []byte(`{`)}, nil); err == nil {
		t.Error("a broken identity is sent")
	}
}
