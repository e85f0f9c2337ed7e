package session

import (
	"context"
	"os"
	"testing"

	"muxlock/cmd/lockbench/internal/subprocess"
)

func TestMain(m *testing.M) {
	subprocess.Serve(context.Background()) // a fault's delay needs a subprocess
	os.Exit(m.Run())
}
