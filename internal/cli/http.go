package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/principal"
	"sallyport/internal/streamable"
	"sallyport/internal/wire"
)

// endpoint is the path at which MCP is served over HTTP.
const endpoint = "/mcp"

// anonymous is who asks over HTTP where there are no tokens.
const anonymous = "anonymous"

// httpFront is the server's HTTP face.
type httpFront struct {
	listener net.Listener
	handler  *streamable.Handler
	server   *http.Server
	tokens   atomic.Pointer[principal.Tokens]
	file     string
	log      *slog.Logger
	refusals refusals
}

// listenHTTP begins to listen. Without tokens only this machine may ask.
func listenHTTP(opt *serveOptions, door *gate.Gate, front *gateway.Server, wired wire.Options) (*httpFront, error) {
	f := &httpFront{file: opt.tokens, log: wired.Log, refusals: refusals{door: door}}
	if err := f.loadTokens(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", opt.http)
	if err != nil {
		return nil, withHint(fmt.Errorf("listening: %w", err), "name a free address with --http, such as 127.0.0.1:8080")
	}
	if !isLoopback(listener.Addr()) && f.file == "" {
		return nil, withHint(errors.Join(fmt.Errorf("%s can be reached from other machines, and there are no tokens", listener.Addr()), listener.Close()),
			"name a token file with --tokens (see sallyport token new), or listen on 127.0.0.1")
	}
	f.listener = listener
	f.handler = &streamable.Handler{
		MCP:      front,
		Options:  wired,
		Identify: f.identify,
		Refused:  f.refused,
		Origins:  opt.origins,
		Hosts:    opt.hosts,
		End:      front.End,
	}
	mux := http.NewServeMux()
	mux.Handle(endpoint, f.handler)
	f.server = streamable.NewServer(mux)
	return f, nil
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func (f *httpFront) identify(r *http.Request) (streamable.Caller, bool) {
	tokens := f.tokens.Load()
	if tokens == nil {
		return streamable.Caller{Principal: anonymous}, true
	}
	who, ok := tokens.Identify(r)
	return streamable.Caller{Principal: who.Name, Tenant: who.Tenant}, ok
}

// refused records that a request was not let in.
func (f *httpFront) refused(_ *http.Request, by streamable.Refusal) {
	if err := f.refusals.note(time.Now(), by); err != nil {
		f.log.Error("a refused request could not be recorded", "error", err)
	}
}

// loadTokens reads the token file, if one was named.
func (f *httpFront) loadTokens() error {
	if f.file == "" {
		return nil
	}
	tokens, err := principal.Read(f.file)
	if err != nil {
		return err
	}
	for _, note := range tokens.Notes() {
		f.log.Warn("the token file", "note", note)
	}
	f.tokens.Store(tokens)
	return nil
}

// maxRefusals is how many requests that are refused by the same are recorded in a second: a flood of them must not fill the disk.
const maxRefusals = 10

// refusalWords are the reasons as they stand in records. What a request says of itself is not in them.
var refusalWords = map[streamable.Refusal]string{
	streamable.ByHost:   "the request named a host that is not served here",
	streamable.ByOrigin: "the request came from an origin that is not let in",
	streamable.ByToken:  "the request had no good bearer token",
}

// refusals records requests that were not let in.
type refusals struct {
	door *gate.Gate

	mu     sync.Mutex // guards what follows
	second int64
	counts map[streamable.Refusal]int
}

func (r *refusals) note(now time.Time, by streamable.Refusal) error {
	r.mu.Lock()
	if second := now.Unix(); second != r.second {
		r.second, r.counts = second, map[streamable.Refusal]int{}
	}
	r.counts[by]++
	over := r.counts[by] > maxRefusals
	r.mu.Unlock()
	if over {
		return nil
	}
	return r.door.Note("http", "", anonymous, string(by), refusalWords[by])
}

// goodbye is how long open connections have to end.
const goodbye = 5 * time.Second

// serve serves until ctx is cancelled.
func (f *httpFront) serve(ctx context.Context, stderr io.Writer) error {
	fmt.Fprintf(stderr, "sallyport: listening on http://%s%s\n", f.listener.Addr(), endpoint)
	failed := make(chan error, 1)
	go func() { failed <- f.server.Serve(f.listener) }()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serving HTTP: %w", err), f.handler.Close())
	case <-ctx.Done():
	}
	err := f.handler.Close()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if shutdown := f.server.Shutdown(late); shutdown != nil {
		err = errors.Join(err, f.server.Close())
	}
	<-failed
	return err
}
