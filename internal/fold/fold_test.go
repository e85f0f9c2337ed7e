package fold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALineIsBrokenBetweenFiguresOrElseBetweenWords(t *testing.T) {
	for _, c := range []struct {
		text        string
		first, rest int
		want        string
	}{
		{"", 0, 0, ""},
		{"  fits well ", 1, 3, " fits well"},
		{"one two three four", 0, 2, "one two|  three|  four"},
		{"a 1  b 2  c 3", 0, 0, "a 1  b 2|c 3"},
		{"µµµµ µµµµµ", 0, 0, "µµµµ µµµµµ"},
		{"longer-than-that is it", 0, 1, "longer-than-that| is it"},
		{"ends longer-than-that", 0, 0, "ends|longer-than-that"},
	} {
		require.Equal(t, c.want, strings.Join(Lines(c.text, 10, c.first, c.rest), "|"), c.text)
	}
}
