package redistest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// as is set in the environment of the processes that tests start.
const as = "TEST_AS_PROGRAM"

var binary string

// Main runs tests, or, in a process that a test has started, main. It exits. So a program need not be linked a second time.
func Main(tests func() int, main func()) {
	if os.Getenv(as) != "" {
		main() // exits
	}
	// A test waits for a process nearly all its time.
	err := flag.Set("test.parallel", "6")
	if err == nil {
		binary, err = os.Executable()
	}
	if err = errors.Join(err, os.Setenv(as, "1")); err != nil {
		panic(err)
	}
	os.Exit(tests())
}

// Program returns this test binary. A process that a test starts of it is the program that it tests: see Main.
func Program(t testing.TB) string {
	t.Helper()
	NeedProcess(t)
	return binary
}

// Run runs the program to its end.
func Run(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, Program(t), args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &log, env
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NotContains(t, log.String(), "goroutine ", "a panic")
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// Children returns the children of a process, zombies only if they are asked for.
func Children(t testing.TB, pid int, zombies bool) (children []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range stats {
		text, _ := os.ReadFile(file) // the process may have ended
		_, fields, _ := strings.Cut(string(text), ") ")
		var state string
		var parent int
		if fmt.Sscan(fields, &state, &parent); parent == pid && (zombies || state != "Z") {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			children = append(children, child)
		}
	}
	return children
}
