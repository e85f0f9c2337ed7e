// Package subprocess has the main functions of the processes that lockbench starts of itself with
// child.Talk.
package subprocess

import (
	"context"
	"io"
	"log"
	"os"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/procs"
	"muxlock/internal/child"
)

// Serve has the main functions, by the argument after child.Command. Each runs until its standard
// input ends.
var Serve = map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{
	procs.Process:  procs.Serve,
	faults.Process: faults.Serve,
}

// Main is for TestMain. If a test started this process as a subprocess, Main serves and exits.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != child.Command {
		return
	}
	if err := Serve[os.Args[2]](context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}
