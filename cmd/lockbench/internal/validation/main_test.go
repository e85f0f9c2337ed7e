package validation

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"muxlock/cmd/lockbench/internal/procs"
)

// TestMain is also a client process of a hazard: this program is started again for it.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == procs.Command {
		if err := procs.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
