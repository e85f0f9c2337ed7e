package redsynctest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
)

// errorOf returns the text of a call's bool and error, and which masters failed.
func errorOf(ok bool, err error) string { return fmt.Sprint(said(ok, err), " ", failed(err)) }

func TestMastersThatAreDownAreNamedAsByRedsync(t *testing.T) {
	for name, open := range map[string]func(testing.TB, []string) library{"Redsync": openRedsync, "the shim": openShim} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redistest.Masters(t, 3)
			lib := open(t, redistest.Addrs(masters))
			mutex := func(name string) mutex { return lib(name, patient...) }

			redistest.Down(t, masters[2])
			m := mutex("held")
			require.NoError(t, m.Lock())
			require.Equal(t, "true nil []", errorOf(m.Extend()))
			require.Equal(t, "true nil []", errorOf(m.Unlock()))
			require.NoError(t, m.Lock())

			set(t, masters[:1], "taken by some")
			err := mutex("taken by some").TryLock()
			require.Equal(t, "ErrNodeTaken+RedisError [2]", fmt.Sprint(kinds(err), " ", failed(err)))
			set(t, masters[:2], "taken")
			require.Equal(t, "ErrTaken", kinds(mutex("taken").TryLock()))

			redistest.Down(t, masters[1])
			err = mutex("free").TryLock()
			require.Equal(t, "RedisError [1 2]", fmt.Sprint(kinds(err), " ", failed(err)))
			require.Equal(t, "false RedisError [1 2]", errorOf(m.Extend()), "the first has %v under the name", redistest.Command(t, masters[0], "GET", "held"))
			require.Equal(t, "false RedisError [1 2]", errorOf(m.Unlock()))
		})
	}
}
