package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
	"muxlock/internal/line"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

func TestLockThatIsPassedOnCountsFromTheRequestThatItAnswers(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			time.Sleep(300 * time.Millisecond)
			lease := line.Passed(e.cfg.TTL) + 300*time.Millisecond
			l.hearsOf(2, grantedFor(lease))
			requireOpen(t, got, "two are no quorum")
			l.hears(2, grantedFor(lease))
			lock := requireGot(t, got)
			require.WithinDuration(t, l.times()[0].Add(redlock.Validity(lease, 0, e.cfg.Drift)), lock.Until(), 0)
			require.Equal(t, 1, l.asked())
			require.NoError(t, lock.Release(t.Context()))
			require.Equal(t, l.requests()[0].Token, l.passed()[0].Token)
		})
}

func TestLockThatWasPassedOnLivesForItsTTL(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			synctest.Wait()
			l.set(func() { l.keys["name"] = scriptedKey{token: l.requests()[0].Token, ends: time.Now().Add(time.Minute)} })
			l.hearsOf(3, grantedFor(line.Passed(e.cfg.TTL)))
			lock := requireGot(t, got)
			require.Less(t, time.Until(lock.Until()), e.cfg.TTL/2)
			time.Sleep(2 * line.ShortHold)
			require.Greater(t, time.Until(lock.Until()), e.cfg.TTL*9/10)
			time.Sleep(e.cfg.TTL)
			require.EqualValues(t, 1, e.Stats().Renewed, "nobody keeps it alive")
			require.False(t, lock.Valid())
		})
}

func TestLockThatIsPassedOnIsMeasuredAsAHandOver(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			e.record.measure = newMeasures()
			l.hearsOf(3, grantedFor(line.Passed(e.cfg.TTL)))
			requireGot(t, got)
			m := e.Measured()
			require.Empty(t, took(m.Acquires), "its lease was short when it was sent")
			require.EqualValues(t, 1, m.HandOvers.Count)
		})
}

func TestVotesThatAreSplitAreSettled(t *testing.T) {
	has := pipeline.Answer{Kind: line.Has, Lease: 9 * time.Second}
	for name, c := range map[string]struct {
		answers []pipeline.Answer // by those that granted, and those that did not
		asks    int               // in a fifth of a second
		leader  string            // the token is passed to this one
		nobody  bool              // to nobody
	}{
		"ours are the most": {[]pipeline.Answer{has, has, inLineBehind("a"), inLineBehind("b"), inLineBehind("c")}, 2 + 4 + 1, "", false},
		"another has more":  {[]pipeline.Answer{has, inLineBehind("a"), inLineBehind("a"), inLineBehind("b"), {}}, 3, "a", false},
		"another has it":    {[]pipeline.Answer{has, has, inLineBehind("a"), inLineBehind("a"), inLineBehind("a")}, 3, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			first := ""
			answers := func(n int, req pipeline.Request) []pipeline.Answer {
				if n == 1 {
					first = req.Token
				}
				if req.Token != first {
					return all(inLineBehind(ours))
				}
				return c.answers
			}
			standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
				time.Sleep(200 * time.Millisecond)
				requireOpen(t, got, "some grants are no lock")
				require.InDelta(t, c.asks, l.asked(), 1, "jitter")
				require.Len(t, l.passed(), 1)
				require.Equal(t, l.requests()[0].Token, l.passed()[0].Token)
				require.Equal(t, c.leader, l.passed()[0].Line.Named[0])
				require.Equal(t, c.nobody, l.passed()[0].Line.Nobody)
				if c.leader != "" {
					require.GreaterOrEqual(t, l.times()[2].Sub(l.times()[1]), 4*time.Millisecond, "the leader asks first")
				}
				last := l.requests()[len(l.requests())-1]
				require.NotEqual(t, l.requests()[0].Token, last.Token)
				require.False(t, last.Line.Stay)
				require.Equal(t, l.times()[len(l.times())-1].Sub(l.times()[0]), last.Line.Waited, "its age goes on")
				require.True(t, last.Line.Queued, "it would be granted what it gave up")
			})
		})
	}
}

