package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/token"
)

// longLease outlasts a test, so a waiter that sleeps through a release is noticed.
const longLease = 60 * time.Second

// waitLimit is how long a wake-up may take on a busy machine.
const waitLimit = 10 * time.Second

func (p *Pipeline) mustTake(t testing.TB, name string, ttl time.Duration) (release func()) {
	t.Helper()
	req := Request{Op: Acquire, Name: name, Token: token.New(), TTL: ttl}
	out := outcomeOf(t, p, req)
	require.Equal(t, quorum.Won, out.Verdict, "%+v", out)
	req.Op, req.Origin = Release, out.Origin
	return func() {
		out := outcomeOf(t, p, req)
		assert.Equal(t, quorum.Won, out.Verdict, "%+v", out)
	}
}

// awaitAside starts Await; the channel gives the time at which it returned.
func awaitAside(t testing.TB, p *Pipeline, name string) <-chan time.Time {
	woken := make(chan time.Time, 1)
	go func() {
		assert.NoError(t, p.Await(t.Context(), name, longLease))
		woken <- time.Now()
	}()
	return woken
}

// untilArmed waits until n masters would push a change of each name.
func untilArmed(t testing.TB, p *Pipeline, n int, names ...string) {
	t.Helper()
	u, err := p.startWakeups()
	require.NoError(t, err)
	deadline := time.Now().Add(waitLimit)
	for {
		awaited := u.Awaited() // of all names at once: it takes as long for one
		late := slices.IndexFunc(names, func(name string) bool { return awaited[name] < n })
		if late < 0 {
			return
		}
		names = names[late:]
		if time.Now().After(deadline) {
			require.FailNow(t, "not armed", "%d masters for %q: %+v", awaited[names[0]], names[0], p.Stats())
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func requireWakes(t testing.TB, p *Pipeline, woken <-chan time.Time) time.Time {
	t.Helper()
	select {
	case at := <-woken:
		return at
	case <-time.After(waitLimit):
		require.FailNow(t, "not woken", "%+v", p.Stats())
		return time.Time{}
	}
}

// wakeUps measures from before the release is sent until Await has returned.
func wakeUps(t testing.TB, p *Pipeline, rounds int) []time.Duration {
	took := make([]time.Duration, rounds)
	for n := range took {
		release := p.mustTake(t, "a", longLease)
		woken := awaitAside(t, p, "a")
		untilArmed(t, p, len(p.masters), "a")
		start := time.Now()
		release()
		took[n] = requireWakes(t, p, woken).Sub(start)
	}
	slices.Sort(took)
	return took
}

func TestAwaitIsWokenByARealRelease(t *testing.T) {
	p, _ := overServers(t, redistest.Masters(t, 5), await.Patience)
	took := wakeUps(t, p, 200)
	t.Logf("from before the release to the wake-up: p50 %v, p99 %v", took[100], took[198])
	require.Less(t, took[199], waitLimit)
	requireNothingAwaited(t, p)
}

// BenchmarkAwait measures from before a release is sent until a waiter has woken: to the masters,
// and back over the second connections.
//
//	go test -bench Await ./pipeline
func BenchmarkAwait(b *testing.B) {
	for _, masters := range []int{1, 3, 5} {
		b.Run(fmt.Sprintf("masters=%d", masters), func(b *testing.B) {
			p, _ := overBareServers(b, masters)
			took := wakeUps(b, p, 10)[:0]
			for b.Loop() {
				took = append(took, wakeUps(b, p, 1)...)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(0, "ns/op") // the set-up of a round is not the wake-up
		})
	}
}

// Locks need no tracking. A server may refuse it in each of these ways.
func TestAwaitPollsWhereTheServerRefusesTracking(t *testing.T) {
	for _, refusal := range []string{"ACL", "RESP2", "ACL of CACHING"} {
		t.Run(refusal, func(t *testing.T) {
			cfg := Config{Timeout: await.Patience, Queue: 1 << 10}
			for _, s := range redistest.Masters(t, 3) {
				option := rueidis.ClientOption{InitAddress: []string{s.Addr()}}
				rights := "-@all +hello +ping +info +script|load +evalsha +set +get +mget +del +pttl +pexpire"
				switch refusal {
				case "RESP2":
					option.AlwaysRESP2 = true
				case "ACL of CACHING":
					rights += " +client|tracking"
					fallthrough
				default:
					command := append([]string{"ACL", "SETUSER", "locks", "on", ">secret", "~*"}, strings.Fields(rights)...)
					redistest.Command(t, s, command...)
					option.Username, option.Password = "locks", "secret"
				}
				cfg.Masters = append(cfg.Masters, Master{Address: s.Addr(), Option: option})
			}
			p, err := New(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(p.Close)
			p.mustTake(t, "a", longLease)
			p.mustTake(t, "b", 300*time.Millisecond)
			start := time.Now()
			require.NoError(t, p.Await(t.Context(), "a", 100*time.Millisecond))
			require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
			require.NoError(t, p.Await(t.Context(), "b", longLease), "the alarm is known without tracking")
			require.NoError(t, p.Await(t.Context(), "c", longLease), "so is what is free")
			require.Less(t, time.Since(start), waitLimit)
			for i := range cfg.Masters { // each Await ends with a quorum: a slow master may be read later
				await.True(t, func() bool { return p.Stats().Masters[i].Reads > 0 })
				require.False(t, p.Stats().Masters[i].Tracking)
				require.Zero(t, p.Stats().Masters[i].Pushes)
			}
		})
	}
}
