package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// The official SDK's server, over HTTP in both eras.
func TestNegotiateWithSDKServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stateless bool
		era       wire.Era
	}{{true, wire.Modern}, {false, wire.Legacy}} {
		t.Run(fmt.Sprintf("stateless %v", test.stateless), func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
			endpoint := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: test.stateless}))
			t.Cleanup(endpoint.Close)
			s := New(Config{Name: "sdk", URL: endpoint.URL})
			defer s.Close()
			link, w, err := s.Negotiate(t.Context(), Identity{ClientInfo: []byte(`{"name":"x","version":"1"}`)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if w.Era != test.era {
				t.Errorf("era %d is negotiated, want %d", w.Era, test.era)
			}
			if err := link.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Over HTTP two more errors show a modern server, which must not be asked to initialize.
func TestNegotiateOverHTTP(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, answer string
		status       int
		methods      []string // that the server is asked
		saying       string   // of the error, "" for none
	}{
		{"wrong header", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"header"}}`, 400, []string{methodDiscover}, "header"},
		{"missing capability", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"needs"}}`, 400, []string{methodDiscover}, "needs"},
		{"unsupported version", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}}}`, 400,
			[]string{methodDiscover}, "2099-01-01"},
		{"plain text", `Bad Request`, 400, []string{methodDiscover, methodInitialize, "notifications/initialized"}, ""},
		{"not found", `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, 404,
			[]string{methodDiscover, methodInitialize, "notifications/initialized"}, ""},
		{"empty", ``, 200, []string{methodDiscover, methodInitialize, "notifications/initialized"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var methods []string
			endpoint := httptest.NewServer(answering(test.status, test.answer, func(method string) {
				mu.Lock()
				defer mu.Unlock()
				methods = append(methods, method)
			}))
			t.Cleanup(endpoint.Close)
			s := New(Config{Name: "x", URL: endpoint.URL, ProbeTimeout: time.Second})
			defer s.Close()
			_, w, err := s.Negotiate(t.Context(), Identity{}, nil)
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(methods, test.methods) {
				t.Errorf("the server was asked %q, want %q", methods, test.methods)
			}
			switch {
			case test.saying == "" && (err != nil || w.Version != "2025-06-18"):
				t.Errorf("got version %q and %v", w.Version, err)
			case test.saying != "" && (err == nil || !strings.Contains(err.Error(), test.saying)):
				t.Errorf("got %v, want an error that says %q", err, test.saying)
			}
		})
	}
}

// answering is a legacy server whose answer to server/discover is given, %s in it being the id.
func answering(status int, answer string, asked func(method string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		v, broken := canon.Parse(body)
		if err != nil || broken != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		method, _ := v.Get("method").Text()
		asked(method)
		w.Header().Set("Content-Type", "application/json")
		switch method {
		case methodDiscover:
			w.WriteHeader(status)
			fmt.Fprint(w, strings.ReplaceAll(answer, "%s", string(v.Get("id").Bytes())))
		case methodInitialize:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, v.Get("id").Bytes())
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.NotFoundHandler())
	endpoint.Close()
	s := New(Config{Name: "x", URL: endpoint.URL})
	defer s.Close()
	_, _, err := s.Negotiate(t.Context(), Identity{}, nil)
	if notSent := new(wire.NotSentError); !errors.As(err, &notSent) {
		t.Errorf("got %v, want a NotSentError", err)
	}
}
