package faultconn

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/internal/testing/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs a test on the clock of synctest, over a pipe. The bubble itself checks that no goroutine stays behind.
func bubble(t *testing.T, test func(t *testing.T, l *Link, client, master net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLink()
		inner, master := net.Pipe()
		client := l.Wrap(inner)
		defer master.Close()
		defer client.Close()
		test(t, l, client, master)
	})
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	n, err := io.WriteString(c, s)
	require.NoError(t, err)
	require.Equal(t, len(s), n)
}

func read(t *testing.T, c net.Conn, n int) string {
	t.Helper()
	buf := make([]byte, n)
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	return string(buf)
}

// requireSilence checks that nothing can be read within d, and that the deadline is kept to the instant.
func requireSilence(t *testing.T, c net.Conn, d time.Duration) {
	t.Helper()
	begin := time.Now()
	require.NoError(t, c.SetReadDeadline(begin.Add(d)))
	n, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Zero(t, n)
	require.Equal(t, d, time.Since(begin))
	require.NoError(t, c.SetReadDeadline(time.Time{}))
}

func TestDelayedRepliesKeepOrderAndPace(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		const delay, count = 20 * time.Millisecond, 1000
		l.Delay(delay)
		begin := time.Now()
		go func() {
			for i := range count {
				fmt.Fprintf(master, "%04d", i)
				time.Sleep(100 * time.Microsecond)
			}
		}()
		for i := range count {
			require.Equal(t, fmt.Sprintf("%04d", i), read(t, client, 4))
			require.Equal(t, delay+time.Duration(i)*100*time.Microsecond, time.Since(begin))
		}
	})
}

func TestDelaysOfBothDirectionsAddUp(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.DelayRequests(30 * time.Millisecond)
		l.Delay(20 * time.Millisecond)
		begin := time.Now()
		write(t, client, "a")
		require.Equal(t, "a", read(t, master, 1))
		require.Equal(t, 30*time.Millisecond, time.Since(begin))
		write(t, master, "b")
		requireSilence(t, client, 5*time.Millisecond)
		require.Equal(t, "b", read(t, client, 1))
		require.Equal(t, 50*time.Millisecond, time.Since(begin))
	})
}

func TestChangedDelayHoldsForBytesUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.Delay(time.Hour)
		write(t, master, "a")
		time.AfterFunc(time.Second, func() { l.Delay(0) })
		begin := time.Now()
		require.Equal(t, "a", read(t, client, 1))
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestBlackHoleHonoursDeadlinesAndHeals(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.BlackHole(true)
		write(t, client, "request")
		write(t, master, "reply")
		requireSilence(t, client, time.Second)
		requireSilence(t, master, time.Second)

		// A deadline set while a read hangs ends it.
		time.AfterFunc(time.Second, func() { client.SetDeadline(time.Now()) })
		_, err := client.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = client.Write([]byte("late"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, client.SetDeadline(time.Time{}))

		l.BlackHole(false)
		require.Equal(t, "request", read(t, master, 7))
		require.Equal(t, "reply", read(t, client, 5))
	})
}

func TestBlackHoleHidesTheEndOfTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.BlackHole(true)
		master.Close()
		requireSilence(t, client, time.Second)
		l.BlackHole(false)
		_, err := client.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestWritesIntoABlackHoleBlockOnceItIsFull(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.BlackHole(true)
		begin := time.Now()
		require.NoError(t, client.SetWriteDeadline(begin.Add(time.Second)))
		written, block := 0, make([]byte, 1<<20)
		var err error
		for err == nil {
			var n int
			n, err = client.Write(block)
			written += n
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, capacity, written)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestHeldRepliesWaitWhileRequestsPass(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.HoldReplies(true)
		write(t, client, "request")
		require.Equal(t, "request", read(t, master, 7))
		write(t, master, "reply")
		requireSilence(t, client, time.Second)
		l.HoldReplies(false)
		require.Equal(t, "re", read(t, client, 2))
		require.Equal(t, "ply", read(t, client, 3))
	})
}

func TestCutEndsBothSidesAlsoInABlackHole(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.BlackHole(true)
		write(t, client, "lost")
		time.AfterFunc(time.Second, l.Cut)
		_, err := client.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = client.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = master.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestCutLeavesTheNextConnectionAlone(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.CutRepliesAfter(0)
		go master.Write([]byte("x"))
		_, err := client.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)

		inner, master2 := net.Pipe()
		defer master2.Close()
		client2 := l.Wrap(inner)
		defer client2.Close()
		go master2.Write([]byte("fine"))
		require.Equal(t, "fine", read(t, client2, 4))
	})
}

