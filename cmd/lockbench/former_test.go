package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsGoneSaysWhatReplacesIt(t *testing.T) {
	t.Parallel()
	lines := map[string]string{
		"schema -o json":          former["schema"], // also before a flag that nobody knows there
		"report kept.json -o csv": former["-o csv"],
		"compare a.json b.json":   former["compare OLD.json NEW.json"],
	}
	for what, instead := range former {
		if strings.HasPrefix(what, "-") {
			what = "run " + what
		}
		lines[what] = instead
	}
	requireRefused(t, lines)
	require.NoError(t, formerly("run"))
}
