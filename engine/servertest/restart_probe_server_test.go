package servertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
)

// What reaches the new process is read from its own MONITOR.
func TestRestartedMasterGetsNoCallBeforeTheProbeHasAdmittedIt(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, durable) // no wait after the probe
	cycle(t, e, t.Name())
	links[0].RefuseDials(true)
	require.NoError(t, masters[0].Kill())
	require.NoError(t, masters[0].Restart(t.Context()))
	monitor := dialWire(t, masters[0])
	require.Equal(t, "+OK", monitor.do(t, "MONITOR"))

	for i := range 20 {
		lock, err := e.TryAcquire(t.Context(), fmt.Sprint(t.Name(), "/early/", i), 20*time.Second)
		require.NoError(t, err)
		defer lock.Release(context.Background())
	}
	await.Equal(t, 4, func() any { return upMasters(e) })
	require.NotEmpty(t, cause(e, 0))
	require.Empty(t, redistest.Keys(t, masters[0]), "held back by refused dials")
	links[0].RefuseDials(false)
	await.True(t, func() bool {
		lock, err := e.TryAcquire(t.Context(), fmt.Sprint(t.Name(), "/meanwhile/", time.Now().UnixNano()), 20*time.Second)
		require.NoError(t, err)
		defer lock.Release(context.Background())
		return upMasters(e) == 5
	}, "it comes back by itself")
	lock, err := e.TryAcquire(t.Context(), t.Name()+"/late", 20*time.Second)
	require.NoError(t, err)
	defer lock.Release(context.Background())
	everywhere(t, masters, lock)
	seen := monitored(t, monitor, "/late")
	require.NoError(t, checkGate(seen, t.Name()))
}

// The engine is idle when the master is restarted. The new connection is dialled once it
// is watched.
func TestMasterRestartedWhileTheClientIsIdleIsNotGrantedOnBeforeTheProbe(t *testing.T) {
	masters := redistest.Masters(t, 5)
	e, links := bent(t, masters, durable)
	for round := range 3 {
		cycle(t, e, t.Name())
		quiet(t, e) // else what is on its way to the master notices
		times := setAside(e, 0)
		links[0].RefuseDials(true)
		require.NoError(t, masters[0].Kill())
		require.NoError(t, masters[0].Restart(t.Context()))
		monitor := dialWire(t, masters[0])
		require.Equal(t, "+OK", monitor.do(t, "MONITOR"))
		links[0].RefuseDials(false)
		await.True(t, func() bool {
			cycle(t, e, fmt.Sprint(t.Name(), "/", time.Now().UnixNano()))
			return back(e, 0, times)
		})
		name := fmt.Sprint(t.Name(), "/late/", round)
		lock, err := e.TryAcquire(t.Context(), name, 20*time.Second)
		require.NoError(t, err)
		everywhere(t, masters, lock)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, checkGate(monitored(t, monitor, name), t.Name()))
	}
}

func TestTheGateCheckerSeesACallBeforeTheProbe(t *testing.T) {
	probed := []string{
		`1.0 [0 127.0.0.1:1] "HELLO" "3"`,
		`1.1 [0 127.0.0.1:1] "INFO"`,
		`1.2 [0 127.0.0.1:1] "SET" "__muxlock__:trial:x" "x" "NX" "PX" "1000"`,
		`1.3 [0 127.0.0.1:1] "EVALSHA" "abc" "1" "__muxlock__:trial:x" "x"`,
		`1.4 [0 127.0.0.1:1] "SET" "the lock" "x" "NX" "PX" "1000"`,
	}
	require.NoError(t, checkGate(probed, "the lock"))
	require.Error(t, checkGate(append([]string{probed[4]}, probed[:4]...), "the lock"))
	require.Error(t, checkGate(append(probed[:5:5], strings.ReplaceAll(probed[4], ":1]", ":2]")), "the lock"), "another connection")
	require.Error(t, checkGate([]string{probed[1], probed[4]}, "the lock"), "no trial")
	pending := `1.15 [0 127.0.0.1:1] "EVALSHA" "abc" "1" "the lock" "x" "-"`
	require.NoError(t, checkGate([]string{probed[1], pending, probed[2], probed[4]}, "the lock"))
	require.Error(t, checkGate([]string{pending, probed[1], probed[2], probed[4]}, "the lock"))
	require.Error(t, checkGate(probed[:4], "the lock"), "nothing to check")
}

// monitored reads MONITOR's lines until a SET of a name with the text.
func monitored(t testing.TB, monitor wire, until string) (lines []string) {
	t.Helper()
	require.NoError(t, monitor.SetReadDeadline(time.Now().Add(20*time.Second)))
	for {
		line, err := monitor.ReadString('\n')
		require.NoError(t, err)
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "+")))
		if strings.Contains(line, `"SET"`) && strings.Contains(line, until) {
			return lines
		}
	}
}

// checkGate reads what a new process got and returns an error if a connection brought
// a call for a name before INFO, or made it grant a lock before the trial lock. Releases
// that are pending come in between.
func checkGate(lines []string, name string) error {
	infos, trials, grants := make(map[string]bool), make(map[string]bool), 0
	var from string // of the last command; what a script does comes after its call
	for _, line := range lines {
		source, command, _ := strings.Cut(line, "] ")
		if _, source, _ = strings.Cut(source, "["); !strings.HasSuffix(source, "lua") {
			from = source
		}
		verb, _, _ := strings.Cut(command, " ")
		switch {
		case verb == `"INFO"`:
			infos[from] = true
		case strings.Contains(command, "__muxlock__:trial:"):
			trials[from] = infos[from]
		case !strings.Contains(command, name) || verb == `"GET"` && source == from: // the test's own look
		case !infos[from]:
			return fmt.Errorf("connection %s was not probed before %s", from, command)
		case verb == `"SET"` && !trials[from]:
			return fmt.Errorf("connection %s was not admitted before %s", from, command)
		case verb == `"SET"`:
			grants++
		}
	}
	if grants == 0 {
		return errors.New("no grant was seen at all")
	}
	return nil
}
