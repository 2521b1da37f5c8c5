// Sallyport is the gate between an AI agent and its tools.
package main

import (
	"os"
	_ "time/tzdata" // local time is right on machines without zone files, too

	"sallyport/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
