package plan

import (
	"fmt"
	"testing"

	"muxlock/internal/testing/golden"

	"github.com/stretchr/testify/require"
)

// testdata/params.txt has params. Below each are its values, with their places on an axis, or why it is refused.
func TestParamTakesListsAndRanges(t *testing.T) {
	golden.Answers(t, "params.txt", func(param string) (got []string) {
		p, err := ParseParam(param)
		if err != nil {
			return []string{"refused: " + err.Error()}
		}
		for _, v := range p.Values {
			line := v.Text
			if v.Number != nil {
				line += fmt.Sprintf(" at %v", *v.Number)
			}
			got = append(got, line)
		}
		return got
	})
}

func TestAllSettingsHaveOneSeed(t *testing.T) {
	p, err := ParseParam("workers=1,2,3")
	require.NoError(t, err)
	swept, err := declared(t, "noop").Sweep("sweep", p)
	require.NoError(t, err)
	require.Len(t, swept.Each, 3)
	for i, p := range swept.All() {
		require.Equal(t, i+1, p.Workers)
		require.Equal(t, swept.Seed, p.Seed)
		require.NotZero(t, p.Seed)
	}
	require.NotEqual(t, swept.Seed, planned(t).Seed, "another command line has another")
}
