// Package subprocess is what the processes do that lockbench starts of itself (child.Talk).
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

// Serve is what each does until its standard input ends, by its argument behind child.Command.
var Serve = map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{
	procs.Process:  procs.Serve,
	faults.Process: faults.Serve,
}

// Main is for TestMain: it ends the process if that is one of them, started by a test.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != child.Command {
		return
	}
	if err := Serve[os.Args[2]](context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}
