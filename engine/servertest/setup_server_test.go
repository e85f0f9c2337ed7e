package servertest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/pipeline"
)

func TestMajorityThatLostItsDataNeedsTheOperator(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	e := open(t, masters, fenced, shortLease)
	last := fence(t, e, t.Name())
	for _, m := range masters[:2] {
		redistest.Command(t, m, "FLUSHALL")
	}
	_, err := e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrNotAcquired)
	await.True(t, func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := e.Ready(ctx)
		return errors.Is(err, engine.ErrRestarted) && strings.Contains(err.Error(), "needs the registers of 2 admitted masters, 1 can be read")
	})
	_, err = engine.New(t.Context(), with(shortConfig(masters), fenced))
	require.ErrorIs(t, err, engine.ErrNoQuorum)
	require.ErrorContains(t, err, "1 of 3 masters show that they are members of the set, 2 are needed")
	require.ErrorIs(t, admin.SetUp(t.Context(), shortConfig(masters), admin.SetUpOptions{MastersAreNew: true}), pipeline.ErrRefused)

	require.NoError(t, admin.SetUp(t.Context(), shortConfig(masters), admin.SetUpOptions{Recover: true, Above: last + 1<<30}))
	refusedAsOfAnotherSet(t, e)
	_, err = e.Acquire(context.Background(), t.Name(), 0) // it would wait for ever
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	require.ErrorContains(t, err, "this process goes on only after a restart")
	require.Greater(t, fence(t, open(t, masters, fenced, shortLease), t.Name()), last+1<<30)
}

func TestMasterThatIsReplacedLeavesItsClients(t *testing.T) {
	t.Parallel()
	masters, fourth := shortSet(t, 3), redistest.Masters(t, 1)
	old := open(t, masters, fenced, shortLease)
	last := fence(t, old, t.Name())
	cfg := shortConfig(masters)
	after := append(fourth, masters[1:]...)
	for range 2 { // it may be run again
		require.NoError(t, admin.ReplaceMaster(t.Context(), cfg, masters[0].Addr(), fourth[0].Addr()))
	}
	refusedAsOfAnotherSet(t, old)
	_, err := engine.New(t.Context(), with(cfg, fenced))
	require.ErrorIs(t, err, engine.ErrConfigMismatch)
	require.ErrorContains(t, err, "masters")

	begun := time.Now()
	e := open(t, after, fenced, shortLease, durable) // the new one is no restarted one
	f := fence(t, e, t.Name())
	require.Greater(t, f, last)
	untilAdmitted(t, after)
	require.GreaterOrEqual(t, time.Since(begun), leaseWait)
	redistest.Command(t, masters[1], "FLUSHALL") // the fourth is needed now
	require.Greater(t, fence(t, e, t.Name()), f)

	for err, change := range map[string][2]string{
		"none of the masters":     {"127.0.0.1:1", masters[0].Addr()},
		"one of the masters":      {masters[1].Addr(), masters[2].Addr()},
		"every master must be up": {masters[1].Addr(), "127.0.0.1:1"},
	} {
		require.ErrorContains(t, admin.ReplaceMaster(t.Context(), shortConfig(after), change[0], change[1]), err)
	}
}

func TestMastersInUseAreSetUpWhileTheyServe(t *testing.T) {
	t.Parallel()
	masters := redistest.Masters(t, 3)
	before := open(t, masters, shortLease)
	held, err := before.Acquire(t.Context(), t.Name(), 0)
	require.NoError(t, err)
	require.NoError(t, held.KeepAlive(0))
	begun, done := time.Now(), make(chan error, 1)
	go func() { done <- admin.SetUp(context.Background(), shortConfig(masters), admin.SetUpOptions{}) }()
	for cycles := 0; ; cycles++ {
		select {
		case err := <-done:
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(begun), leaseWait)
			require.Positive(t, cycles)
		default:
			cycle(t, before, "another")
			time.Sleep(time.Millisecond) // other tests need the processors, too
			continue
		}
		break
	}
	require.Equal(t, 3, admitted(t, masters))
	e := open(t, masters, fenced, shortLease)
	_, err = e.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrTaken, "those without fencing are excluded, and exclude")
	require.True(t, held.Valid())
	require.NoError(t, held.Release(t.Context()))
	lock := mustAcquire(t, e, t.Name(), 0)
	_, err = before.TryAcquire(t.Context(), t.Name(), 0)
	require.ErrorIs(t, err, engine.ErrTaken)
	require.NoError(t, lock.Release(t.Context()))
}

// One is down and one has lost its data: no time helps, and the log says what does.
func TestMemberThatNoTimeCanAdmitIsLoggedOnceAsAnError(t *testing.T) {
	t.Parallel()
	masters := shortSet(t, 3)
	var log bytes.Buffer
	e := open(t, masters, fenced, shortLease, func(c *engine.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	before := fence(t, e, t.Name())
	require.NoError(t, masters[1].Pause())
	await.True(t, func() bool {
		_, _ = e.TryAcquire(t.Context(), t.Name()+"2", 0)
		return !e.Stats().Masters[1].Up
	})
	redistest.Command(t, masters[2], "FLUSHALL")
	await.True(t, func() bool {
		_, _ = e.TryAcquire(t.Context(), t.Name()+"2", 0)
		return errors.Is(e.Stats().Masters[2].Cause, pipeline.ErrMembersLost)
	})
	redistest.Command(t, masters[2], "CONFIG", "RESETSTAT")
	looks := regexp.MustCompile(`cmdstat_get:calls=(\d\d|[4-9]),`) // two reads each
	await.True(t, func() bool {
		return looks.MatchString(redistest.Command(t, masters[2], "INFO", "commandstats").(string))
	})
	require.NoError(t, masters[1].Resume())
	untilAdmitted(t, masters)
	require.Greater(t, fence(t, e, t.Name()), before)
	require.NoError(t, e.Close()) // the log is whole
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
	require.Contains(t, log.String(), `level=ERROR msg="master does not vote until somebody acts" master=`+masters[2].Addr())
	require.Contains(t, log.String(), "it needs the registers of 2 admitted masters, 1 can be read: it votes once those that are away are back with their data, or after muxlock masters init --recover")
}
