package plan

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestSamplesAreReadLineByLine(t *testing.T) {
	times, err := readSamples(strings.NewReader("# holds\r\n\n12ms\r\n 8ms # quick\n1m0.5s\n12ms"))
	require.NoError(t, err)
	require.Equal(t, []time.Duration{12 * time.Millisecond, 8 * time.Millisecond, 60500 * time.Millisecond, 12 * time.Millisecond}, times)

	most, err := readSamples(strings.NewReader(strings.Repeat("1us\n", bench.MaxSamples)))
	require.NoError(t, err)
	require.Len(t, most, bench.MaxSamples)
}

func TestAFileThatHoldsNoSamplesNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"12ms\n# and\n12":                      "line 3: must be a duration with a unit",
		"1ms\nsoon":                            `line 2: must be a duration with a unit such as 12ms, got "soon"`,
		"1ms,2ms":                              "line 1",
		"\x7fELF" + strings.Repeat("\x00", 99): "line 1",
		strings.Repeat("1us\n", bench.MaxSamples+1): "line 10001: has more than 10000 samples",
	} {
		_, err := readSamples(strings.NewReader(text))
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 300)
	}
	_, err := readSamples(strings.NewReader("1ms\n" + strings.Repeat("x", 1<<17)))
	require.ErrorContains(t, err, "line 2: ")
	broken := errors.New("the disk is gone")
	_, err = readSamples(io.MultiReader(strings.NewReader("1ms\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "line 2: ")
}
