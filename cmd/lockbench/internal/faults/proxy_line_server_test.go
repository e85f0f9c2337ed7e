package faults_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/internal/clock"
	"muxlock/internal/faultproxy"
	"muxlock/internal/stats"
	"muxlock/internal/testing/redistest"
)

// pings sends count PINGs to each address at a rate, without waiting for replies. It returns the median time from write to reply in us.
func pings(t testing.TB, addrs []string, rate, count int) float64 {
	var all []net.Conn
	for _, addr := range addrs {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		all = append(all, c)
	}
	sent := make([]atomic.Int64, count) // by the clock of start
	start := time.Now()
	took := make([][]float64, len(all))
	var readers sync.WaitGroup
	for i, c := range all {
		readers.Go(func() {
			in := bufio.NewReader(c)
			for n := range count {
				if line, err := in.ReadBytes('\n'); err != nil || string(line) != "+PONG\r\n" {
					t.Errorf("%q, %v", line, err)
					return
				}
				took[i] = append(took[i], float64(time.Since(start)-time.Duration(sent[n].Load()))/1e3)
			}
		})
	}
	alarms, alarm := clock.NewAlarms(), clock.NewAlarm()
	defer alarms.Close()
	for n := range count {
		if d := time.Until(start.Add(time.Duration(n) * time.Second / time.Duration(rate))); d > 0 {
			alarms.Sleep(d, alarm, nil)
		}
		sent[n].Store(int64(time.Since(start)))
		for _, c := range all {
			_, err := c.Write([]byte("PING\r\n"))
			require.NoError(t, err)
		}
	}
	readers.Wait()
	return stats.Median(slices.Concat(took...))
}

// BenchmarkLine measures the time that the line adds to its delay.
func BenchmarkLine(b *testing.B) {
	for _, masters := range []int{1, 5} {
		servers := redistest.Masters(b, masters)
		line, err := faultproxy.OpenLine(faults.Process)
		require.NoError(b, err)
		defer line.Close()
		for _, delay := range []time.Duration{250 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
			var addrs []string
			for _, server := range servers {
				p, err := line.Proxy(server.Addr())
				require.NoError(b, err)
				p.Delay([]bench.Span{bench.Fixed(delay)})
				addrs = append(addrs, p.Addr())
			}
			for _, rate := range []int{100, 2000, 8000} {
				b.Run(fmt.Sprintf("masters=%d/delay=%v/rate=%d", masters, delay, rate), func(b *testing.B) {
					var direct, late []float64
					for b.Loop() {
						direct = append(direct, pings(b, redistest.Addrs(servers), rate, max(rate/4, 100)))
						late = append(late, pings(b, addrs, rate, max(rate/4, 100)))
					}
					b.ReportMetric(stats.Median(direct), "direct-us")
					b.ReportMetric(stats.Median(late), "line-us")
					b.ReportMetric(stats.Median(late)-stats.Median(direct)-float64(delay.Microseconds()), "extra-us")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// throughput returns the replies a second of an echo behind a delay, with window requests under way.
func throughput(t *testing.T, c net.Conn, delay time.Duration, window int) float64 {
	start, replies := time.Now(), 0
	for range window {
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		time.Sleep(delay / time.Duration(window)) // keeps them apart on the wire
	}
	buf := make([]byte, window)
	for time.Since(start) < 10*delay {
		n, err := c.Read(buf)
		require.NoError(t, err)
		replies += n
		_, err = c.Write(buf[:n])
		require.NoError(t, err)
	}
	took := time.Since(start)
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	return float64(replies) / took.Seconds()
}

func TestThroughputOfALineGrowsWithTheWindow(t *testing.T) {
	const delay = 50 * time.Millisecond
	_, c := proxied(t, bench.Fixed(delay))
	for _, window := range []int{1, 8, 64} {
		most, best := float64(window)/delay.Seconds(), 0.0
		for range 20 { // the machine may be busy with others: one calm moment is enough
			if best = max(best, throughput(t, c, delay, window)); best > most/2 {
				break
			}
		}
		require.Greater(t, best, most/2, "window %d", window)
		require.LessOrEqual(t, best, most, "window %d", window)
	}
}