// lostBy is a line behind ours. One master has lost the place in its answers to these requests.
func lostBy(these func(n int) bool) func(int, pipeline.Request) []pipeline.Answer {
	return func(n int, _ pipeline.Request) []pipeline.Answer {
		a := all(inLineBehind(ours))
		if these(n) {
			a[4] = pipeline.Answer{Kind: line.Missing}
		}
		return a
	}
}

func TestPlaceThatAMasterLostBesideALockIsOfferedToNobody(t *testing.T) {
	standing(t, lostBy(func(n int) bool { return n%2 == 0 }), func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		time.Sleep(10 * time.Second)
		requireOpen(t, got, "what a master lost is no attempt that failed")
		require.Greater(t, len(l.passed()), 5)
		for _, pass := range l.passed() {
			require.True(t, pass.Line.Nobody)
		}
		for _, wait := range l.requests()[1:] {
			require.True(t, wait.Line.Queued)
		}
	}, func(c *Config) { c.MaxAttempts = 2 })
}

func TestPlaceThatAMasterLostIsGivenUpForAnother(t *testing.T) {
	standing(t, lostBy(func(n int) bool { return n == 2 }), func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		time.Sleep(time.Second)
		require.Equal(t, []bool{false, true, false}, []bool{l.requests()[0].Line.Stay, l.requests()[1].Line.Stay, l.requests()[2].Line.Stay})
		require.Len(t, l.passed(), 1)
		require.Equal(t, l.requests()[0].Token, l.passed()[0].Token)
		require.NotEqual(t, l.requests()[0].Token, l.requests()[2].Token)
		require.Greater(t, l.requests()[2].Line.Waited, 100*time.Millisecond, "it keeps its turn")
		l.hearsOf(3, grantedFor(time.Second))
		requireGot(t, got)
	})
}

func TestTooFewAnswersEndAPlace(t *testing.T) {
	answers := func(int, pipeline.Request) []pipeline.Answer {
		return []pipeline.Answer{inLineBehind("a"), {}, {}, {}, {}}
	}
	standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		time.Sleep(2 * time.Millisecond)
		require.Len(t, l.passed(), 1)
		require.ErrorIs(t, e.names.why("name"), ErrNoQuorum)
		requireGot(t, got)
		require.Equal(t, 1, l.asked())
		log, when := l.history()
		require.Equal(t, pipeline.Acquire, log[0].Op, "an attempt without a line")
		require.GreaterOrEqual(t, when[0].Sub(l.times()[0]), e.cfg.RetryHeld/2)
	})
}

const e10 = 10 * time.Second

func TestWhoIsToldAsksAndTakesAFreeNameOutOfTurn(t *testing.T) {
	for kind, within := range map[line.Kind][2]time.Duration{
		line.Opened: {line.OpenFor, line.OpenFor * 3 / 2}, line.Free: {line.ShortHold, line.ShortHold + 5*time.Millisecond},
	} {
		standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
			func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
				time.Sleep(100 * time.Millisecond)
				told := time.Now()
				l.hearsOf(5, pipeline.Answer{Kind: kind})
				time.Sleep(50 * time.Millisecond)
				require.Equal(t, 2, l.asked(), "once, however many masters say so")
				require.EqualValues(t, map[line.Kind]int{line.Opened: 5}[kind], l.looks.Load())
				require.Equal(t, kind == line.Opened, l.requests()[1].Line.Told)
				require.GreaterOrEqual(t, l.times()[1].Sub(told), within[0])
				require.LessOrEqual(t, l.times()[1].Sub(told), within[1])
				time.Sleep(time.Second)
				require.False(t, l.requests()[2].Line.Told, "once")
				requireOpen(t, got, "nobody granted it")
			})
	}
}

