package upstream

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// How long a process has to go away, each time it is asked to: by the end of its input, by SIGTERM. After SIGKILL it is
// only the kernel that can keep us waiting.
const (
	grace    = 2 * time.Second
	killable = 5 * time.Second
)

// process is a server that runs, with all that it has started in its process group.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{} // closed when the process itself has ended, and state is set
	state   string        // how it ended
	gone    chan struct{} // closed when nothing is left of its group, nor of its watcher

	mu    sync.Mutex // guards what follows
	asked time.Time  // when the group got its SIGTERM
}

// startProcess starts a server and returns our ends of its pipes.
func startProcess(cfg *Config, warn func(message string, attributes ...any)) (*process, *pipes, error) {
	path, err := lookPath(cfg.Command, cfg.Env)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, nil, err
	}
	p := &process{
		cmd: &exec.Cmd{
			Path: path, Args: append([]string{cfg.Command}, cfg.Args...), Dir: cfg.Dir,
			Env:   append([]string{}, cfg.Env...), // never nil: that would be ours
			Stdin: theirs.in, Stdout: theirs.out, Stderr: theirs.err,
			SysProcAttr: ownGroup(),
		},
		started: time.Now(), exited: make(chan struct{}), gone: make(chan struct{}),
	}
	result := make(chan error)
	go p.run(result, warn)
	err = <-result
	theirs.close()
	if err != nil {
		ours.close()
		return nil, nil, fmt.Errorf("starting %s: %w", cfg.Command, err)
	}
	return p, ours, nil
}

// run starts the process and stays until nothing is left of it. It keeps its thread for as long: on Linux the process is
// killed when the thread that started it ends, which is how it cannot outlive us (prctl(2), PR_SET_PDEATHSIG). What the
// process has started is for the watcher to kill, then.
func (p *process) run(result chan<- error, warn func(message string, attributes ...any)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		result <- err
		return
	}
	result <- nil
	defer close(p.gone)
	dismiss, err := watch(p.cmd.Process.Pid)
	if err != nil {
		warn("no watcher could be started: if sallyport is killed, what the upstream has started lives on", "error", err)
	}
	err = p.cmd.Wait()
	p.state = endOf(p.cmd, err)
	close(p.exited)
	p.endGroup()
	dismiss()
}

// endOf says how the process ended.
func endOf(cmd *exec.Cmd, err error) string {
	if cmd.ProcessState != nil {
		return cmd.ProcessState.String()
	}
	return err.Error()
}

// endGroup ends what the process has left behind. Its group has the number of the process, which nobody else gets as
// long as there is a group of that number.
func (p *process) endGroup() {
	group := p.cmd.Process.Pid
	deadline := p.terminate().Add(grace)
	killed := false
	for wait := time.Millisecond; groupLives(group); wait = min(2*wait, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			if killed {
				return // a zombie that nobody reaps, or the kernel's
			}
			killGroup(group)
			killed, deadline = true, time.Now().Add(grace/2)
		}
		time.Sleep(wait)
	}
}

// terminate sends the group its SIGTERM, once, and returns when that was.
func (p *process) terminate() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() {
		p.asked = time.Now()
		terminateGroup(p.cmd.Process)
	}
	return p.asked
}

// stop waits for the process to end, its input being closed, and makes it end where it does not. Then nothing of its
// group is left.
func (p *process) stop() error {
	if !within(p.exited, grace) {
		p.terminate()
		if !within(p.exited, grace) {
			kill(p.cmd.Process)
		}
	}
	if !within(p.gone, grace+killable) {
		return errors.New("a process of the server cannot be killed")
	}
	return nil
}

// within waits for c to be closed, and reports whether it was in time.
func within(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// pipes are one side's ends of the three.
type pipes struct{ in, out, err *os.File }

func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			f.Close()
		}
	}
}

func openPipes() (ours, theirs *pipes, err error) {
	ours, theirs = &pipes{}, &pipes{}
	defer func() {
		if err != nil {
			ours.close()
			theirs.close()
		}
	}()
	if theirs.in, ours.in, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	if ours.out, theirs.out, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	if ours.err, theirs.err, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	widen(ours.in)
	widen(ours.out)
	return ours, theirs, nil
}
