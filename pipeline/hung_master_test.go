package pipeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMasterIsSilentOnlyWhenItCouldHaveBeenHeard(t *testing.T) {
	const timeout = 200 * time.Millisecond
	sent := time.Now()
	at := func(d time.Duration) time.Time { return sent.Add(d) }
	for _, c := range []struct {
		name               string
		asked, looked, now time.Time
		until              time.Time
		silent             bool
	}{
		{"in time", at(100), time.Time{}, at(100), at(timeout), false},
		{"time is up: a last look", at(timeout), time.Time{}, at(timeout), at(timeout + lastLook), false},
		{"which was for something earlier", at(timeout), at(-1), at(timeout), at(timeout + lastLook), false},
		{"nothing was there", at(timeout + lastLook), sent, at(timeout + lastLook), time.Time{}, true},
		{"a little late", at(timeout + lastLook), sent, at(timeout + lastLook + overslept), time.Time{}, true},
		{"stopped for 50 ms", at(timeout), time.Time{}, at(timeout + 50*time.Millisecond), at(timeout + 100*time.Millisecond), false},
		{"stopped again in the last look", at(timeout + lastLook), sent, at(timeout + lastLook + time.Second), at(2*timeout + lastLook + time.Second), false},
	} {
		until, silent := lookAgain(timeout, sent, c.asked, c.looked, c.now)
		require.Equal(t, c.silent, silent, c.name)
		if !silent {
			require.Equal(t, c.until.Sub(sent), until.Sub(sent), c.name)
		}
	}
}
