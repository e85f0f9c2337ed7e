package pipeline

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
)

func TestInspectionTakesOneRoundTripBehindWhatWasSentBefore(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		p := b.started()
		require.NoError(t, p.Start(Request{Op: Acquire, Name: "a", Token: "token of a", TTL: hour}, ignored{}))
		start := time.Now()
		values, err := p.Inspect(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, time.Millisecond, time.Since(start))
		for i, v := range values {
			require.Equal(t, Value{Address: b.fakes[i].address, Token: "token of a", Left: hour}, v)
		}
		require.Len(t, values, 5)
	})
}

type ignored struct{}

func (ignored) Decided(Outcome)     {}
func (ignored) Counted(_, _ uint64) {}
func (ignored) Over() bool          { return false }

func TestInspectionGoesOnWithoutAMasterThatHangs(t *testing.T) {
	for why, c := range map[error]struct{ ctx, took time.Duration }{
		errHung:                  {hour, testTimeout},
		context.DeadlineExceeded: {testTimeout / 2, testTimeout / 2},
	} {
		inBubble(t, 5, func(t *testing.T, b *bubble) {
			p := b.started()
			b.fakes[1].set(func() { b.fakes[1].stalled = true })
			ctx, cancel := context.WithTimeout(t.Context(), c.ctx)
			defer cancel()
			start := time.Now()
			values, err := p.Inspect(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, c.took, time.Since(start))
			require.Equal(t, Value{Address: b.fakes[1].address, Err: why}, values[1])
			for _, i := range []int{0, 2, 3, 4} {
				require.Equal(t, Value{Address: b.fakes[i].address}, values[i])
			}
			time.Sleep(testTimeout)
			values, err = p.Inspect(t.Context(), "a")
			require.NoError(t, err)
			require.Equal(t, errHung, values[1].Err, "why it is away")
			b.fakes[1].set(func() { b.fakes[1].stalled = false })
		})
	}
}

func TestInspectionEndsWithTheConnection(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		p := b.started()
		b.fakes[2].set(func() { b.fakes[2].stalled = true })
		time.AfterFunc(10*time.Millisecond, b.fakes[2].cut)
		start := time.Now()
		values, err := p.Inspect(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, 10*time.Millisecond, time.Since(start))
		require.Error(t, values[2].Err)
		require.NoError(t, values[0].Err)
	})
}

func TestInspectionsAreBounded(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		p := b.started()
		f := b.fakes[0]
		f.set(func() { f.stalled = true })
		done := make(chan error, 2*mostInspections)
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 * mostInspections {
			go func() {
				_, err := p.Inspect(ctx, "a")
				done <- err
			}()
		}
		synctest.Wait()
		require.Equal(t, mostInspections, p.Stats().Masters[0].InFlight)
		cancel()
		refused := 0
		for range 2 * mostInspections {
			if <-done != nil {
				refused++
			}
		}
		require.Equal(t, mostInspections, refused, "those that waited")
		f.set(func() { f.stalled = false })
		time.Sleep(10 * time.Millisecond)
		_, err := p.Inspect(t.Context(), "a")
		require.NoError(t, err)
	})
}

func TestClosedPipelineInspectsNothingAndEndsWhatIsUnderWay(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		p := b.started()
		b.fakes[0].set(func() { b.fakes[0].stalled = true })
		done := make(chan []Value, 1)
		go func() {
			values, _ := p.Inspect(context.Background(), "a")
			done <- values
		}()
		synctest.Wait()
		p.Close()
		values := <-done
		require.Error(t, values[0].Err)
		require.NoError(t, values[1].Err)
		_, err := p.Inspect(t.Context(), "a")
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestAnswersOfAnInspectionAreRead(t *testing.T) {
	text := func(s string) resp.Reply { return resp.Reply{Kind: resp.Text, Text: s} }
	failed := func(s string) resp.Reply { return resp.Reply{Kind: resp.Failed, Text: s} }
	for _, c := range []struct {
		reply resp.Reply
		token string
		left  time.Duration
		err   error
	}{
		{text("0\n\n-2\n0\n"), "", 0, nil},
		{text("0\n\n0\n0\nx"), "x", 0, nil},
		{text("2\nfirst\n1500\n0\na\nb "), "a\nb ", 1500 * time.Millisecond, nil},
		{text("0\n\n-1\n0\nx"), "x", NoExpiry, nil},
		{text("0\n\n-1\n0\n"), "", 0, conn.ErrUnexpected},
		{text("0\n\n-2\n0\nx"), "", 0, conn.ErrUnexpected},
		{text("x\n\n1\n0\nx"), "", 0, conn.ErrUnexpected},
		{text("0\n\nx\n0\nx"), "", 0, conn.ErrUnexpected},
		{text("0\n\n1\nx\nx"), "", 0, conn.ErrUnexpected},
		{text("0\n\n1\nx"), "", 0, conn.ErrUnexpected},
		{text("12"), "", 0, conn.ErrUnexpected},
		{resp.Reply{}, "", 0, conn.ErrUnexpected},
		{resp.Reply{Kind: resp.Number, Number: 1}, "", 0, conn.ErrUnexpected},
		{failed("WRONGTYPE Operation against a key"), "", 0, ErrNotALock},
		{failed("MUXLOCKVALUE a string of 513 bytes"), "", 0, ErrNotALock},
		{failed("NOPERM this user has no permissions to access one of the keys"), "", 0, ErrDenied},
	} {
		v := conn.Inspected([]resp.Reply{text("sha"), c.reply})
		require.Equal(t, c.token, v.Token, "%+v", c.reply)
		require.Equal(t, c.left, v.Left, "%+v", c.reply)
		require.ErrorIs(t, v.Err, c.err, "%+v", c.reply)
	}
	of := func(reply resp.Reply) Value { return conn.Inspected([]resp.Reply{text("sha"), reply}) }
	require.EqualError(t, of(failed("BUSY")).Err, "BUSY")
	require.EqualError(t, of(failed("MUXLOCKVALUE a string of 513 bytes")).Err, "muxlock: key holds no lock: a string of 513 bytes")
	require.NotContains(t, of(text(strings.Repeat("secret", 2))).Err.Error(), "secret")
	require.Equal(t, Value{Waiting: 2, Next: "first", Token: "x", Left: time.Second}, of(text("2\nfirst\n1000\n0\nx")))
	a, b := token.ForReader("a"), token.ForReader("b")
	require.Equal(t, Value{Readers: []string{a, b}, Left: time.Second}, of(text("0\n\n1000\n2\n"+a+"\n"+b)))
	require.ErrorIs(t, of(text("0\n\n1000\n2\n"+a+"\nalice")).Err, ErrNotALock)
}
