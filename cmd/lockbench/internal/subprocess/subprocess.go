// Package subprocess has the main functions of the processes that lockbench starts of itself with
// child.Talk.
package subprocess

import (
	"context"
	"io"

	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/procs"
)

// Serve has the main functions, by the argument after child.Command. Each runs until its standard
// input ends.
var Serve = map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{
	procs.Process:  procs.Serve,
	faults.Process: faults.Serve,
}
