package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/usage"
)

func TestWhatIsGoneSaysWhatReplacesIt(t *testing.T) {
	lines := map[string]string{
		"schema -o json":          usage.Former["schema"], // also before a flag that nobody knows there
		"report kept.json -o csv": usage.Former["-o csv"],
		"compare a.json b.json":   usage.Former["compare OLD.json NEW.json"],
	}
	for what, instead := range usage.Former {
		if figure, ok := strings.CutPrefix(what, "figure "); ok {
			what = "run --slo " + figure + "<5"
		} else if strings.HasPrefix(what, "-") {
			what = "run " + what
		}
		lines[what] = instead
	}
	requireRefused(t, lines)
	require.NoError(t, usage.Formerly("run"))
}
