package cli

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"sallyport/internal/durable"
	"sallyport/internal/notes"
)

// crashWait is how long a write stands still for a test to kill the process.
const crashWait = 30 * time.Second

// armCrash makes the first note stop, once its data is durable and before its name is there, for
// long enough to be killed; it touches the file marker to say when. The file must not exist: an
// armed server must not be talked into writing to, or through, something that is there.
func armCrash(n *notes.Notes, marker string, stderr io.Writer) {
	if marker == "" {
		return
	}
	fmt.Fprintf(stderr, "sallyport: WARNING: THE TEST SWITCH CRASH_MARKER IS ON: the next note will touch %s and stand still for %v before it is published. Unset it outside tests.\n", marker, crashWait)
	var armed atomic.Bool
	armed.Store(true)
	n.BeforePublish = func() error {
		if !armed.Swap(false) {
			return nil
		}
		f, err := durable.OS.Create(marker)
		if err != nil {
			armed.Store(true)
			return fmt.Errorf("touching the crash marker, which must not exist yet: %w", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("touching the crash marker: %w", err)
		}
		time.Sleep(crashWait)
		return nil
	}
}
