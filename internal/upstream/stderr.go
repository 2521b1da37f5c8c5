package upstream

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"
)

// How much of a server's stderr gets into the log.
const (
	stderrLine   = 4 << 10 // bytes of one line; the rest of it is left out
	stderrBurst  = 200     // lines at once
	stderrSecond = 50      // lines a second
)

// logStderr writes what a server says on stderr to the log, line by line, until r ends.
func logStderr(r io.Reader, log *slog.Logger) {
	in := bufio.NewReaderSize(r, stderrLine)
	let := allowance{left: stderrBurst, at: time.Now()}
	unsaid := 0
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case !let.one(time.Now()):
			unsaid++
		default:
			if unsaid > 0 {
				log.Warn("upstream floods its stderr", "lines_left_out", unsaid)
				unsaid = 0
			}
			log.Info("upstream stderr", "line", harmless(line))
		}
		for err == bufio.ErrBufferFull {
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			if unsaid > 0 {
				log.Warn("upstream floods its stderr", "lines_left_out", unsaid)
			}
			return
		}
	}
}

// allowance is a bucket of lines.
type allowance struct {
	left float64
	at   time.Time
}

// one reports whether one more line may be written now.
func (a *allowance) one(now time.Time) bool {
	a.left = min(stderrBurst, a.left+stderrSecond*now.Sub(a.at).Seconds())
	a.at = now
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

// harmless is line as text that does nothing to the terminal that shows it: control characters, and those that turn the
// direction of text, are replaced.
func harmless(line []byte) string {
	text := strings.TrimRight(string(line), " \t\r\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, // C0, DEL, C1
			r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return utf8.RuneError
		}
		return r
	}, text)
}