func TestWhoMakesOneAttemptOrWantsAVeryShortLeaseDoesNotStandInLine(t *testing.T) {
	for _, c := range []struct {
		attempts int
		ttl      time.Duration
		asked    int
	}{{0, line.LeastTTL, 1}, {1, line.LeastTTL, 0}, {0, line.LeastTTL - time.Millisecond, 0}} {
		standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(grantedFor(line.LeastTTL)) },
			func(t *testing.T, l *liners, _ *Engine, got <-chan acquired) {
				requireGot(t, got)
				require.Equal(t, c.asked, l.asked(), c)
			}, func(cfg *Config) { cfg.MaxAttempts, cfg.TTL, cfg.MasterTimeout = c.attempts, c.ttl, c.ttl/2 })
	}
}

// firstThen answers the first request, and all that follow.
func firstThen(first, then []pipeline.Answer) func(int, pipeline.Request) []pipeline.Answer {
	return func(n int, _ pipeline.Request) []pipeline.Answer {
		if n == 1 {
			return first
		}
		return then
	}
}

func TestFirstInLineWatchesTheName(t *testing.T) {
	standing(t, firstThen(all(pipeline.Answer{Kind: line.InLine, Rank: 0, Value: ours}), all(grantedFor(e10))), func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		requireGot(t, got) // at once: the name is free, for Await
		require.GreaterOrEqual(t, l.times()[1].Sub(l.times()[0]), line.ShortHold)
		require.LessOrEqual(t, l.times()[1].Sub(l.times()[0]), line.ShortHold+5*time.Millisecond)
	})
}

func TestFirstInLineIsAsFastAsAProcessThatComesBackAtOnce(t *testing.T) {
	answers := func(n int, _ pipeline.Request) []pipeline.Answer {
		return all(pipeline.Answer{Kind: line.InLine, Rank: 0, Value: fmt.Sprintf("AAAAAAAAAAAAAAAAAAAAA%d==@other", n)})
	}
	standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		time.Sleep(100 * time.Millisecond)
		require.True(t, l.requests()[1].Line.Queued, "it may have been a renewal")
		for n := 2; n < 10; n++ {
			require.False(t, l.requests()[n].Line.Queued, n)
			if n > 2 {
				require.LessOrEqual(t, l.times()[n].Sub(l.times()[n-1]), 2*time.Millisecond, n)
			}
		}
		requireOpen(t, got, "others have it")
	})
}

func TestWhoWonBesideOthersPassesTheLockOn(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(grantedFor(e10)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			require.NoError(t, requireGot(t, got).Release(t.Context()))
			for _, yes := range []uint8{5, 4} {
				before := len(l.passed())
				l.set(func() { l.yes = yes })
				require.NoError(t, mustAcquire(t, e, "another", 0).Release(t.Context()))
				require.Equal(t, 5-int(yes), len(l.passed())-before)
			}
		})
}

func TestWhoLeavesTheLineSaysOnceWhyThereIsNoLock(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, e *Engine, _ <-chan acquired) {
			l.set(func() { l.keys["other"] = scriptedKey{token: ours, ends: time.Now().Add(time.Minute)} })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := e.Acquire(ctx, "other", 0)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 1, strings.Count(err.Error(), ErrTaken.Error()), err)
		})
}

func TestGrantsThatComeAfterTheCallerLeftAreNoLock(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			time.Sleep(100 * time.Millisecond)
			at := l.listeners()[0]
			require.NoError(t, e.Close())
			require.ErrorIs(t, (<-got).err, ErrClosed)
			for m := range 5 {
				at.Hear(m, grantedFor(e10))
			}
			require.Len(t, l.passed(), 1)
			require.Empty(t, l.listeners())
			require.Equal(t, make([]line.Seat[clock.Instant], 5), at.(*place).waiter.Seats)
		})
}

func TestLockWhoseFencingTokenTooFewStoreIsRaised(t *testing.T) {
	for _, equal := range []bool{true, false} {
		answers := func(n int, _ pipeline.Request) (a []pipeline.Answer) {
			for m := range uint64(5) {
				g := grantedFor(e10)
				if g.Fence = 7 + m; equal {
					g.Fence = 7
				}
				a = append(a, g)
			}
			return a
		}
		standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			time.Sleep(10 * time.Millisecond)
			require.Equal(t, !equal, l.count(pipeline.Extend) > 0)
			if equal {
				require.EqualValues(t, 7<<16, requireGot(t, got).Fence())
				return
			}
			log, _ := l.history()
			require.EqualValues(t, 11, log[0].Fence)
			require.EqualValues(t, 0b11111, log[0].Among)
			require.NotEmpty(t, l.passed(), "nobody has the key: the raise is refused")
		}, func(c *Config) { c.Fencing = true })
	}
}

