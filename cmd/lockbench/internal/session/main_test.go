package session

import (
	"os"
	"testing"

	"muxlock/cmd/lockbench/internal/subprocesstest"
)

func TestMain(m *testing.M) {
	subprocesstest.Serve() // a fault's delay needs a subprocess
	os.Exit(m.Run())
}
