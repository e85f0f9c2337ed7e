package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

// onlyProbe fails if the log has, before the trial lock's answer, a command that no probe sends. A
// probe may release, but neither take nor extend a lock.
func onlyProbe(log []logged) error {
	for _, l := range log {
		switch l.args[0] {
		case "HELLO", "CLIENT", "INFO", "SCRIPT":
			continue
		case "SET":
			if strings.HasPrefix(l.args[1], ReservedPrefix) {
				return nil
			}
		case "EVALSHA":
			if l.args[1] == scripts.Batch.SHA1 && !slices.ContainsFunc(batchEntries(l.args), func(e batchEntry) bool { return e.op != Release }) {
				continue // a pending release
			}
		}
		return fmt.Errorf("reached the master before it was admitted: %v", l)
	}
	return nil
}

// since returns what f has executed on all connections but the first n.
func (f *fake) since(n int) (found []logged) {
	for _, l := range f.commands("") {
		if l.conn >= n {
			found = append(found, l)
		}
	}
	return found
}

func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

func TestRestartedMasterIsAskedNothingBeforeItIsAdmitted(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				for turn := 0; ; turn++ {
					select {
					case <-stop:
						return
					default:
						b.cycle(fmt.Sprint("name", i, "-", turn))
					}
				}
			})
		}
		time.Sleep(20 * time.Millisecond)
		f := b.fakes[0]
		for range 5 {
			before := f.connections()
			f.restart()
			b.untilUp(2)
			b.untilUp(3)
			time.Sleep(50 * time.Millisecond)
			log := f.since(before)
			require.Greater(t, len(log), 20)
			require.NoError(t, onlyProbe(log))
		}
		close(stop)
		callers.Wait()
	})
}

func TestPlainRueidisWouldReachTheRestartedMasterAtOnce(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{"m0"}, DialCtxFn: f.dial, ForceSingleClient: true, DisableCache: true, DisableRetry: true, PipelineMultiplex: -1,
		})
		require.NoError(t, err)
		defer client.Close()
		set := client.B().Set().Key("a").Value("t").Nx().Px(time.Hour).Build().Pin()
		require.NoError(t, client.Do(context.Background(), set).Error())
		before := f.connections()
		f.restart()
		time.Sleep(time.Second)
		client.Do(context.Background(), set)
		client.Do(context.Background(), set)
		require.ErrorContains(t, onlyProbe(f.since(before)), "before it was admitted", "the checker must catch what the gate prevents")
	})
}

func TestSessionNeverDialsAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		f := b.fakes[0]
		s, err := conn.Dial(context.Background(), b.cfg.Masters[0].Option, testTimeout)
		require.NoError(t, err)
		defer s.Close()
		var set conn.Batch
		set.Plain(&Request{Op: Acquire, Name: "a", Token: "t", TTL: hour}, 0)
		_, err = s.Ask(&set, nil)
		require.NoError(t, err)
		f.restart()
		for range 3 {
			_, err = s.Ask(&set, nil)
			require.Error(t, err)
			// rueidis would dial with the second.
			require.Error(t, s.Client.Do(context.Background(), s.Client.B().Ping().Build()).Error())
		}
		require.Equal(t, 1, f.connections())
		require.Empty(t, f.keys())
	})
}

func TestGrantOfASessionThatDiedDoesNotCount(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		for _, f := range b.fakes[:2] {
			f.set(func() {
				f.hook = func(args []string) string {
					if args[0] == "SET" && args[1] == "a" {
						f.hook = nil
						f.answerLocked(args) // executed, and granted
						f.restartLocked()
					}
					return ""
				}
			})
		}
		out, err := b.acquire(context.Background(), "a")
		require.NoError(t, err)
		require.Equal(t, quorum.NoQuorum, out.Verdict)
		require.EqualValues(t, 2, out.Tally.Unknown)
		b.p.Post(releaseOf("a", out.Origin))
		b.untilUp(3)
		time.Sleep(5 * time.Second)
		b.requireNoKeys()
	})
}

func TestTwoAddressesOfOneServerAreRefused(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.fakes[2].runID = b.fakes[1].runID
		_, err := New(b.Context(), b.cfg)
		require.ErrorIs(t, err, errSameServer)
		var start *StartError
		require.ErrorAs(t, err, &start)
		require.True(t, start.Misconfigured)
		require.Equal(t, 2, start.Admitted)
		require.Len(t, start.Causes, 1)
	})
}

func TestAddressThatComesToReachAnotherMastersServerCastsNoVote(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[2]
		f.restart()
		f.set(func() { f.runID = b.fakes[1].runID })
		b.cycle("a")
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, b.p.Stats().Masters[2].Cause, errSameServer)
		require.False(t, b.p.Stats().Masters[2].Up)
		f.set(func() { f.runID = "its own again" })
		b.untilUp(3)
	})
}

