package masters_test

import (
	"testing"

	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/subprocess"
)

func TestMain(m *testing.M) {
	subprocess.Main()
	goleak.VerifyTestMain(m)
}
