package bench

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEachSampleIsDrawnAsOftenAsAnyOther(t *testing.T) {
	times := []time.Duration{time.Millisecond, 5 * time.Millisecond, time.Millisecond, time.Second}
	s, err := Sampled("holds.txt", times)
	require.NoError(t, err)
	require.Equal(t, time.Second, times[3], "the caller's own")
	require.Equal(t, (time.Second+7*time.Millisecond)/4, s.Mean())
	sampler, seen := s.Sampler(3, 4), map[time.Duration]int{}
	const draws = 40_000
	for range draws {
		seen[sampler()]++
	}
	require.Len(t, seen, 3)
	require.InEpsilon(t, draws/2, seen[time.Millisecond], 0.03)
	require.InEpsilon(t, draws/4, seen[time.Second], 0.06)
	require.True(t, Config{Workers: 1, Duration: 1, TTL: time.Second, Hold: s}.Validate() == nil)
}

func TestADocumentKeepsSamplesWithoutTheirFile(t *testing.T) {
	times := []time.Duration{1234567, 7, 7, 0, 3 * time.Hour}
	s, err := Sampled("a,b@c*d:e.txt", times)
	require.NoError(t, err)
	require.Equal(t, "file:a,b@c*d:e.txt", s.String())
	text, err := json.Marshal(Config{Hold: s})
	require.NoError(t, err)
	var read Config
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, s, read.Hold)
	require.Nil(t, read.Think.Samples())
	require.Equal(t, "file:a,b@c*d:e.txt", fmt.Sprint(read.Hold))
	for _, damaged := range []string{"samples:", "samples:@x", "samples:1ms*0@x", "samples:1ms*-1@x", "samples:1ms*20000@x", "samples:1ms,@x", "samples:-1ms@x", "samples:1@x", "samples:9000h@x", "file:holds.txt"} {
		_, err := ParseSpan(damaged)
		require.ErrorIs(t, err, ErrConfig, damaged)
	}
	_, err = Sampled("x", nil)
	require.ErrorIs(t, err, ErrConfig)
}
