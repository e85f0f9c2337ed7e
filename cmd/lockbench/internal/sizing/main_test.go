package sizing

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain leaves the simulations out of -short, which the race detector runs with: they
// are arithmetic in one goroutine, and a hundred seconds of it there.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("simulations left out (-short)")
		return
	}
	os.Exit(m.Run())
}
