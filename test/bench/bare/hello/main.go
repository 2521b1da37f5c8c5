// Command hello is a Go process that does next to nothing: the ceiling for a start.
package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
