package admin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
	"muxlock/pipeline"
)

func mustInspect(t testing.TB, e *engine.Engine, name string) Inspection {
	t.Helper()
	i, err := Inspect(t.Context(), e, name)
	require.NoError(t, err)
	return i
}

// values are what five masters have, a letter each: a token, "-" free, "!" away, "?" no lock,
// "#" denied. The i-th has i+1 seconds left.
func values(letters string) (values []pipeline.Value) {
	for i, letter := range letters {
		v := pipeline.Value{Address: fmt.Sprint("m", i)}
		switch letter {
		case '-':
		case '!':
			v.Err = context.DeadlineExceeded
		case '?':
			v.Err = fmt.Errorf("%w: WRONGTYPE", ErrNotALock)
		case '#':
			v.Err = engine.ErrDenied
		default:
			v.Token, v.Left = string(letter), time.Duration(i+1)*time.Second
		}
		values = append(values, v)
	}
	return values
}

func TestAMajorityOfAllMastersHoldsALock(t *testing.T) {
	for _, c := range []struct {
		letters string
		left    time.Duration // 0: not held
		tokens  int
		err     error
	}{
		{"aaaaa", 3 * time.Second, 1, nil},
		{"aaa--", 1 * time.Second, 1, nil},
		{"--aaa", 3 * time.Second, 1, nil},
		{"aaa!!", 1 * time.Second, 1, nil},
		{"aaabb", 1 * time.Second, 2, nil},
		{"aab!a", 1 * time.Second, 2, nil},
		{"aabbc", 0, 3, nil},
		{"aabb-", 0, 2, nil},
		{"aa-!!", 0, 1, nil},
		{"-----", 0, 0, nil},
		{"?----", 0, 0, nil},
		{"aa!!!", 0, 1, engine.ErrNoQuorum},
		{"!!!!!", 0, 0, engine.ErrNoQuorum},
		{"?a!!!", 0, 1, engine.ErrNoQuorum},
		{"???aa", 0, 1, ErrNotALock},
		{"?????", 0, 0, ErrNotALock},
		{"?!a-!", 0, 1, ErrNotALock},
		{"###--", 0, 0, engine.ErrDenied},
		{"aaaa", 2 * time.Second, 1, nil},
		{"aabb", 0, 2, nil},
		{"a", time.Second, 1, nil},
	} {
		i, err := inspected("name", -1, values(c.letters))
		require.Equal(t, c.left > 0, i.Held, c.letters)
		require.Equal(t, c.left, i.Left, c.letters)
		require.Len(t, *i.found.tokens, c.tokens, c.letters)
		require.Len(t, i.Masters, len(c.letters), c.letters)
		require.ErrorIs(t, err, c.err, c.letters)
		for _, other := range []error{engine.ErrNoQuorum, ErrNotALock, engine.ErrDenied} {
			if c.err != nil && other != c.err && other == engine.ErrNoQuorum {
				require.NotErrorIs(t, err, other, c.letters)
			}
		}
		if c.err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.ErrorAs(t, err, new(engine.MasterError), c.letters)
		}
	}
}

func TestSlotOfReadsTheKeysOfPermitsAlone(t *testing.T) {
	for key, want := range map[string]string{"__muxlock__:slot:63:app:a": "63 app:a", "app:a": "-1 app:a", "slot:1:a": "-1 slot:1:a", "__muxlock__:q:a": "-1 __muxlock__:q:a"} {
		slot, of := SlotOf(key)
		require.Equal(t, want, fmt.Sprint(slot, " ", of))
	}
}
