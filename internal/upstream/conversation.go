package upstream

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"sallyport/internal/wire"
)

// drainTime is how long pipes are read on when all of a server's group is gone, and somebody else still has their ends.
const drainTime = time.Second

var errClosed = errors.New("the conversation was closed")

// conversation is a link over the pipes of a process.
type conversation struct {
	*link
	process *process
	pipes   *pipes
	name    string

	leave  sync.Once
	left   chan struct{} // closed when the process is to end
	gone   chan struct{} // closed when nothing of it is left
	failed error         // why something is; set before gone is closed
}

// converse starts a process and begins a conversation with it.
func converse(cfg *Config, hear func(wire.Incoming)) (*conversation, error) {
	n := newNoise(cfg.Log, cfg.Name)
	p, ours, err := startProcess(cfg, n.warn)
	if err != nil {
		return nil, err
	}
	c := &conversation{process: p, pipes: ours, name: cfg.Name, left: make(chan struct{}), gone: make(chan struct{})}
	out, err := newSender(ours.in)
	if err != nil { // not for a pipe that has just been opened
		ours.close()
		return nil, andClosing(err, p.stop())
	}
	c.link = newLink(out, n, hear)
	go c.supervise(cfg.MaxMessage)
	return c, nil
}

// supervise reads what the process says until it has ended, and ends it when it is time to.
func (c *conversation) supervise(limit int) {
	defer close(c.gone)
	var readers sync.WaitGroup
	readers.Go(func() {
		err := c.read(wire.NewPipeReader(c.pipes.out), limit)
		c.endLink(err)
	})
	readers.Go(func() { logStderr(c.pipes.err, c.noise.log) })
	select {
	case <-c.process.exited:
		c.refuse(c.died())
		// What it has started may hold the pipe for as long as it takes to end that. No answer comes from there.
		_ = c.pipes.out.SetReadDeadline(time.Now().Add(drainTime))
	case <-c.out.broken:
		c.refuse(fmt.Errorf("the server %s takes no more input", c.name))
	case <-c.left:
	}
	c.out.close()
	c.failed = c.process.stop()
	// Only who has left the group, and so is not ours to kill, can still hold the pipes.
	late := time.AfterFunc(drainTime, func() { c.pipes.close() })
	readers.Wait()
	late.Stop()
	c.out.abandon(errClosing)
	c.out.wait.Wait()
	c.pipes.close()
}

// endLink ends the link, whose upstream says no more.
func (c *conversation) endLink(err error) {
	why := c.refusing()
	if why != errClosed {
		within(c.process.exited, grace/10) // to be able to say how it ended
		why = c.died()
	}
	if err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.noise.warn("upstream could not be read", "error", err)
	}
	c.leaveIt(why)
	c.out.abandon(why)
	c.end(why)
}

// died says that the process has ended, or is no use any more.
func (c *conversation) died() error {
	select {
	case <-c.process.exited:
		return fmt.Errorf("the server %s died (%s)", c.name, c.process.state)
	default:
		return fmt.Errorf("the server %s closed its output", c.name)
	}
}

// leaveIt lets the process be ended.
func (c *conversation) leaveIt(why error) {
	c.refuse(why)
	c.leave.Do(func() { close(c.left) })
}

// Close implements wire.Link. It takes up to four seconds with a server that minds neither the end of its input nor
// SIGTERM, and two more with what such a server has started.
func (c *conversation) Close() error {
	c.leaveIt(errClosed)
	<-c.gone
	return c.failed
}
