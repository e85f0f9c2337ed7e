package probe

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
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

// tracked is a connection that says when it is closed.
type tracked struct {
	net.Conn
	gone func()
}

func (c tracked) Close() error {
	c.gone()
	return c.Conn.Close()
}

// opened has do meet a prober of two masters, and checks that it leaves no connection open. The second master undergoes
// before first, if that is not nil.
func opened(t *testing.T, before func(second *redisfake.Server), do func(t *testing.T, p *Prober, second *redisfake.Server)) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int64
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
				conn, err := masters[addr].Dial(ctx, addr, d, c)
				if err != nil {
					return nil, err
				}
				open.Add(1)
				return tracked{conn, sync.OnceFunc(func() { open.Add(-1) })}, nil
			}},
		})
		require.NoError(t, err)
		do(t, p, second)
		require.Zero(t, open.Load())
	})
}

// seen is what the prober reports after do has been with the second master.
func seen(t *testing.T, p *Prober, do func()) (r *Report, fine, second Master) {
	t.Helper()
	p.Start(t.Context(), time.Now().Add(time.Minute), length)
	time.Sleep(time.Minute)
	do()
	p.all.Wait()
	r = p.Stop()
	require.Equal(t, length, r.Length)
	require.InDelta(t, rowsDue, len(r.Rows), 8*32, "8 standard deviations")
	require.Zero(t, r.Rows[0].At)
	fine, second = r.Masters[0], r.Masters[1]
	require.Equal(t, "192.0.2.1:6379", fine.Addr)
	require.Len(t, r.Rows, fine.RTT.Count)
	require.EqualValues(t, len(r.Rows), second.Lost+int64(second.RTT.Count))
	require.EqualValues(t, 1, fine.RTT.Max, "whatever the other does")
	require.Zero(t, fine.Lost)
	require.Zero(t, fine.Down)
	require.InDelta(t, 1000, fine.Clock.PPM, 1)
	return r, fine, second
}

func TestARowHasTheRoundTripToEveryMasterThroughItsOwnDelay(t *testing.T) {
	const delay = 300 * time.Millisecond // probes follow each other faster
	opened(t, func(second *redisfake.Server) { second.Slow(delay) }, func(t *testing.T, p *Prober, _ *redisfake.Server) {
		r, _, second := seen(t, p, func() {})
		for i, row := range r.Rows {
			require.Equal(t, []time.Duration{1, delay}, row.Trips)
			require.True(t, i == 0 || r.Rows[i-1].At <= row.At)
		}
		require.Zero(t, second.Lost)
		require.Equal(t, delay, second.RTT.P["50"])
		require.InDelta(t, 1000, second.Clock.PPM, 100)
	})
}

func TestProbesUnderWayAreLostWithTheirConnection(t *testing.T) {
	const delay = 300 * time.Millisecond
	opened(t, func(second *redisfake.Server) { second.Slow(delay) }, func(t *testing.T, p *Prober, master *redisfake.Server) {
		r, _, second := seen(t, p, func() {
			time.Sleep(length / 2)
			master.Restart()
		})
		require.InDelta(t, 30, second.Lost, 8*5.5)
		require.Positive(t, second.Lost)
		for _, row := range r.Rows {
			require.True(t, row.Trips[1] == delay || row.Trips[1] < 0 && row.At > length/2-delay && row.At < length*11/20, row)
		}
	})
}

func TestAMasterThatHangsIsLostInEveryRowAndHoldsNothingUp(t *testing.T) {
	opened(t, nil, func(t *testing.T, p *Prober, hung *redisfake.Server) {
		r, _, second := seen(t, p, func() {
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
		_, _, second := seen(t, p, func() {
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
	opened(t, (*redisfake.Server).Down, func(t *testing.T, p *Prober, _ *redisfake.Server) {
		_, _, second := seen(t, p, func() {})
		require.InDelta(t, 1, second.Down, 0.02)
		require.Nil(t, second.Clock)
	})
}

// After a pause of this process a deadline has passed, and the answer has been there for long.
func TestAnAnswerThatIsThereIsReadAfterItsDeadline(t *testing.T) {
	const late = grace / 2
	opened(t, func(second *redisfake.Server) { second.Slow(late) }, func(t *testing.T, p *Prober, _ *redisfake.Server) {
		p.lanes[1].timeout = 0
		_, _, second := seen(t, p, func() {})
		require.Zero(t, second.Lost)
		require.Equal(t, late, second.RTT.Max)
	})
}

func TestProbingEndsEarlyAndMayNeverBegin(t *testing.T) {
	for name, end := range map[string]func(p *Prober, at time.Time){
		"never begins": func(p *Prober, at time.Time) { p.Start(context.Background(), at.Add(time.Hour), length) },
		"its ctx": func(p *Prober, at time.Time) {
			ctx, cancel := context.WithTimeout(context.Background(), length/2)
			p.Start(ctx, at, length)
			<-ctx.Done()
			p.all.Wait()
			cancel()
		},
		"Stop": func(p *Prober, at time.Time) {
			p.Start(context.Background(), at, length)
			time.Sleep(length / 2)
		},
	} {
		opened(t, nil, func(t *testing.T, p *Prober, _ *redisfake.Server) {
			end(p, time.Now())
			r, want := p.Stop(), length/2
			if name == "never begins" {
				want = 0
			}
			require.Equal(t, want, r.Length, name)
			require.Len(t, r.Masters, 2)
			require.InDelta(t, want*rowsDue/length, len(r.Rows), 8*23, name)
			require.Equal(t, want == 0, r.Rows == nil)
		})
	}
	opened(t, nil, func(t *testing.T, p *Prober, _ *redisfake.Server) { require.Nil(t, p.Stop(), "never started") })
	require.Nil(t, new(Prober).Stop())
}
