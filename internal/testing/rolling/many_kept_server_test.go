package rolling

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/wire"
)

const (
	crowd     = 20_000
	crowdTTL  = 30 * time.Second
	crowdHeal = 5 * time.Second
	crowdLeft = crowdTTL*2/3 - time.Second // each lock has so much validity left: it is renewed every third of its ttl
)

var usedCPU = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)

// cpuOf returns the processor time that a master has used.
func cpuOf(t *testing.T, master *redisserver.Server) (used time.Duration) {
	info, err := wire.Ask(t.Context(), "redis://"+master.Addr(), limit, "INFO", "cpu")
	require.NoError(t, err)
	for _, found := range usedCPU.FindAllStringSubmatch(info[0].Text, -1) {
		part, err := time.ParseDuration(found[1] + "s")
		require.NoError(t, err)
		used += part
	}
	return used
}

// TestManyKeptLocksRegainAMaster restarts a master under many locks that one engine keeps.
func TestManyKeptLocksRegainAMaster(t *testing.T) {
	const name = "20,000 locks"
	if !picked(name, false) {
		t.Skip("make rolling")
	}
	t.Parallel()
	r := newRoll(t, setting{masters: 3})
	cfg := r.config()
	cfg.MaxTTL, cfg.TTL, cfg.MastersAreNew = crowdTTL, crowdTTL, true
	e, err := open(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	var locks []*engine.Lock
	for len(locks) < crowd {
		names := make([]string, 200)
		for i := range names {
			names[i] = fmt.Sprint("kept/", len(locks)+i)
		}
		for _, result := range e.AcquireMany(t.Context(), names, 0) {
			require.NoError(t, result.Err)
			require.NoError(t, result.Lock.KeepAlive(0))
			locks = append(locks, result.Lock)
		}
		time.Sleep(50 * time.Millisecond) // they are renewed at different times
	}
	left := crowdTTL
	look := func() (all int) {
		for _, lock := range locks {
			left = min(left, time.Until(lock.Until()))
			if on, of := lock.HeldOn(); on == of {
				all++
			}
		}
		return all
	}
	time.Sleep(crowdTTL / 2) // all have been renewed
	require.Equal(t, crowd, look())
	progress(name, "all are held on all masters; a lock had at least %v left", left.Round(time.Millisecond))

	restarted := r.masters[0]
	redistest.Down(t, restarted)()
	var voted time.Time
	var took time.Duration
	var seconds []string // what each second before the vote brought
	for second, cpu := time.Now().Add(time.Second), cpuOf(t, restarted); voted.IsZero() || time.Since(voted) < 2*crowdHeal; time.Sleep(10 * time.Millisecond) {
		switch s := e.Stats(); {
		case voted.IsZero() && s.Masters[0].Cause == nil:
			voted = time.Now()
			for _, before := range seconds[max(0, len(seconds)-3):] {
				progress(name, "%s", before)
			}
			progress(name, "the master votes; %d locks lack it", s.Eroded)
		case !voted.IsZero() && took == 0 && s.Eroded == 0 && look() == crowd:
			took = time.Since(voted)
			progress(name, "healed in %v", took.Round(time.Millisecond))
		}
		if time.Now().Before(second) {
			continue
		}
		look()
		s, now := e.Stats(), cpuOf(t, restarted)
		seconds = append(seconds, fmt.Sprintf("the master's CPU: %5.1f ms in a second; %d healed, %d renewed, a lock had at least %v left", ms(now-cpu), s.Healed, s.Renewed, left.Round(time.Millisecond)))
		second, cpu = second.Add(time.Second), now
		if !voted.IsZero() {
			progress(name, "%s", seconds[len(seconds)-1])
		}
	}
	s := e.Stats()
	require.Zero(t, s.Lost)
	require.Zero(t, s.RenewalsFailed)
	require.Greater(t, left, crowdLeft, "no renewal is late")
	require.NotZero(t, took)
	require.Less(t, took, crowdHeal)
	require.EqualValues(t, crowd, s.Healed)
	for _, err := range e.ReleaseMany(t.Context(), locks) {
		require.NoError(t, err)
	}
}
