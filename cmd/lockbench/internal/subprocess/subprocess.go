// Package subprocess is what the processes do that lockbench starts of itself, each with one
// argument.
package subprocess

import (
	"context"
	"io"
	"log"
	"os"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/procs"
)

// Commands is what each does until its standard input ends, by its argument.
var Commands = map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{
	procs.Command:  procs.Serve,
	faults.Command: faults.Serve,
}

// Main is for TestMain: it ends the process if that is one of them, started by a test.
func Main() {
	serve := Commands[os.Args[len(os.Args)-1]]
	if serve == nil {
		return
	}
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}
