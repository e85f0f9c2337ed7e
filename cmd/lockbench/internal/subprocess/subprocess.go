// Package subprocess runs the processes that lockbench starts of itself with child.Talk.
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

// Serve returns at once in a program that a user started. A process of child.Talk serves until its standard input or
// ctx ends, and exits.
func Serve(ctx context.Context) {
	if len(os.Args) != 3 || os.Args[1] != child.Command {
		return
	}
	serve := map[string]func(context.Context, io.Reader, io.Writer) error{procs.Process: procs.Serve, faults.Process: faults.Serve}[os.Args[2]]
	if serve == nil {
		return
	}
	if err := serve(ctx, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}
