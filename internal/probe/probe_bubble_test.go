package probe

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/redisfake"
)

const (
	length  = 10 * time.Second
	rowsDue = 1000
)

// opened has do meet a prober of two masters, and checks that it leaves no connection. The second master undergoes before
// first, if that is not nil.
func opened(t *testing.T, before func(second *redisfake.Server), do func(t *testing.T, p *Prober, second *redisfake.Server)) {
	synctest.Test(t, func(t *testing.T) {
		masters := map[string]*redisfake.Server{"192.0.2.1:6379": redisfake.New(), "192.0.2.2:6379": redisfake.New()}
		for _, m := range masters {
			defer m.Close()
			m.Answer(func(words []string) any {
				if words[0] != "TIME" {
					return nil
				}
				now := time.Now().UnixMicro()
				now += now % 1e10 / 1000 // 1000 ppm faster
				return []string{strconv.FormatInt(now/1e6, 10), strconv.FormatInt(now%1e6, 10)}
			})
		}
		second := masters["192.0.2.2:6379"]
		if before != nil {
			before(second)
		}
		p, err := Open(t.Context(), []string{"192.0.2.1:6379", "redis://192.0.2.2:6379"}, Options{
			Every: length / rowsDue, Timeout: time.Second,
			Client: rueidis.ClientOption{DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
				return masters[addr].Dial(ctx, addr, d, c)
			}},
		})
		require.NoError(t, err)
		do(t, p, second)
		for _, l := range p.lanes {
			require.Nil(t, l.conn.Load())
		}
	})
}

// seen is what the prober reports after do has been with the second master.
func seen(t *testing.T, p *Prober, do func()) (r *Report, second Master) {
	t.Helper()
	p.Start(t.Context(), time.Now().Add(time.Minute), length)
	time.Sleep(time.Minute)
	do()
	p.all.Wait()
	r = p.Stop()
	require.Equal(t, length, r.Length)
	require.InDelta(t, rowsDue, len(r.Rows), 8*32, "8 standard deviations")
	require.Zero(t, r.Rows[0].At)
	fine, second := r.Masters[0], r.Masters[1]
	require.Equal(t, "192.0.2.1:6379", fine.Addr)
	require.Len(t, r.Rows, int(fine.RTT.Count))
	require.EqualValues(t, len(r.Rows), second.Lost+second.RTT.Count)
	require.EqualValues(t, 1, fine.RTT.Max, "whatever the other does")
	require.Zero(t, fine.Lost)
	require.Zero(t, fine.Down)
	require.InDelta(t, 1000, fine.Clock.PPM, 1)
	return r, second
}

func TestARowHasTheRoundTripToEveryMasterThroughItsOwnDelay(t *testing.T) {
	const delay = 300 * time.Millisecond // probes follow each other faster
	opened(t, func(second *redisfake.Server) { second.Slow(delay) }, func(t *testing.T, p *Prober, master *redisfake.Server) {
		r, second := seen(t, p, func() {
			time.Sleep(length / 2)
			master.Restart() // what is under way is lost
		})
		for i, row := range r.Rows {
			require.True(t, row.Trips[1] == delay || row.Trips[1] < 0 && row.At > length/2-delay && row.At < length*11/20, row)
			require.True(t, i == 0 || r.Rows[i-1].At <= row.At)
		}
		require.InDelta(t, 60, second.Lost, 55, "and what is sent until it has answered on a new connection")
		require.InEpsilon(t, delay, second.RTT.P["50"], 1e-3)
		require.InDelta(t, 1000, second.Clock.PPM, 100)
	})
}

func TestAMasterThatHangsIsLostInEveryRowAndHoldsNothingUp(t *testing.T) {
	opened(t, nil, func(t *testing.T, p *Prober, hung *redisfake.Server) {
		r, second := seen(t, p, func() {
			time.Sleep(2 * time.Second)
			hung.Slow(time.Hour)
			time.Sleep(5 * time.Second)
			hung.Slow(0)
		})
		require.InDelta(t, 0.5, second.Down, 0.02)
		for _, row := range r.Rows {
			require.True(t, row.Trips[1] < 0 || row.Trips[1] == 1 && (row.At < 2*time.Second || row.At > 7*time.Second), row)
		}
		require.Positive(t, r.Rows[len(r.Rows)-1].Trips[1])
	})
}

func TestAMasterIsDialledAgainUntilItAnswers(t *testing.T) {
	opened(t, (*redisfake.Server).Down, func(t *testing.T, p *Prober, away *redisfake.Server) {
		_, second := seen(t, p, func() {
			time.Sleep(length / 4)
			away.Up()
			time.Sleep(length / 4)
			away.Restart()
			time.Sleep(length / 4)
			away.Down()
		})
		require.InDelta(t, 0.5, second.Down, 0.05)
		require.InDelta(t, rowsDue/2, second.Lost, 8*32)
	})
}

// After a pause of this process a deadline has passed, and the answer has been there for long.
func TestAnAnswerThatIsThereIsReadAfterItsDeadline(t *testing.T) {
	const late = grace / 2
	opened(t, func(second *redisfake.Server) { second.Slow(late) }, func(t *testing.T, p *Prober, _ *redisfake.Server) {
		p.lanes[1].timeout = 0
		_, second := seen(t, p, func() {})
		require.Zero(t, second.Lost)
		require.InEpsilon(t, late, second.RTT.Max, 1e-3)
	})
}

func TestProbingEndsEarlyAndMayNeverBegin(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{0: length / 2, time.Hour: 0} { // when it begins, and for how long it lasts
		opened(t, nil, func(t *testing.T, p *Prober, _ *redisfake.Server) {
			ctx, cancel := context.WithTimeout(t.Context(), length/2)
			defer cancel()
			p.Start(ctx, time.Now().Add(ahead), length)
			p.all.Wait()
			r := p.Stop()
			require.Equal(t, want, r.Length)
			require.Len(t, r.Masters, 2)
			require.InDelta(t, want*rowsDue/length, len(r.Rows), float64(want*rowsDue/length)/2)
		})
	}
	opened(t, nil, func(t *testing.T, p *Prober, _ *redisfake.Server) {
		p.Start(t.Context(), time.Now(), length)
		require.Zero(t, p.Stop().Length)
	})
	opened(t, nil, func(t *testing.T, p *Prober, _ *redisfake.Server) { require.Nil(t, p.Stop(), "never started") })
	require.Nil(t, new(Prober).Stop())
}
