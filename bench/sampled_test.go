package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSamplesAreReadLineByLine(t *testing.T) {
	times, err := ReadSamples(strings.NewReader("# holds\r\n\n12ms\r\n 8ms # quick\n1m0.5s\n12ms"))
	require.NoError(t, err)
	require.Equal(t, []time.Duration{12 * time.Millisecond, 8 * time.Millisecond, 60500 * time.Millisecond, 12 * time.Millisecond}, times)

	most, err := ReadSamples(strings.NewReader(strings.Repeat("1us\n", maxSamples)))
	require.NoError(t, err)
	require.Len(t, most, maxSamples)
}

func TestAFileThatHoldsNoSamplesNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "no samples",
		"# nothing\n\n":                         "no samples",
		"12ms\n# and\n12":                       "line 3: must be a duration with a unit",
		"1ms\nsoon":                             `line 2: must be a duration with a unit such as 12ms, got "soon"`,
		"1ms,2ms":                               "line 1",
		"1ms\n-1ms":                             "line 2: must be from 0s",
		"9000h":                                 "line 1: must be from 0s",
		"\x7fELF" + strings.Repeat("\x00", 99):  "line 1",
		strings.Repeat("1us\n", maxSamples+1):   "line 10001: has more than 10000 samples",
		strings.Repeat("#\n", maxSampleLines+1): "more than 20000 lines",
	} {
		_, err := ReadSamples(strings.NewReader(text))
		require.ErrorIs(t, err, ErrConfig, "%.20q", text)
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 300)
	}
	_, err := ReadSamples(strings.NewReader("1ms\n" + strings.Repeat("x", 1<<17)))
	require.ErrorContains(t, err, "line 2: ")
	broken := errors.New("the disk is gone")
	_, err = ReadSamples(io.MultiReader(strings.NewReader("1ms\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "line 2: ")
}

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
