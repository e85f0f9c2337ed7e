package session

import (
	"os"
	"testing"

	"muxlock/cmd/lockbench/internal/subprocess"
)

func TestMain(m *testing.M) {
	subprocess.Main() // a delay is put in by a process of this program
	os.Exit(m.Run())
}
