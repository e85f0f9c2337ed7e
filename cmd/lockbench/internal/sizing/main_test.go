package sizing_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain skips the simulations with -short, which the race detector uses: they are arithmetic in one
// goroutine, and take a hundred seconds there.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("simulations left out (-short)")
		return
	}
	os.Exit(m.Run())
}