func TestAPassProposesALargerFencingToken(t *testing.T) {
	answers := func(int, pipeline.Request) []pipeline.Answer {
		a := grantedFor(e10)
		a.Fence, a.Next = 7, [2]string{"first", "second"}
		return all(a)
	}
	standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		lock := requireGot(t, got)
		releaseToNext(t, lock)
		require.EqualValues(t, 8, l.passed()[0].Fence)
		require.Equal(t, [2]string{"first", "second"}, l.passed()[0].Line.Named)
		require.EqualValues(t, 1, e.Stats().PassedOn)
	}, func(c *Config) { c.Fencing = true })
}

func TestProcessThatHadItsTurnGoesToTheEndOfTheLine(t *testing.T) {
	standing(t, firstThen(all(grantedFor(e10)), all(inLineBehind(ours))), func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		lock := requireGot(t, got)
		next := goAcquire(t.Context(), e, 0) // waits here
		time.Sleep(50 * time.Millisecond)    // longer than the process may keep the name
		require.NoError(t, lock.Release(t.Context()))
		time.Sleep(5 * time.Millisecond)
		require.Equal(t, 2, l.asked())
		require.Less(t, l.requests()[1].Line.Waited, time.Millisecond, "since the name was passed on")
		time.Sleep(time.Second)
		require.Greater(t, l.requests()[2].Line.Waited, 100*time.Millisecond)
		l.hearsOf(3, grantedFor(e10))
		requireGot(t, next)
	})
}

func TestNameThatNobodyWaitsForIsReleasedAsBefore(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(grantedFor(e10)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			lock := requireGot(t, got)
			l.nobody = true
			releaseToNext(t, lock)
			require.Len(t, l.passed(), 1)
			lock = requireGot(t, goAcquire(t.Context(), e, 0))
			require.Equal(t, 1, l.asked(), "a plain acquire")
			require.NoError(t, lock.Release(t.Context()))
			require.Len(t, l.passed(), 1, "a plain release")
			require.Equal(t, 1, l.count(pipeline.Release))
			require.Zero(t, e.Stats().PassedOn)
		})
}

func TestNameThatNobodyWaitsForIsReleasedAsBeforeHoweverLongItIsHeld(t *testing.T) {
	for _, nobody := range []bool{false, true} {
		standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(grantedFor(e10)) },
			func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
				l.nobody = nobody
				for range 2 {
					lock := requireGot(t, got)
					time.Sleep(600 * time.Millisecond)
					require.NoError(t, lock.Release(t.Context()))
					require.True(t, l.passed()[0].Line.Open, "it was held for half a second")
					got = goAcquire(t.Context(), e, 0)
				}
				require.NoError(t, requireGot(t, got).Release(t.Context()))
				require.Len(t, l.passed(), map[bool]int{false: 3, true: 1}[nobody])
			})
	}
}

func TestHolderLeavesTheNameOpenNowAndThen(t *testing.T) {
	if underRace {
		t.Skip("fastrand draws alike in a bubble then")
	}
	for seen, want := range map[bool][2]int{false: {20, 75}, true: {330, 520}} { // of 1000 releases, after 20 ms of hold
		standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(grantedFor(e10)) },
			func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
				lock, open := requireGot(t, got), 0
				n := lock.lease.state
				n.shard.mu.Lock()
				defer n.shard.mu.Unlock()
				for range 1000 {
					if seen {
						n.strangers.seen = clock.Now()
					}
					if lock.lease.passLocked(lock.lease.term.Since.Add(20 * time.Millisecond)).Open {
						open++
					}
				}
				require.GreaterOrEqual(t, open, want[0])
				require.LessOrEqual(t, open, want[1])
			})
	}
}

