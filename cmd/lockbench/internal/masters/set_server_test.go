package masters_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/subprocess"
	"muxlock/internal/testing/await"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/wire"
)

func TestMain(m *testing.M) {
	subprocess.Serve(context.Background())
	goleak.VerifyTestMain(m)
}

func TestParseTakesAddressesAndURLs(t *testing.T) {
	addrs, err := masters.Parse("a:1, [::1]:6379,redis://u:p@c:6380/2,unix:///tmp/s.sock")
	require.NoError(t, err)
	require.Equal(t, []string{"a:1", "[::1]:6379", "redis://u:p@c:6380/2", "unix:///tmp/s.sock"}, addrs)
}

func TestParseNamesTheBadAddressWithoutItsPassword(t *testing.T) {
	for _, list := range []string{"", "a", "a:", "a:0", "a:65536", "a:1,", ":6379", "a:b", "http://a:1", "unix://", "a:1,A:1", "a:1,redis://a:1"} {
		_, err := masters.Parse(list)
		require.Error(t, err, list)
	}
	for _, list := range []string{"redis://u:secret@h:99999", "redis://u:secret@h:%zz", "redis://u:sec\x01ret@h:1", "redis://u:secret@h/x", "redis://u:sec/ret@h", "redis://u:secret@h:1?addr=x:1"} {
		_, err := masters.Parse(list)
		require.ErrorContains(t, err, "redis://h", list)
		require.NotContains(t, err.Error(), "ret")
	}
	_, err := masters.Parse("u:secret@h:1")
	require.ErrorContains(t, err, `"h:1" is not an address`)
	require.Equal(t, []string{"h:1", "redis://h:1", "unix:///s"}, []string{masters.Redact("u:p@h:1"), masters.Redact("redis://u:p@h:1"), masters.Redact("unix:///s")})
	opt, err := masters.Option("h:1")
	require.NoError(t, err)
	require.True(t, opt.ForceSingleClient && opt.DisableCache, "never a cluster")
}

func TestEmbeddedMastersAnswerAsServersDo(t *testing.T) {
	gone, err := masters.StartEmbedded(1)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	set, err := masters.StartEmbedded(2)
	require.NoError(t, err)
	used, err := masters.Use(t.Context(), append(gone.Addrs, set.Addrs...))
	require.NoError(t, err)
	require.Equal(t, "redis 7.0.0", used.Version)
	require.True(t, 0 < used.Distance && used.Distance < time.Minute, used.Distance)
	c, err := wire.Dial(t.Context(), set.Addrs[1])
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Call("SET", "key", "value", "PX", "1")
	require.NoError(t, err)
	await.True(t, func() bool {
		left, err := c.Call("EXISTS", "key")
		return err == nil && left[0].Number == 0
	})
	require.NoError(t, set.Close())
	_, err = masters.Use(t.Context(), set.Addrs)
	require.ErrorContains(t, err, "master "+set.Addrs[0]+": ")
}

func TestTheFarthestMasterTellsTheDistance(t *testing.T) {
	servers := redistest.Masters(t, 2)
	set, err := masters.Use(t.Context(), redistest.Addrs(servers))
	require.NoError(t, err)
	require.Positive(t, set.Distance)

	rig, err := faults.NewRig([]faults.Fault{{Kind: faults.Delay, Master: 1, Delay: bench.Fixed(30 * time.Millisecond), Whole: true}}, servers)
	require.NoError(t, err)
	defer func() { require.NoError(t, rig.Close()) }()
	set, err = masters.Use(t.Context(), rig.Addrs())
	require.NoError(t, err)
	require.GreaterOrEqual(t, set.Distance, 30*time.Millisecond)
}

func TestOneMasterThatAnswersIsEnoughWhicheverIsNamedFirst(t *testing.T) {
	servers := redistest.Masters(t, 2)
	addrs := redistest.Addrs(servers)
	redistest.Down(t, servers[0])
	for range 2 {
		set, err := masters.Use(t.Context(), addrs)
		require.NoError(t, err, addrs)
		require.NotEmpty(t, set.Version)
		require.Positive(t, set.Distance)
		slices.Reverse(addrs)
	}
	_, err := masters.Use(t.Context(), addrs[:1])
	require.ErrorContains(t, err, "master "+addrs[0]+": ")
}

func TestAnErrorShowsNoPasswordThatAServerQuotes(t *testing.T) {
	stranger := redistest.Stranger(t)
	_, err := masters.Use(t.Context(), []string{"redis://:swordfish@" + stranger})
	require.EqualError(t, err, "master redis://"+stranger+": AUTH: unknown command 'AUTH'")
}
