package pipeline

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
	"muxlock/internal/redisfake"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/scripts"
)

func TestSetUpGoesToTheNextGenerationWhenAllHaveTheLast(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		begun := time.Now()
		require.NoError(t, Init(t.Context(), b.setup))
		require.Zero(t, time.Since(begun), "they are new")
		var steps []string
		for _, s := range b.sent(scripts.Open, scripts.Seed, scripts.Switch) {
			words := map[string]int{scripts.Open.SHA1: -1, scripts.Seed.SHA1: 8, scripts.Switch.SHA1: 7}
			step := "open"
			if at := words[s.words[1]]; at > 0 {
				set, err := fencing.ParseSet(s.words[at])
				require.NoError(t, err)
				step = strconv.Itoa(set.Generation)
			}
			steps = append(steps, step)
		}
		require.Equal(t, []string{"open", "open", "open", "0", "0", "0", "1", "1", "1", "2", "2", "2"}, steps)
		for i := range 3 {
			n, err := strconv.ParseUint(b.register(i, "a"), 10, 64)
			require.NoError(t, err)
			require.Equal(t, fencing.FirstToken(begun.Unix()), n, "above those of a set that is forgotten")
		}
	})
}

func TestSetUpWatchesMastersThatAreNotNew(t *testing.T) {
	for what, disturb := range map[string]func(*redisfake.Server){"not disturbed": nil, "restarted": (*redisfake.Server).Restart} {
		inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
			b.setup.New = false
			begun := time.Now()
			if disturb != nil {
				time.AfterFunc(b.setup.Wait-time.Millisecond, func() { disturb(b.servers[1]) })
			}
			err := Init(t.Context(), b.setup)
			require.Equal(t, b.setup.Wait, time.Since(begun).Truncate(time.Millisecond), what)
			if disturb == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "m1")
			require.Zero(t, b.count(0, scripts.Seed))
			require.Empty(t, b.servers[0].Value(conn.SetKey))
		})
	}
}

func TestSetUpWatchesThatMastersStayMasters(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.setup.New = false
		half := time.Now().Add(b.setup.Wait / 2)
		b.answer(2, func(words []string) any {
			if len(words) == 2 && words[0] == "INFO" && time.Now().After(half) {
				return dataSet("slave", "data", "-1")
			}
			return nil
		})
		err := Init(t.Context(), b.setup)
		require.ErrorIs(t, err, membership.ErrChanged)
		require.ErrorContains(t, err, "m2")
		require.Zero(t, b.count(0, scripts.Seed))
	})
}

func TestSetUpNeedsAServerBehindEachAddress(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		twice := b.setup.Masters[0]
		twice.Address = "m1"
		b.setup.Masters[1] = twice
		err := Init(t.Context(), b.setup)
		require.ErrorIs(t, err, ErrRefused)
		require.ErrorContains(t, err, "m0 and m1 are one server")
		require.Empty(t, b.sent(scripts.Open))
	})
}

func TestRecoveryBeginsAboveWhatResourcesAndMastersHave(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		require.NoError(t, Init(t.Context(), b.setup))
		const above = 1 << 52
		b.setup.Recover, b.setup.Above = true, above
		larger := uint64(above>>16 + 2*membership.RecoveryMargin)
		b.servers[1].Do("HSET", conn.RegistersKey, strconv.Itoa(fencing.Register("a")), strconv.FormatUint(larger, 10))
		require.NoError(t, Init(t.Context(), b.setup))
		least := uint64(above>>16 + 1 + membership.RecoveryMargin)
		require.Equal(t, []uint64{larger, larger, larger}, b.tokens("a"))
		require.Equal(t, []uint64{least, least, least}, b.tokens("another"))
		b.setup.Above = 1 << 53
		require.ErrorIs(t, Init(t.Context(), b.setup), ErrRefused, "no fence is so large")
	})
}

// What was recovered at the first master is the floor of the others, whoever goes on.
func TestSetUpThatIsGoneOnWithKeepsTheFloorOfWhatWasBegun(t *testing.T) {
	inFencedBubble(t, 3, func(t *testing.T, b *fencedBubble) {
		b.setup.Recover, b.setup.Above = true, 1<<52
		b.refuse(1, scripts.Seed)
		require.ErrorContains(t, Init(t.Context(), b.setup), "for a test")
		b.answer(1, nil)
		b.setup.Recover, b.setup.Above = false, 0
		require.NoError(t, Init(t.Context(), b.setup))
		require.Equal(t, slices.Repeat([]uint64{1<<36 + 1 + membership.RecoveryMargin}, 3), b.tokens("a"))
	})
}

func TestReplacementSwitchesInTheOrderOfAddresses(t *testing.T) {
	inFencedBubble(t, 4, func(t *testing.T, b *fencedBubble) {
		all := b.setup.Masters
		b.setup.Masters = []Master{all[2], all[1], all[0]}
		require.NoError(t, Init(t.Context(), b.setup))
		before := len(b.sent(scripts.Switch))
		for range 2 { // again: there is nothing left to do
			require.NoError(t, Replace(t.Context(), b.setup, "m1", all[3]))
			var order []int
			for _, s := range b.sent(scripts.Switch)[before:] {
				order = append(order, s.master)
			}
			require.Equal(t, []int{0, 2}, order)
		}
	})
}

// A server that was restarted from its own snapshot has the mark of an earlier process. If a replacement that was cut had
// switched it, it is a member of the set before again.
func TestReplacementBesideARestartedMasterIsRefused(t *testing.T) {
	for _, cut := range []bool{false, true} {
		inFencedBubble(t, 4, func(t *testing.T, b *fencedBubble) {
			joins := b.setup.Masters[3]
			b.setup.Masters = b.setup.Masters[:3]
			require.NoError(t, Init(t.Context(), b.setup))
			before := b.servers[0].Value(conn.SetKey)
			if cut {
				b.refuse(2, scripts.Switch)
				require.ErrorContains(t, Replace(t.Context(), b.setup, "m1", joins), "for a test")
				b.answer(2, nil)
			}
			set, switches := b.servers[0].Value(conn.SetKey), len(b.sent(scripts.Switch))
			require.Equal(t, cut, set != before)
			b.servers[0].Restart()
			b.servers[0].Set(conn.SetKey, set)
			b.servers[0].Set(conn.MarkKey, membership.NewMark("an earlier process", "m0"))
			err := Replace(t.Context(), b.setup, "m1", joins)
			require.ErrorIs(t, err, map[bool]error{false: ErrMembersLost, true: ErrRefused}[cut])
			require.Len(t, b.sent(scripts.Switch)[switches:], map[bool]int{true: 1}[cut])
			require.ErrorIs(t, Init(t.Context(), b.setup), ErrMembersLost)
			require.Equal(t, before, b.servers[0].Value(conn.SetKey))
		})
	}
}