func TestSightingOfAStrangerTravelsWithTheLock(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			for m := range 3 {
				g := grantedFor(e10)
				if g.Word = "nonsense"; m == 1 {
					g.Word = "1500"
				}
				l.hears(m, g)
			}
			lock := requireGot(t, got)
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, lock.Release(t.Context()))
			require.Regexp(t, "^160[01]$", l.passed()[0].Line.Word)
		})
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind("a value of another library")) },
		func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
			l.hearsOf(3, grantedFor(e10))
			require.NoError(t, requireGot(t, got).Release(t.Context()))
			require.NotEmpty(t, l.passed()[0].Line.Word, "we saw one")
		})
}

func TestQuorumOfPushesEndsARequestThatNobodyAnswers(t *testing.T) {
	standing(t, firstThen(all(inLineBehind(ours)), nil), func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		time.Sleep(600 * time.Millisecond)
		require.Equal(t, 2, l.asked())
		for m := range 3 {
			requireOpen(t, got, "the request is under way")
			l.hears(m, grantedFor(e10))
		}
		requireGot(t, got)
	})
}

// A busyCtx is a caller's own, whose code waits for something from a moment on.
type busyCtx struct {
	context.Context
	busy atomic.Bool
	done chan struct{}
}

func (c *busyCtx) Value(key any) any {
	if c.busy.Load() {
		<-c.done
	}
	return c.Context.Value(key)
}

func TestContextOfWhoIsGrantedTheLockKeepsNoMasterWaiting(t *testing.T) { // in no bubble: there a mutex holds up the clock
	e := newEngine(Config{Masters: make([]string, 3)}.withDefaults(), &liners{heard: make(map[string]pipeline.Listener)}, new(record))
	defer e.Close()
	c := &contender{e: e, name: "name", tries: attempts{ttl: e.cfg.TTL}}
	w := line.Waiter[string, clock.Instant]{Terms: line.Terms[clock.Instant]{TTL: e.cfg.TTL, Masters: 3, Quorum: 2}}
	p := c.newPlace(t.Context(), w.Join("token"), false)
	defer p.cancel()
	p.waiter.Request(clock.Now())
	ctx := &busyCtx{Context: t.Context(), done: make(chan struct{})}
	defer close(ctx.done)
	asking, cancel := context.WithCancel(ctx)
	p.enough = cancel // a request is under way
	ctx.busy.Store(true)
	read := make(chan struct{})
	go func() {
		for m := range 3 {
			p.Hear(m, grantedFor(e10))
		}
		close(read)
	}()
	select {
	case <-read:
		<-asking.Done()
	case <-time.After(5 * time.Second):
		t.Fatal("what masters say is not read while the caller's code runs")
	}
}

func TestOneOfTwoMastersWithoutALineIsNoHotLoop(t *testing.T) {
	answers := func(int, pipeline.Request) []pipeline.Answer { return []pipeline.Answer{inLineBehind(ours), {}} }
	standing(t, answers, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		requireGot(t, got) // by an attempt without a line
		require.Equal(t, 1, l.asked())
	}, func(c *Config) { c.Masters = make([]string, 2) })
}

func TestShortLeaseIsRenewedBeforeItsHolderIsWarnedAndInTime(t *testing.T) {
	now := clock.Now()
	r := newRenewal(10*time.Second, 0.01, now)
	r.passedOn(now.Add(2*time.Second), now)
	r.warn = 3 * time.Second
	do, again := r.next(now)
	require.Equal(t, idle, do)
	require.Equal(t, now.Add(line.ShortHold), again)
	do, _ = r.next(again)
	require.Equal(t, renew, do)
	answered := again.Add(time.Millisecond)
	failed := r
	r.renewed(again, answered)
	do, _ = r.next(answered)
	require.Equal(t, idle, do, "neither warned nor renewed again")
	require.False(t, r.short)

	failed.failed(answered, ErrNoQuorum)
	do, _ = failed.next(answered)
	require.Equal(t, warn, do)
	for left := failed.until.Left(answered); left > 10*time.Millisecond; left = failed.until.Left(answered) {
		_, again = failed.next(answered)
		require.LessOrEqual(t, again.Sub(answered), left/4+time.Millisecond)
		do, _ = failed.next(again)
		require.Equal(t, renew, do)
		answered = again.Add(time.Millisecond)
		failed.failed(answered, ErrNoQuorum)
	}
}

