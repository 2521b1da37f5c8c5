package cli

import "os"

// hangups delivers nothing: Windows has no SIGHUP.
func hangups() (<-chan os.Signal, func()) {
	c := make(chan os.Signal)
	return c, func() { close(c) }
}
