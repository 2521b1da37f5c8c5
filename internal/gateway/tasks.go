package gateway

import (
	"sync"

	"sallyport/internal/gate"
)

// task is a task as its client names it.
type task struct {
	caller gate.Caller
	id     string
}

// owner is where a task comes from.
type owner struct {
	upstream string
	tool     *gate.Tool // that began it
}

// tasks remembers whose the tasks are that upstreams have begun, so that a handle is good for nobody else, and no longer
// than its tool is. Only so many are remembered; the oldest are forgotten first.
type tasks struct {
	mu    sync.Mutex // guards what follows
	known map[task]owner
	order []task
}

const maxTasks = 10000

func (t *tasks) add(id task, of owner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[task]owner)
	}
	if _, ok := t.known[id]; ok {
		return // another upstream must not take over a task by giving its own the same id
	}
	if len(t.order) >= maxTasks {
		delete(t.known, t.order[0])
		t.order = append(t.order[:0], t.order[1:]...)
	}
	t.order = append(t.order, id)
	t.known[id] = of
}

func (t *tasks) owner(id task) (owner, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of, ok := t.known[id]
	return of, ok
}
