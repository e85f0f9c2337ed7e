package fence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/engine/fence"
)

var script = rueidis.NewLuaScript(fence.Script)

// value is a fenced value whose key ends with the test.
func value(t *testing.T, key string) fence.Value {
	t.Cleanup(func() { client.Do(context.Background(), client.B().Del().Key(key).Build()) })
	return fence.Value{Key: key, Run: func(ctx context.Context, keys, args []string) ([]string, error) {
		return script.Exec(ctx, client, keys, args).AsStrSlice()
	}}
}

// kept returns what Redis has under the key of a value.
func kept(t *testing.T, v fence.Value) map[string]string {
	t.Helper()
	fields, err := client.Do(t.Context(), client.B().Hgetall().Key(v.Key).Build()).AsStrMap()
	require.NoError(t, err)
	return fields
}

func TestValueIsKeptWithItsFence(t *testing.T) {
	v, ctx := value(t, "kept"), t.Context()
	got, err := v.Seal(ctx, 3)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Equal(t, map[string]string{"fence": "3"}, kept(t, v))

	const odd = "a\x00\r\n\xff"
	require.NoError(t, v.Set(ctx, 3, "first"))
	require.NoError(t, v.Set(ctx, 3, odd), "equal")
	require.Equal(t, map[string]string{"fence": "3", "value": odd}, kept(t, v))
	reply, err := v.Run(ctx, []string{v.Key}, []string{"3", "value", odd})
	require.NoError(t, err)
	require.Equal(t, []string{"3", ""}, reply, "a write does not send the value back")
	got, err = v.Seal(ctx, 10) // "10" is less than "3" as a text
	require.NoError(t, err)
	require.Equal(t, odd, got)

	require.EqualError(t, v.Set(ctx, 9, "late"), "fence: stale: 9 came, 10 was seen")
	_, err = v.Seal(ctx, 3)
	require.ErrorIs(t, err, fence.ErrStale)
	require.Equal(t, map[string]string{"fence": "10", "value": odd}, kept(t, v), "nothing was written")

	require.NoError(t, v.Set(ctx, fence.Max, ""))
	require.ErrorIs(t, v.Set(ctx, fence.Max-1, "late"), fence.ErrStale)
	require.Equal(t, map[string]string{"fence": "9007199254740991", "value": ""}, kept(t, v))
}

func TestValueRefusesWhatIsNoFenceUnsent(t *testing.T) {
	v := fence.Value{Run: func(context.Context, []string, []string) ([]string, error) {
		t.Error("sent")
		return nil, nil
	}}
	for _, number := range noFences {
		require.ErrorIs(t, v.Set(t.Context(), number, "x"), fence.ErrInvalid)
		_, err := v.Seal(t.Context(), number)
		require.ErrorIs(t, err, fence.ErrInvalid)
	}
}

func TestValueLeavesAKeyThatIsNoneOfItsOwn(t *testing.T) {
	v, ctx := value(t, "plain"), t.Context()
	require.NoError(t, client.Do(ctx, client.B().Set().Key("plain").Value("x").Build()).Error())
	require.ErrorContains(t, v.Set(ctx, 1, "y"), "WRONGTYPE")

	v = value(t, "foreign")
	require.NoError(t, client.Do(ctx, client.B().Hset().Key("foreign").FieldValue().FieldValue("fence", "three").Build()).Error())
	require.Error(t, v.Set(ctx, 1, "y"))
	require.Equal(t, map[string]string{"fence": "three"}, kept(t, v))
}

func TestValueDoesNotTakeAnOddReplyForAnAnswer(t *testing.T) {
	broken := errors.New("broken")
	for _, reply := range [][]string{nil, {}, {"3"}, {"2"}, {"4", ""}, {"2", ""}, {"x"}, {"x", ""}, {"", ""}, {"3", "", ""}, {"18446744073709551616"}} {
		v := fence.Value{Run: func(context.Context, []string, []string) ([]string, error) { return reply, nil }}
		err := v.Set(t.Context(), 3, "x")
		require.ErrorContains(t, err, "is not the script's", "%q", reply)
		require.NotErrorIs(t, err, fence.ErrStale)
	}
	v := fence.Value{Run: func(context.Context, []string, []string) ([]string, error) { return []string{"3", ""}, broken }}
	require.ErrorIs(t, v.Set(t.Context(), 3, "x"), broken)
}
