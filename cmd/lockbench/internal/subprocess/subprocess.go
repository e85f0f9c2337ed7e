// Package subprocess is what the processes do that lockbench starts of itself, each with one
// argument.
package subprocess

import (
	"context"
	"fmt"
	"io"
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
	if len(os.Args) != 2 || Commands[os.Args[1]] == nil {
		return
	}
	if err := Commands[os.Args[1]](context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	os.Exit(0)
}
