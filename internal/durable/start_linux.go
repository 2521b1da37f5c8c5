package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// StartSync lets the kernel sync by itself (Linux AIO: io_submit(2), which can sync since 4.18) and say at an eventfd that it is
// done. So no thread of ours waits in a system call meanwhile: where Go code has one processor (GOMAXPROCS=1), nothing else
// would run until the runtime's monitor finds that out. To wait for one sync alone a system call that blocks is quicker. Where
// the kernel does not do it, a goroutine does.
func (f osFile) StartSync() (wait func() error) {
	s, err := takeSyncer()
	if err != nil {
		return goSync(f)
	}
	if err := s.submit(int(f.Fd())); err != nil {
		s.giveBack()
		return goSync(f)
	}
	return s.await
}

// syncer is a place in which the kernel syncs one file at a time for us.
type syncer struct {
	context uintptr  // from io_setup(2)
	done    *os.File // an eventfd
	doneFD  int      // its descriptor: done.Fd() would have done's reads block a thread
}

// syncers are those that nobody uses now. There are as many as there were syncs at once: few, since a log has one at a time.
var syncers struct {
	sync.Mutex
	idle []*syncer
	none error // why there can be none
}

func takeSyncer() (*syncer, error) {
	syncers.Lock()
	defer syncers.Unlock()
	if n := len(syncers.idle); n > 0 {
		s := syncers.idle[n-1]
		syncers.idle = syncers.idle[:n-1]
		return s, nil
	}
	if syncers.none != nil {
		return nil, syncers.none
	}
	s, err := newSyncer()
	syncers.none = err
	return s, err
}

func (s *syncer) giveBack() {
	syncers.Lock()
	defer syncers.Unlock()
	syncers.idle = append(syncers.idle, s)
}

func newSyncer() (*syncer, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("eventfd", errno)
	}
	s := &syncer{done: os.NewFile(fd, "eventfd"), doneFD: int(fd)}
	if err := s.done.SetReadDeadline(time.Time{}); err != nil { // the runtime cannot poll it, and reads would not wait
		return nil, errors.Join(err, s.done.Close())
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&s.context)), 0); errno != 0 {
		return nil, errors.Join(os.NewSyscallError("io_setup", errno), s.done.Close())
	}
	return s, nil
}

// iocb and ioEvent are struct iocb and struct io_event of linux/aio_abi.h.
type iocb struct {
	_         [2]uint64 // data; key, and flags of reads and writes
	opcode    uint16
	_         int16 // priority
	file      uint32
	_         [4]uint64 // buffer, bytes, offset, reserved
	flags     uint32
	eventFile uint32
}

type ioEvent struct {
	_      [2]uint64 // data, object
	result int64     // 0 or an errno, negated
	_      int64
}

const (
	opDataSync    = 3 // IOCB_CMD_FDSYNC
	tellEventFile = 1 // IOCB_FLAG_RESFD
)

func (s *syncer) submit(fd int) error {
	request := &iocb{opcode: opDataSync, file: uint32(fd), flags: tellEventFile, eventFile: uint32(s.doneFD)}
	if n, _, errno := syscall.Syscall(syscall.SYS_IO_SUBMIT, s.context, 1, uintptr(unsafe.Pointer(&request))); n != 1 {
		return os.NewSyscallError("io_submit", errno)
	}
	return nil
}

// await waits for what was submitted. A syncer at which anything else failed is not used again: its sync may still run.
func (s *syncer) await() error {
	var count [8]byte
	if _, err := s.done.Read(count[:]); err != nil {
		return fmt.Errorf("waiting for a sync: %w", err)
	}
	if n := binary.NativeEndian.Uint64(count[:]); n != 1 {
		return fmt.Errorf("waiting for a sync: %d came to their end", n)
	}
	var event ioEvent
	n, _, errno := syscall.Syscall6(syscall.SYS_IO_GETEVENTS, s.context, 1, 1, uintptr(unsafe.Pointer(&event)), 0, 0)
	if n != 1 {
		return fmt.Errorf("waiting for a sync: %w", os.NewSyscallError("io_getevents", errno))
	}
	s.giveBack()
	return event.err()
}

func (e *ioEvent) err() error {
	if e.result == 0 {
		return nil
	}
	return os.NewSyscallError("fdatasync", syscall.Errno(-e.result))
}