func TestCutAfterBytes(t *testing.T) {
	for _, k := range []int{0, 1, 4, 7} {
		bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
			l.CutRequestsAfter(k)
			write(t, client, "one ")
			if _, err := io.WriteString(client, "two "); err != nil { // the first may have cut it already
				require.Less(t, k, len("one "))
				require.ErrorIs(t, err, syscall.ECONNRESET)
			}
			got, err := io.ReadAll(master)
			require.NoError(t, err)
			require.Equal(t, "one two "[:k], string(got))
			_, err = client.Read(make([]byte, 1))
			require.ErrorIs(t, err, syscall.ECONNRESET)
		})
		bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
			l.CutRepliesAfter(k)
			go func() {
				master.Write([]byte("one "))
				master.Write([]byte("two "))
			}()
			got, err := io.ReadAll(client)
			require.ErrorIs(t, err, syscall.ECONNRESET)
			require.Equal(t, "one two "[:k], string(got))
		})
	}
}

func TestCloseEndsTheConnectionUnderEveryFault(t *testing.T) {
	for name, bend := range map[string]func(*Link){
		"none":         func(l *Link) {},
		"delay":        func(l *Link) { l.Delay(time.Hour); l.DelayRequests(time.Hour) },
		"black hole":   func(l *Link) { l.BlackHole(true) },
		"held replies": func(l *Link) { l.HoldReplies(true) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
				bend(l)
				write(t, client, "nobody reads this")
				failed := make(chan error)
				go func() {
					_, err := client.Read(make([]byte, 1))
					failed <- err
				}()
				synctest.Wait()
				begin := time.Now()
				go client.Close()
				require.ErrorIs(t, <-failed, net.ErrClosed)
				require.NoError(t, client.Close())
				require.LessOrEqual(t, time.Since(begin), closeGrace)
				require.Empty(t, l.conns)
				_, err := client.Write([]byte("x"))
				require.ErrorIs(t, err, net.ErrClosed)
				require.ErrorIs(t, client.SetDeadline(time.Time{}), net.ErrClosed)
			})
		})
	}
}

func TestRequestsWrittenBeforeCloseArrive(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		var got []byte
		var done sync.WaitGroup
		done.Go(func() { got, _ = io.ReadAll(master) })
		write(t, client, "farewell")
		require.NoError(t, client.Close())
		done.Wait()
		require.Equal(t, "farewell", string(got))
	})
}

func TestRequestsUnderWayAreLostOnCloseUnlessTheyOutliveIt(t *testing.T) {
	for _, outlive := range []bool{false, true} {
		bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
			l.OutliveClose(outlive)
			l.BlackHole(true)
			write(t, client, "late")
			require.NoError(t, client.Close())
			if outlive {
				requireSilence(t, master, time.Hour)
			}
			l.BlackHole(false)
			got, err := io.ReadAll(master)
			require.NoError(t, err)
			require.Equal(t, map[bool]string{true: "late"}[outlive], string(got))
		})
	}
}

func TestStrandedRequestsArriveAfterThoseOfTheNextConnection(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.OutliveClose(true)
		l.Strand(time.Second)
		write(t, client, "late")
		require.NoError(t, client.Close())
		inner, next := net.Pipe()
		defer next.Close()
		again, err := l.DialBy(t.Context(), func(context.Context) (net.Conn, error) { return inner, nil })
		require.NoError(t, err)
		defer again.Close()
		start := time.Now()
		write(t, again, "soon")
		require.Equal(t, "soon", read(t, next, 4))
		require.Zero(t, time.Since(start))
		require.Equal(t, "late", read(t, master, 4))
		require.Equal(t, time.Second, time.Since(start))
		l.RefuseDials(true)
		_, err = l.DialBy(t.Context(), nil)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

func TestCutEndsWhatOutlivedClose(t *testing.T) {
	bubble(t, func(t *testing.T, l *Link, client, master net.Conn) {
		l.OutliveClose(true)
		l.BlackHole(true)
		write(t, client, "late")
		require.NoError(t, client.Close())
		l.Cut()
		got, err := io.ReadAll(master)
		require.NoError(t, err)
		require.Empty(t, got)
	})
}

func TestDialsAreCountedRefusedAndSwallowed(t *testing.T) {
	address := Echo(t)
	l := NewLink()
	dial := func(timeout time.Duration) error {
		c, err := l.Dial(t.Context(), address, &net.Dialer{Timeout: timeout}, nil)
		if err == nil {
			c.Close()
		}
		return err
	}
	require.NoError(t, dial(0))
	l.RefuseDials(true)
	require.ErrorIs(t, dial(0), syscall.ECONNREFUSED)
	l.RefuseDials(false)

	l.BlackHole(true)
	err := dial(10 * time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
	healed := make(chan error)
	go func() { healed <- dial(0) }()
	await.Equal(t, 4, func() any { return l.Dials() })
	l.BlackHole(false)
	require.NoError(t, <-healed)

	_, err = Links{"other:1": l}.Dial(t.Context(), "unknown:1", &net.Dialer{}, nil)
	require.ErrorContains(t, err, "unknown:1")
	c, err := Links{address: l}.Dial(t.Context(), address, &net.Dialer{}, nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, 5, l.Dials())
}
