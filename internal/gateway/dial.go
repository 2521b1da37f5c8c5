package gateway

import (
	"context"
	"errors"
	"sync/atomic"

	"sallyport/internal/bridge"
	"sallyport/internal/canon"
	"sallyport/internal/upstream"
	"sallyport/internal/wire"
)

// dial opens a connection and does its handshake, in the era of the leg.
func (l *leg) dial(ctx context.Context) (*connection, error) {
	if l.era == wire.Legacy {
		return l.dialLegacy(ctx)
	}
	return l.dialModern(ctx)
}

// dialLegacy passes on the client's own handshake, as it came. A server that refuses it may speak the modern era only.
func (l *leg) dialLegacy(ctx context.Context) (*connection, error) {
	hello, err := l.visit.greeting()
	if err != nil {
		return nil, err
	}
	c := &connection{linked: make(chan struct{})}
	c.link, err = l.up.Open(ctx, func(in wire.Incoming) { l.heard(c, nil, in) })
	if err != nil {
		return nil, err
	}
	close(c.linked)
	hello.Hear = func(in wire.Incoming) { l.heard(c, nil, in) }
	c.welcome, err = c.link.Call(ctx, hello)
	if err == nil && !c.welcome.Error.Exists() {
		return c, nil
	}
	l.hush(c)
	if err != nil {
		return nil, err
	}
	crossed, err := l.dialAcross(ctx, hello)
	if err != nil {
		l.log("an upstream refused the handshake, and does not speak the other era", "error", err)
		return nil, &refusal{c.welcome}
	}
	return crossed, nil
}

// dialAcross puts a bridge between a legacy client and a modern server.
func (l *leg) dialAcross(ctx context.Context, hello wire.Outgoing) (*connection, error) {
	c := &connection{linked: make(chan struct{})}
	hear := func(in wire.Incoming) { l.heard(c, nil, in) }
	between := bridge.NewLegacy(hear, l.bridging())
	as := l.visit.server.identity()
	if info := hello.Params.Get("clientInfo"); info.Kind() == canon.Object {
		as.ClientInfo = info.Bytes()
	}
	if capabilities := hello.Params.Get("capabilities"); capabilities.Kind() == canon.Object {
		as.Capabilities = capabilities.Bytes()
	}
	link, welcome, err := l.up.Negotiate(ctx, as, func(in wire.Incoming) {
		l.note(in.Method)
		between.Hear(in)
	})
	if err != nil {
		return nil, err
	}
	c.raw = &tap{Link: link, note: l.note}
	c.link = between
	between.Attach(c.raw, welcome.Result)
	close(c.linked)
	if welcome.Era != wire.Modern {
		l.hush(c)
		return nil, errors.New("it speaks the legacy era")
	}
	hello.Hear = hear
	c.welcome, err = c.link.Call(ctx, hello)
	if err == nil && c.welcome.Error.Exists() {
		err = &refusal{c.welcome}
	}
	if err != nil {
		l.hush(c)
		return nil, err
	}
	return c, nil
}

// dialModern finds out what the server speaks, and puts a bridge between where that is the legacy era.
func (l *leg) dialModern(ctx context.Context) (*connection, error) {
	c := &connection{linked: make(chan struct{})}
	hear := func(in wire.Incoming) { l.heard(c, nil, in) }
	between := bridge.NewModern(hear, l.bridging())
	as := upstream.Identity{}
	as.ClientInfo, as.Capabilities = between.Identity()
	var direct atomic.Bool
	link, welcome, err := l.up.Negotiate(ctx, as, func(in wire.Incoming) {
		if direct.Load() {
			hear(in)
		} else {
			l.note(in.Method)
			between.Hear(in)
		}
	})
	if err != nil {
		between.Close()
		return nil, err
	}
	if welcome.Era == wire.Modern {
		direct.Store(true)
		between.Close()
		c.link = link
	} else {
		c.raw = &tap{Link: link, note: l.note}
		between.Attach(c.raw, welcome.Result)
		c.link = between
	}
	close(c.linked)
	result, err := canon.Skim(welcome.Result)
	if err != nil {
		l.hush(c)
		return nil, err
	}
	c.welcome = wire.Incoming{Kind: wire.Response, Result: result}
	return c, nil
}

// bridging is how eras are bridged for this client.
func (l *leg) bridging() bridge.Options {
	s := l.visit.server
	return bridge.Options{Principal: l.visit.caller.Principal, ClientInfo: s.appendInfo(nil), Log: s.log()}
}

// greeting is the client's initialize request as it is sent to upstreams.
func (v *visit) greeting() (wire.Outgoing, error) {
	v.mu.Lock()
	hello := v.hello
	v.mu.Unlock()
	if hello == nil {
		return wire.Outgoing{}, errors.New("the client has had no handshake")
	}
	return readRequest(hello, wire.Legacy)
}

// initialized returns the client's notifications/initialized, nil before it came.
func (v *visit) initialized() []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.opened
}

// identity is who we are to a server that is asked for its era.
func (s *Server) identity() upstream.Identity {
	return upstream.Identity{ClientInfo: s.appendInfo(nil), Capabilities: []byte(`{}`)}
}
