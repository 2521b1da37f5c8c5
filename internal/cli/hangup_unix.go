//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups delivers SIGHUPs until it is ended.
func hangups() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() {
		signal.Stop(c)
		close(c)
	}
}