func TestPlaceThatIsGivenUpIsOneOfMaxAttempts(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(pipeline.Answer{Kind: line.Missing}) },
		func(t *testing.T, l *liners, _ *Engine, got <-chan acquired) {
			a := <-got
			require.ErrorIs(t, a.err, ErrTaken)
			var failed *AttemptError
			require.ErrorAs(t, a.err, &failed)
			require.Equal(t, 5, failed.Refused)
			require.Len(t, l.passed(), 3, "nothing is left in line")
			require.Equal(t, 3, l.asked())
		}, func(c *Config) { c.MaxAttempts = 3 })
}

func TestWhoMayAskAFewTimesStandsInLineForAsLongAsItTakes(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) },
		func(t *testing.T, l *liners, _ *Engine, got <-chan acquired) {
			time.Sleep(time.Hour)
			l.hearsOf(3, pipeline.Answer{Kind: line.Granted, Lease: 10 * time.Second, Version: uint32(l.asked())})
			requireGot(t, got)
			require.Empty(t, l.passed())
		}, func(c *Config) { c.MaxAttempts = 2 })
}

func TestOneWhoCameDuringATurnIsServedAndMoreOnlyWhileItIsShortIfOthersStandInLine(t *testing.T) {
	const attempt = time.Millisecond // what one takes here
	for name, c := range map[string]struct {
		alone  bool          // nobody else stands in line
		age    time.Duration // of the lease when a newcomer is the next
		passes bool          // the lock, to another process
	}{
		"others stand in line, a short turn": {false, 8*attempt - 1, false},
		"others stand in line, a long turn":  {false, 8 * attempt, true},
		"nobody else, a long turn":           {true, redlock.DefaultHandOverTime - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) }, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
				waited := goAcquire(t.Context(), e, 0)
				time.Sleep(2 * attempt)
				l.hearsOf(3, grantedFor(10*time.Second))
				lock := requireGot(t, got)
				newcomers := []<-chan acquired{goAcquire(t.Context(), e, 0), goAcquire(t.Context(), e, 0)}
				lock.lease.state.lined = !c.alone
				time.Sleep(c.age)
				require.NoError(t, lock.Release(t.Context()))
				require.NoError(t, requireGot(t, waited).Release(t.Context()))
				require.NoError(t, requireGot(t, newcomers[0]).Release(t.Context()))
				if !c.passes {
					requireGot(t, newcomers[1])
					return
				}
				requireOpen(t, newcomers[1], "it is the turn of others")
				require.Len(t, l.passed(), 1)
			})
		})
	}
}

func TestWhoWaitedBeforeATurnIsServedUntilItsBound(t *testing.T) {
	standing(t, func(int, pipeline.Request) []pipeline.Answer { return all(inLineBehind(ours)) }, func(t *testing.T, l *liners, e *Engine, got <-chan acquired) {
		waited := []<-chan acquired{goAcquire(t.Context(), e, 0), goAcquire(t.Context(), e, 0), goAcquire(t.Context(), e, 0)}
		time.Sleep(2 * time.Millisecond)
		l.hearsOf(3, grantedFor(10*time.Second))
		lock := requireGot(t, got)
		time.Sleep(redlock.DefaultHandOverTime - 1)
		require.NoError(t, lock.Release(t.Context()))
		require.NoError(t, requireGot(t, waited[0]).Release(t.Context()))
		lock = requireGot(t, waited[1])
		time.Sleep(time.Nanosecond)
		require.NoError(t, lock.Release(t.Context()))
		requireOpen(t, waited[2], "Config.HandOverTime has passed")
		require.Len(t, l.passed(), 1)
	})
}
