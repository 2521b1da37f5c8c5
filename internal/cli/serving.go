package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/gateway"
	"sallyport/internal/hook"
	"sallyport/internal/interlock"
	"sallyport/internal/pin"
	"sallyport/internal/wire"
)

// serving is a server while it is put together and runs.
type serving struct {
	opt    serveOptions
	log    *slog.Logger
	stores *stores
	door   *gate.Gate
	front  *gateway.Server
	lock   atomic.Pointer[pin.Lock] // nil: nothing is pinned
	http   *httpFront               // nil: stdin and stdout
}

func newServing(opt serveOptions, log *slog.Logger, stderr io.Writer) (*serving, error) {
	s := &serving{opt: opt, log: log}
	for _, note := range opt.notes {
		log.Warn("passed over in the servers file", "what", note)
	}
	p, err := opt.loadPolicy()
	if err != nil {
		return nil, err
	}
	lock, err := s.loadLock()
	if err != nil {
		return nil, err
	}
	s.lock.Store(lock)
	var tools []*gate.Tool
	if s.stores, err = openStores(opt.ledger); err != nil {
		return nil, err
	}
	if opt.builtin {
		armCrash(s.stores.notes, os.Getenv("CRASH_MARKER"), stderr)
		checks, err := openChecks(opt.checks)
		if err != nil {
			return nil, errors.Join(err, s.stores.close())
		}
		tools = append(s.stores.notes.Tools(), checks.Tools()...)
	}
	s.door = gate.New(p, s.stores.ledger, s.stores.claims, log)
	s.door.World = *worldOf("")
	if homes := s.door.World.Homes; len(homes) > 0 {
		s.door.Limits = interlock.OpenLimits(durable.OS, filepath.Join(hook.StateDir(homes[0]), "limits"))
	}
	s.door.Stops, s.door.Approvals = stopsOf(opt.ledger), approvalsOf(opt.ledger)
	s.front = &gateway.Server{Door: s.door, Tools: tools, Version: Version, Log: log}
	for _, u := range opt.upstreams(log) {
		s.front.Upstreams = append(s.front.Upstreams, u)
	}
	s.front.Lock = s.lock.Load
	if opt.http != "" {
		s.http, err = listenHTTP(&opt, s.door, s.front, s.wired())
	}
	if err != nil {
		return nil, errors.Join(err, s.stores.close())
	}
	return s, nil
}

func (s *serving) wired() wire.Options {
	return wire.Options{MaxLine: s.opt.maxLine, MaxCalls: s.opt.maxCalls, Log: s.log}
}

// loadLock reads the pins; nil where nothing is pinned.
func (s *serving) loadLock() (*pin.Lock, error) {
	if len(s.opt.behind) == 0 {
		return nil, nil
	}
	return s.opt.loadLock()
}

// run serves until there is nobody to serve any more, or ctx is cancelled.
func (s *serving) run(ctx context.Context, signals *signals, stdin io.Reader, stdout, stderr io.Writer) error {
	if s.http == nil && len(s.opt.behind) > 0 && os.Getenv("GOMAXPROCS") == "" {
		// One client at one pipe: what goes on at once waits for others, and with a second thread each message costs the time
		// in which that one is woken (measured: 32 calls in flight take a quarter less with one).
		runtime.GOMAXPROCS(1)
	}
	defer s.endsWith(ctx)()
	out := newAnswerer(stdout)
	var background sync.WaitGroup
	background.Go(func() {
		present := announce(s.opt.ledger, s.door.Policy(), s.log)
		defer present.leave()
		out.release() // whoever has an answer finds the server in sallyport status
		for range signals.hangup {
			s.reload(present)
		}
	})
	background.Go(func() {
		out.awaitFirst()
		s.mend(ctx)
	})
	signals.heard()
	var err error
	if s.http != nil {
		err = s.http.serve(ctx, stderr)
	} else {
		unattended, leave := context.WithCancel(context.Background())
		defer leave()
		s.door.Unattended = unattended
		opt := s.wired()
		opt.Ended = leave
		err = s.front.ServeLines(ctx, stdin, out, opt)
	}
	out.done()
	err = errors.Join(err, out.shut())
	signals.close()
	err = errors.Join(err, s.front.Close())
	background.Wait()
	return errors.Join(err, s.stores.close())
}

// endsWith lets what an upstream has not answered some seconds after ctx was cancelled be given up. What it returns is to be
// called at the end.
func (s *serving) endsWith(ctx context.Context) func() {
	ending, end := context.WithCancel(context.Background())
	s.door.Ending = ending
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(goodbye, end) })
	return func() { stop(); end() }
}

// mend settles and sweeps up what crashes left behind. Nobody waits for it: a call for a key that is not settled yet settles
// it itself, and a sweep touches nothing of the living.
func (s *serving) mend(ctx context.Context) {
	if err := s.door.Recover(ctx, s.front.Tools); err != nil && ctx.Err() == nil {
		s.log.Error("what an earlier crash left could not all be settled", "error", err)
	}
	if err := s.door.Approvals.Sweep(time.Now()); err != nil {
		s.log.Error("approvals that expired could not all be swept up", "error", err)
	}
	if err := s.stores.notes.Sweep(); err != nil {
		s.log.Error("what an earlier crash left could not all be swept up", "error", err)
	}
}

// reload swaps the policy, the pins and the tokens for what their files say now. A bad file changes nothing, but is told on
// stderr and, for as long as it is bad, by sallyport status.
func (s *serving) reload(present *presence) {
	p, err := s.opt.loadPolicy()
	var lock *pin.Lock
	if err == nil {
		lock, err = s.loadLock()
	}
	if err == nil && s.http != nil {
		err = s.http.loadTokens()
	}
	if err != nil {
		s.log.Error("the policy was NOT loaded again, the old one goes on deciding", "error", err, "hint", hintOf(err))
		present.tell(s.door.Policy(), staleness{err: err.Error(), since: time.Now()})
		return
	}
	s.lock.Store(lock)
	s.door.SetPolicy(p)
	s.front.Refresh()
	s.log.Info("the policy was loaded again", "policy", p.Name(), "sha256", p.Digest())
	present.tell(p, staleness{})
}
