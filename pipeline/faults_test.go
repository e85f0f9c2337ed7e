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
		case "HELLO", "CLIENT", "INFO", "SCRIPT", "GET":
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
	overMasters(t, 3, func(t *testing.T, b *bubble) {
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
		s, err := conn.Dial(context.Background(), b.cfg.Masters[0].Option, testTimeout, 0)
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
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		for _, f := range b.fakes[:2] {
			f.answer(func(args []string) string {
				if args[0] == "SET" && args[1] == "a" {
					f.hook = nil
					f.answerLocked(args) // executed, and granted
					f.restartLocked()
				}
				return ""
			})
		}
		out := b.tryAcquire("a")
		require.Equal(t, quorum.NoQuorum, out.Verdict)
		require.EqualValues(t, 2, out.Tally.Unknown)
		b.p.Post(releaseOf("a", out.Origin))
		b.untilUp(3)
		time.Sleep(5 * time.Second)
		b.requireNoKeys()
	})
}

func TestAddressThatComesToReachAnotherMastersServerCastsNoVote(t *testing.T) {
	overMasters(t, 3, func(t *testing.T, b *bubble) {
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
			overMasters(t, 3, func(t *testing.T, b *bubble) {
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
	overMasters(t, 3, func(t *testing.T, b *bubble) {
		f := b.fakes[2]
		before := b.mustAcquire("before").Origin
		time.Sleep(10 * time.Millisecond)
		met := make(chan struct{})
		go func() {
			b.cycle("meets the cut")
			close(met)
		}()
		time.Sleep(500 * time.Microsecond) // it is on its way
		f.leave()
		<-met
		require.Equal(t, 2, b.up())
		for i := range 100 {
			b.cycle(fmt.Sprint("name", i))
		}
		b.mustRelease("before", before)
		require.Equal(t, 2, b.p.Stats().Masters[2].PendingReleases, "the lock from before, and the one that met the cut")
		f.comeBack()
		b.untilUp(3)
		time.Sleep(3 * time.Second)
		require.Zero(t, b.p.Stats().Masters[2].PendingReleases)
		require.Empty(t, f.commands("name7"))
		b.requireNoKeys()
	})
}

func TestIdleMasterIsCheckedSeldomAndABusyOneAtEveryTick(t *testing.T) {
	overMasters(t, 1, func(t *testing.T, b *bubble) {
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
