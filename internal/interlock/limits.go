// Package interlock keeps what holds calls back across processes: limits, stop latches and approvals, each in a small file of
// its own. It fails closed: what cannot be read lets nothing pass.
//
// [Limits.Take] takes a token of each limit, or of none. [Stops.Check] says whether the mutations of a scope are stopped, and
// [Stops.Enter] gives the lane in which they are verified one at a time; what a process that dies leaves there is found by
// whoever comes next. [Approvals.Put] and [Approvals.Find] keep what a person was asked and said. When to stop, and whom to
// ask, is the gate's business.
package interlock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sallyport/internal/durable"
)

// Limit is how often calls may be made under a name: Calls in Per, at most Burst at once. A Burst below 1 is 1.
type Limit struct {
	Name  string
	Calls int
	Per   time.Duration
	Burst int
}

// Refusal is a limit that is used up, and how long until it allows the next call.
type Refusal struct {
	Name string
	Wait time.Duration
}

// Limits are the limits counted in one folder. They are safe for concurrent use, by several processes too.
type Limits struct {
	fsys durable.FS
	dir  string
}

// OpenLimits returns the limits counted in a folder, which Take makes if need be.
func OpenLimits(fsys durable.FS, dir string) *Limits { return &Limits{fsys, dir} }

// lockWait is how long Take waits for another process that counts.
const lockWait = 100 * time.Millisecond

// Take takes a token of each limit at a time. It returns the first limit that has none left, and then takes none.
//
// Each limit is counted by one moment: when its bucket would be full again (GCRA). A clock that was set back does not lock
// a limit for longer than its bucket takes to fill.
func (l *Limits) Take(now time.Time, limits []Limit) (*Refusal, error) {
	if len(limits) == 0 {
		return nil, nil
	}
	if err := l.fsys.OwnDir(l.dir); err != nil {
		return nil, err
	}
	limits = slices.Clone(limits)
	slices.SortFunc(limits, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) }) // one order for all who lock
	limits = slices.CompactFunc(limits, func(a, b Limit) bool { return a.Name == b.Name })
	var counts []*count
	defer func() {
		for _, c := range counts {
			c.file.Close() // which lets go of the lock
		}
	}()
	for _, limit := range limits {
		c, err := l.open(limit)
		if err != nil {
			return nil, fmt.Errorf("counting the calls of %q: %w", limit.Name, err)
		}
		counts = append(counts, c)
		if wait := c.take(now); wait > 0 {
			return &Refusal{limit.Name, wait}, nil
		}
	}
	for _, c := range counts {
		if err := c.save(); err != nil {
			return nil, fmt.Errorf("counting the calls of %q: %w", c.limit.Name, err)
		}
	}
	return nil, nil
}

// count is a limit with its file open and locked.
type count struct {
	limit Limit
	file  durable.File
	full  int64 // when the bucket is full again, in nanoseconds since the epoch
}

func (l *Limits) open(limit Limit) (*count, error) {
	sum := sha256.Sum256([]byte(limit.Name))
	name := filepath.Join(l.dir, hex.EncodeToString(sum[:16]))
	f, err := durable.OpenLocked(l.fsys, name, lockWait)
	if err != nil {
		return nil, err
	}
	c := &count{limit: limit, file: f}
	if err := c.load(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

// width is how long what is kept is: a number with leading zeros, and a newline. It is written at once and never in parts.
const width = 20

func (c *count) load() error {
	size, err := c.file.Size()
	if err != nil || size == 0 {
		return err // nothing was counted yet
	}
	text := make([]byte, width)
	if n, err := c.file.ReadAt(text, 0); err != nil && !(errors.Is(err, io.EOF) && n == width) || size != width || text[width-1] != '\n' {
		return errors.New("what was counted cannot be read; remove the folder of limits to begin anew")
	}
	c.full, err = strconv.ParseInt(string(text[:width-1]), 10, 64)
	if err != nil || c.full < 0 {
		return errors.New("what was counted is no time; remove the folder of limits to begin anew")
	}
	return nil
}

// slack is how much too early a call may come, in nanoseconds: those that run at once looked at the clock before they had
// the lock.
const slack = int64(10 * time.Millisecond)

// take takes a token, or returns how long to wait for one.
func (c *count) take(now time.Time) time.Duration {
	if c.limit.Calls < 1 || c.limit.Per <= 0 {
		return math.MaxInt64 // a limit of nothing
	}
	const most = 1 << 60 // nanoseconds, 36 years: so that nothing below overflows
	each := min(max(1, int64(c.limit.Per)/int64(c.limit.Calls)), most)
	burst := min(max(1, int64(c.limit.Burst)), most/each)
	at := now.UnixNano()
	full := min(max(c.full, at), at+burst*each) + each
	if wait := full - burst*each - at; wait > slack {
		return time.Duration(wait)
	}
	c.full = full
	return 0
}

func (c *count) save() error {
	_, err := c.file.WriteAt(fmt.Appendf(nil, "%0*d\n", width-1, c.full), 0)
	return err
}
