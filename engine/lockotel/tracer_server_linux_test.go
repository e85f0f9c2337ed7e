package lockotel

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

func TestEachAcquireOfTwoProcessesIsASpanWithItsOutcome(t *testing.T) {
	masters := redistest.Masters(t, 3)
	var all sync.WaitGroup
	outs := make([]string, 2)
	for i := range outs {
		_, out := redistest.StartSelf(t, service, masters)
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "ready\n", line)
		all.Go(func() {
			text, _ := io.ReadAll(out)
			outs[i] = string(text)
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); all.Wait() }()
	for ended := false; !ended; { // outages of a majority, longer than a lease
		pass := func(d time.Duration) {
			select {
			case <-done:
				ended = true
			case <-time.After(d):
			}
		}
		for _, m := range masters[:2] {
			require.NoError(t, m.Pause())
		}
		pass(700 * time.Millisecond)
		for _, m := range masters[:2] {
			require.NoError(t, m.Resume())
		}
		pass(2 * time.Second)
	}
	for _, text := range outs {
		t.Log(text)
		require.True(t, strings.HasPrefix(text, "map["), text)
	}
	for _, outcome := range []string{"acquired:", "taken:", "no_quorum:", "lost:", "renewal failed:"} {
		require.Contains(t, strings.Join(outs, ""), outcome)
	}
}
