// Package subprocesstest lets a test binary serve as a subprocess of lockbench.
package subprocesstest

import (
	"context"
	"log"
	"os"
	"testing"

	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/subprocess"
	"muxlock/internal/child"
)

// Main is a TestMain that also finds leaked goroutines.
func Main(m *testing.M) {
	Serve()
	goleak.VerifyTestMain(m)
}

// Serve is for a TestMain. If a test started this process as a subprocess, Serve serves and exits.
func Serve() {
	if len(os.Args) != 3 || os.Args[1] != child.Command {
		return
	}
	if err := subprocess.Serve[os.Args[2]](context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}
