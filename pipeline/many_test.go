package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
)

// result is what DoMany calls back with.
type result struct {
	Outcome Outcome
	Err     error
}

// doMany returns the results of DoMany.
func (b *bubble) doMany(ctx context.Context, reqs []Request) (results []result) {
	b.p.DoMany(ctx, reqs, func(i int, out *Outcome, err error) {
		require.Len(b, results, i)
		results = append(results, result{*out, err})
	})
	require.Len(b, results, len(reqs))
	return results
}

func acquires(n int) (reqs []Request) {
	for i := range n {
		name := fmt.Sprint("name", i)
		reqs = append(reqs, Request{Op: Acquire, Name: name, Token: "token of " + name, TTL: hour})
	}
	return reqs
}

func TestManyRequestsShareARoundAndHaveTheirOwnOutcomes(t *testing.T) {
	overMasters(t, 5, func(t *testing.T, b *bubble) {
		b.mustAcquire("name7")
		rounds, start := b.p.Stats().Rounds, time.Now()
		results := b.doMany(context.Background(), acquires(100))
		require.Equal(t, time.Millisecond, time.Since(start))
		require.Equal(t, rounds+1, b.p.Stats().Rounds)
		var releases []Request
		for i, r := range results {
			require.NoError(t, r.Err)
			if i == 7 {
				require.Equal(t, quorum.Denied, r.Outcome.Verdict)
			} else {
				require.Equal(t, quorum.Won, r.Outcome.Verdict)
			}
			releases = append(releases, releaseOf(fmt.Sprint("name", i), r.Outcome.Origin))
		}
		for _, r := range b.doMany(context.Background(), releases) {
			require.NoError(t, r.Err)
			require.Equal(t, quorum.Won, r.Outcome.Verdict)
		}
		time.Sleep(testTimeout)
		b.requireNoKeys()
		require.Empty(t, b.doMany(context.Background(), nil))
	})
}

// The ctx ends with some decided, some sent and some queued.
func TestManyRequestsWhoseContextEndsLeaveNothingLocked(t *testing.T) {
	partly := 0
	for after := range 12 {
		overMasters(t, 3, func(t *testing.T, b *bubble) {
			b.cost(30 * time.Microsecond)
			all(300, func(i int) { b.mustAcquire(fmt.Sprint("warm", i)) })
			all(300, func(i int) { _, _ = b.release(fmt.Sprint("warm", i), OriginUnknown) })
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(after)*3*time.Millisecond+500*time.Microsecond)
			defer cancel()
			won := 0
			for i, r := range b.doMany(ctx, acquires(1000)) {
				if r.Err != nil {
					require.ErrorIs(t, r.Err, context.DeadlineExceeded)
					continue
				}
				won++
				require.Equal(t, quorum.Won, r.Outcome.Verdict)
				require.Equal(t, quorum.Won, b.mustRelease(fmt.Sprint("name", i), r.Outcome.Origin).Verdict)
			}
			if won > 0 && won < 1000 {
				partly++
			}
			time.Sleep(10 * testTimeout)
			b.requireNoKeys()
			require.Zero(t, b.p.acquires.Load())
		})
	}
	require.Greater(t, partly, 2)
}

func TestManyRequestsOfAClosedPipelineAreRefused(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.p.Refuse()
		for _, r := range b.doMany(context.Background(), acquires(3)) {
			require.ErrorIs(t, r.Err, ErrClosed)
		}
		require.Zero(t, b.p.acquires.Load())
	})
}

func TestManyRequestsOfACtxThatDoesNotEndAreNotLeftOut(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		b.cost(10 * time.Microsecond)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		defer cancel()
		results := make(chan []result, 1)
		go func() { results <- b.doMany(undone{ctx}, acquires(10_000)) }()
		select {
		case all := <-results:
			for _, r := range all {
				require.NoError(t, r.Err)
				require.Equal(t, quorum.Won, r.Outcome.Verdict)
			}
		case <-time.After(time.Minute):
			require.Fail(t, "some were left out, and wait for the end of their ctx")
		}
	})
}
