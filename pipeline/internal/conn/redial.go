package conn

import (
	"context"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/internal/redlock"
)

// The pause before a dial is drawn from half to one and a half times its mean. The mean doubles
// from FirstPause to LongestPause. It starts over once the master has been up for LongestPause: a
// master that comes and goes is not dialled each time.
const (
	FirstPause   = redlock.FirstRedial
	LongestPause = redlock.LongestRedial
)

// SleepGrowing sleeps for about *pause and doubles it. It returns false when ctx ends.
func SleepGrowing(ctx context.Context, pause *time.Duration) bool {
	from, to := redlock.RedialDelay(*pause)
	*pause = min(2**pause, LongestPause)
	select {
	case <-time.After(redlock.Jitter(from, to, fastrand.Uint32n)):
		return true
	case <-ctx.Done():
		return false
	}
}