func TestAcquireThatADeadConnectionExecutesLateIsDeletedByTheSecondRelease(t *testing.T) {
	// The release may have been pending before the master came back, or sent after it.
	for name, answered := range map[string]bool{"pending": false, "sent": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.started()
				late := b.fakes[2]
				late.hold(true)
				out := b.mustAcquire("a")
				if answered {
					b.untilUp(2)
					b.untilUp(3)
				}
				b.p.Post(releaseOf("a", out.Origin))
				time.Sleep(time.Second)
				require.Equal(t, 3, b.up())
				require.Empty(t, late.keys())
				require.NotEmpty(t, late.commands("a"), "a release has been answered")
				late.hold(false)
				synctest.Wait()
				require.Equal(t, []string{"a"}, late.keys(), "executed after its release")
				time.Sleep(3 * time.Second)
				b.requireNoKeys()
				require.EqualValues(t, 1, b.p.Stats().Masters[2].PendingDeleted)
				require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
			})
		})
	}
}

func TestLockTakenWhileAMasterWasAwayIsNotReleasedThere(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[2]
		before := b.mustAcquire("before").Origin
		time.Sleep(10 * time.Millisecond)
		f.set(func() { f.refuse = true })
		f.cut()
		b.cycle("meets the cut")
		require.Equal(t, 2, b.up())
		for i := range 100 {
			b.cycle(fmt.Sprint("name", i))
		}
		_, err := b.release("before", before)
		require.NoError(t, err)
		require.Equal(t, 2, b.p.Stats().Masters[2].PendingReleases, "the lock from before, and the one that met the cut")
		f.set(func() { f.refuse = false })
		b.untilUp(3)
		time.Sleep(3 * time.Second)
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
		require.Empty(t, f.commands("name7"))
		b.requireNoKeys()
	})
}

func TestCheckReplacesACutConnectionBeforeACallMeetsIt(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.started()
		for _, f := range b.fakes {
			f.cut()
		}
		time.Sleep(2 * time.Second)
		require.Equal(t, 5, b.up())
		start := time.Now()
		b.cycle("a")
		require.Equal(t, 2*time.Millisecond, time.Since(start))
		for _, m := range b.p.Stats().Masters {
			require.EqualValues(t, 1, m.SetAside)
		}
	})
}

func TestIdleMasterIsCheckedSeldomAndABusyOneAtEveryTick(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.started()
		f := b.fakes[0]
		before := len(f.commands(""))
		time.Sleep(time.Minute)
		require.InDelta(t, 2*time.Minute/idlePeriod, len(f.commands(""))-before, 2, "two commands a check, and nothing else")
		checks := len(f.commands("replication"))
		for i := range 100 {
			b.cycle(fmt.Sprint("name", i))
			time.Sleep(100 * time.Millisecond)
		}
		require.InDelta(t, 10*time.Second/tickPeriod, len(f.commands("replication"))-checks, 3)
	})
}

func TestCallAfterAnIdleTimeIsSentBehindACheck(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.cfg.Wait, b.cfg.MastersAreNew = testWait, true
		b.started()
		b.mustAcquire("a")
		time.Sleep(idlePeriod + 2*tickPeriod) // the last check was just now
		for i, f := range b.fakes[:2] {
			f.replicate()
			f.promote(fmt.Sprint("new", i))
		}
		require.Equal(t, 3, b.up(), "nobody has noticed")
		out := b.try("a", "second")
		require.Equal(t, quorum.NoQuorum, out.Verdict, "two grants by others' data: %+v", out)
		b.untilUp(3)
		require.NotZero(t, b.votesFrom(0))
		require.NotZero(t, b.votesFrom(1))
		time.Sleep(3 * time.Second)
		for _, f := range b.fakes[:2] {
			require.Empty(t, f.keys())
		}
	})
}

func TestNewWorksWithAMajorityAndFetchesTheOthersLater(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.fakes[0].refuse, b.fakes[1].silent = true, true
		p := b.started()
		require.Equal(t, 3, b.up())
		require.ErrorContains(t, p.Stats().Masters[0].Cause, "refused")
		b.cycle("a")
		b.fakes[0].set(func() { b.fakes[0].refuse = false })
		b.fakes[1].set(func() { b.fakes[1].silent = false })
		b.untilUp(5)
	})
}

// A server that answers but takes no locks shows that by a trial.
func TestMasterThatRefusesLocksIsNotAdmitted(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[2]
		f.hook = func(args []string) string {
			if args[0] == "SET" {
				return "-OOM command not allowed\r\n"
			}
			return ""
		}
		p := b.started()
		require.Equal(t, 2, b.up())
		require.ErrorContains(t, p.Stats().Masters[2].Cause, "OOM")
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, b.up())
		f.set(func() { f.hook = nil })
		b.untilUp(3)
	})
}

func TestNewWithoutAMajorityHasTheCauseOfEachMaster(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		for _, f := range b.fakes[:3] {
			f.refuse = true
		}
		_, err := New(b.Context(), b.cfg)
		var start *StartError
		require.ErrorAs(t, err, &start)
		require.Equal(t, StartError{Admitted: 2, Quorum: 3, Masters: 5, Causes: start.Causes}, *start)
		require.Len(t, start.Causes, 3)
		require.ErrorContains(t, err, "m0: connection refused")
	})
}

