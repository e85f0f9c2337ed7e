package masters_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/subprocess"
)

func TestMain(m *testing.M) {
	subprocess.Serve(context.Background())
	goleak.VerifyTestMain(m)
}
