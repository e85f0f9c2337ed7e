package conn

import (
	"context"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/redlock"
)

// SleepGrowing sleeps before a dial, for about *pause less what the dial before took, and doubles it. It
// returns false when ctx ends. The pause starts over once the master has been up for
// redlock.LongestRedial: a master that comes and goes keeps its long pauses.
func SleepGrowing(ctx context.Context, pause *time.Duration, took time.Duration) bool {
	from, to := redlock.RedialDelay(*pause)
	*pause = min(2**pause, redlock.LongestRedial)
	select {
	case <-time.After(max(redlock.Jitter(from, to, fastrand.Uint32n)-took, redlock.FirstRedial/2)):
		return true
	case <-ctx.Done():
		return false
	}
}