func TestNewEndsWithItsContext(t *testing.T) {
	for name, fault := range map[string]func(*fake){
		"silent dial":     func(f *fake) { f.silent = true },
		"hung greeting":   func(f *fake) { f.stalled = true },
		"hung probe":      func(f *fake) { f.hook = hangOn(f, "INFO") },
		"hung trial lock": func(f *fake) { f.hook = hangOn(f, "EVALSHA") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.cfg.Timeout = 5 * time.Second
				for _, f := range b.fakes {
					f.set(func() { fault(f) })
				}
				ctx, cancel := context.WithTimeout(b.Context(), 50*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := New(ctx, b.cfg)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Less(t, time.Since(start), 100*time.Millisecond)
			})
		})
	}
}

// hangOn stalls the fake when it is asked for command.
func hangOn(f *fake, command string) func([]string) string {
	return func(args []string) string {
		if args[0] == command {
			f.stalled = true
			f.cutOutLocked()
			return " " // swallowed with the rest
		}
		return ""
	}
}

// cutOutLocked drops the replies that are under way, and all later ones.
func (f *fake) cutOutLocked() {
	for _, c := range f.conns {
		c.mute = true
		c.outbox = nil
	}
}

func TestCloseWaitsForCallsUnderWay(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b *bubble) {
		b.started()
		for _, f := range b.fakes {
			f.set(func() { f.delay = 50 * time.Millisecond })
		}
		first := side(func() { b.mustAcquire("first") })
		synctest.Wait()
		second := side(func() { b.mustAcquire("second") }) // queued
		synctest.Wait()
		start := time.Now()
		closed := side(b.p.Close)
		synctest.Wait()
		_, err := b.acquire(context.Background(), "late")
		require.ErrorIs(t, err, ErrClosed)
		b.p.Post(releaseOf("first", OriginForeign)) // a release is taken as long as something is under way
		closed()
		first()
		second()
		require.LessOrEqual(t, time.Since(start), 100*time.Millisecond)
		for _, f := range b.fakes {
			require.Equal(t, []string{"second"}, f.keys())
		}
		_, err = b.release("second", 2)
		require.ErrorIs(t, err, ErrClosed)
		b.p.Close() // again
	})
}

func TestCloseIsBoundedAndAnswersEverybody(t *testing.T) {
	for name, hung := range map[string]int{"one hung": 1, "three hung": 3, "all hung": 5} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b *bubble) {
				b.started()
				for _, f := range b.fakes[:hung] {
					f.set(func() { f.stalled = true })
				}
				var callers sync.WaitGroup
				for i := range 50 {
					callers.Go(func() {
						out, err := b.acquire(context.Background(), fmt.Sprint("name", i))
						assert.NoError(t, err)
						want := quorum.NoQuorum
						if hung == 1 {
							want = quorum.Won
						}
						assert.Equal(t, want, out.Verdict)
					})
				}
				synctest.Wait()
				start := time.Now()
				b.p.Close()
				require.LessOrEqual(t, time.Since(start), 3*testTimeout)
				callers.Wait()
				require.LessOrEqual(t, time.Since(start), 3*testTimeout)
			})
		})
	}
}

func TestCloseDoesNotWaitForAProbe(t *testing.T) {
	for name, fault := range map[string]func(*fake){
		"silent dial":   func(f *fake) { f.silent = true },
		"hung greeting": func(f *fake) { f.stalled = true },
		"hung probe":    func(f *fake) { f.hook = hangOn(f, "INFO") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				b.started()
				f := b.fakes[0]
				f.set(func() { fault(f) })
				f.cut()
				b.cycle("meets the cut")
				time.Sleep(time.Second)
				for range 10 { // at several moments of the probe
					time.Sleep(130 * time.Millisecond)
				}
				start := time.Now()
				b.p.Close()
				require.LessOrEqual(t, time.Since(start), 2*testTimeout+time.Millisecond)
			})
		})
	}
}

func TestReleaseThatIsTakenDuringCloseIsSent(t *testing.T) {
	for range 200 {
		inBubble(t, 3, func(t *testing.T, b *bubble) {
			b.started()
			for _, f := range b.fakes {
				f.set(func() { f.delay = 0 })
			}
			var callers sync.WaitGroup
			for i := range 8 {
				callers.Go(func() {
					for {
						out, err := b.release(fmt.Sprint("name", i), 1)
						if err != nil {
							assert.ErrorIs(t, err, ErrClosed)
							return
						}
						if !assert.Equal(t, quorum.Denied, out.Verdict, "no master is away: %+v", out) {
							return
						}
					}
				})
			}
			b.p.Close()
			callers.Wait()
		})
		if t.Failed() {
			return
		}
	}
}
