package pipeline

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/scripts"
)

func TestOnlyAdmittedMastersAreReadForTheRegistersOfAnother(t *testing.T) {
	overFencedMasters(t, 5, func(t *testing.T, b *fencedBubble) {
		require.Equal(t, quorum.Won, b.ask(Acquire, "a").Verdict)
		for i, name := range []string{"b", "c", "d"} { // each largest at another one
			b.servers[2+i].Do("HSET", conn.RegistersKey, strconv.Itoa(fencing.Register(name)), strconv.Itoa(fencing.MaxToken/2))
		}
		var read atomic.Uint64 // before they were admitted, one bit each
		for _, lost := range []int{0, 1} {
			b.answer(lost, func(words []string) any {
				if (sent{lost, words}).calls(scripts.ReadRegisters) {
					read.Or(1 << lost &^ b.admitted())
				}
				return nil
			})
			b.servers[lost].Restart()
		}
		time.Sleep(testWait + 3*time.Second)
		require.EqualValues(t, 0b11111, b.admitted())
		require.Zero(t, read.Load())
		for _, m := range b.p.Stats().Masters[:2] {
			require.EqualValues(t, 1, m.SetAside, "by its restart")
		}
		require.Positive(t, b.count(2, scripts.ReadRegisters))
		for lost := range 2 {
			require.Equal(t, b.register(2, "a"), b.register(lost, "a"))
			for i, name := range []string{"b", "c", "d"} {
				require.Equal(t, b.register(2+i, name), b.register(lost, name), name)
			}
		}
	})
}

// A reading counts like a vote.
func TestRegistersOfAnIdleMasterAreReadBehindACheck(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		var checked time.Time
		var age atomic.Int64 // of the last check, when the registers are read
		b.answer(1, func(words []string) any {
			switch {
			case words[0] == "INFO":
				checked = time.Now()
			case (sent{1, words}).calls(scripts.ReadRegisters):
				age.Store(int64(time.Since(checked)) + 1)
			}
			return nil
		})
		b.servers[0].Restart()
		time.Sleep(testWait + 3*time.Second)
		require.EqualValues(t, 0b111, b.admitted())
		require.Positive(t, age.Load(), "they were read")
		require.Less(t, time.Duration(age.Load()), tickPeriod)
	})
}

func TestWhatWasGatheredForOneSessionIsNotSentToTheNext(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		for i, l := range b.links[1:] {
			b.answer(1+i, func(words []string) any {
				if (sent{0, words}).calls(scripts.ReadRegisters) {
					l.HoldReplies(true)
				}
				return nil
			})
		}
		b.servers[0].Restart()
		held := func(times int) bool {
			return b.count(1, scripts.ReadRegisters) == times && b.count(2, scripts.ReadRegisters) == times
		}
		until := func(condition func() bool) {
			for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
				require.Less(t, time.Since(begin), time.Minute)
			}
		}
		until(func() bool { return held(1) })
		b.p.Post(Request{Op: Release, Name: "any", Token: "t"}) // the pipeline is in use, and dials at once:
		b.links[0].Cut()                                        // within the timeout, so the others are not hung
		until(func() bool { return held(2) })
		require.Equal(t, 1, b.count(0, scripts.Seed), "when it was set up")
		for _, l := range b.links[1:] {
			l.HoldReplies(false)
		}
		until(func() bool { return b.admitted() == 0b111 })
		synctest.Wait()
		require.Equal(t, 2, b.count(0, scripts.Seed), "for the second session")
	})
}

func TestRegistersThatAreDamagedRestoreNoOther(t *testing.T) {
	overFencedMasters(t, 3, func(t *testing.T, b *fencedBubble) {
		require.Equal(t, quorum.Won, b.ask(Acquire, "a").Verdict)
		whole := b.register(1, "another")
		register := strconv.Itoa(fencing.Register("another"))
		b.servers[1].Do("HSET", conn.RegistersKey, register, "text")
		b.servers[0].Restart()
		time.Sleep(2 * testWait)
		require.EqualValues(t, 0b110, b.admitted())
		require.Equal(t, 1, b.count(0, scripts.Seed), "when it was set up")
		b.p.mu.Lock()
		cause := b.p.masters[0].notMember(time.Now())
		b.p.mu.Unlock()
		require.ErrorContains(t, cause, "the registers of 2 admitted masters, 1 can be read")
		b.servers[1].Do("HSET", conn.RegistersKey, register, whole)
		time.Sleep(2 * longestReadPause)
		require.EqualValues(t, 0b111, b.admitted())
		require.Equal(t, b.register(1, "a"), b.register(0, "a"))
	})
}

func TestRegisterThatIsMissingIsNoZero(t *testing.T) {
	all := func(change func(words []string) []string) error {
		var words []string
		for i := range fencing.Registers {
			words = append(words, strconv.Itoa(i), "5")
		}
		var registers [fencing.Registers]uint64
		var text bytes.Buffer
		for _, w := range change(words) {
			text.WriteString(w + " ")
		}
		return membership.ParseRegisters(text.String(), &registers)
	}
	require.NoError(t, all(func(w []string) []string { return w }))
	for what, change := range map[string]func(w []string) []string{
		"missing":   func(w []string) []string { return w[2:] },
		"none":      func([]string) []string { return nil },
		"text":      func(w []string) []string { w[1] = "text"; return w },
		"negative":  func(w []string) []string { w[1] = "-1"; return w },
		"too large": func(w []string) []string { w[1] = strconv.FormatUint(fencing.MaxToken+1, 10); return w },
		"another":   func(w []string) []string { w[0] = strconv.Itoa(fencing.Registers); return w },
		"twice":     func(w []string) []string { w[0] = "1"; return w },
	} {
		require.ErrorIs(t, all(change), ErrRegister, what)
	}
}
