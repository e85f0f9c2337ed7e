package masters_test

import (
	"testing"

	"muxlock/cmd/lockbench/internal/subprocesstest"
)

func TestMain(m *testing.M) { subprocesstest.Main(m) }
