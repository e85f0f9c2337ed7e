package validation

import (
	"testing"

	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/subprocess"
)

// TestMain is also a client process of a hazard: this program is started again for it.
func TestMain(m *testing.M) {
	subprocess.Main()
	goleak.VerifyTestMain(m)
}
