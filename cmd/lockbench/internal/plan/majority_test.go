package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMajorityStaysUnlessTooManyMastersAreAwayAtOnce(t *testing.T) {
	for args, want := range map[string]bool{
		"":                               true,
		"stop:1@1s-3s":                   true,
		"stop:1@1s-2s stop:2@2s-3s":      true,
		"stop:1@1s-3s stop:2@2s-4s":      false,
		"stop:2@2s-4s stop:1@1s-3s":      false,
		"stop:1@1s-3s stop:1@4s-5s":      true,
		"stop:1 deny:2@2s-3s":            false,
		"delay:1:1ms delay:2:1ms":        true,
		"cut:1@1s cut:2@1s":              false,
		"cut:1@1s cut:2@2s":              true,
		"restart:1@1s stop:2@3s-4s":      false, // it has no vote for as long as the run lasts
		"pause:1@1s-3s stop:1@1s-3s":     true,
		"stop:1@1s-3s stop:4@1s-3s":      true, // of two groups
		"stop:4@1s-3s stop:6@1s-3s":      false,
		"stop:1@1s-3s pause:2@1500ms-2s": true,
	} {
		line := []string{"--local=3", "--groups=2", "--procs=2", "--duration=40s"}
		for _, fault := range strings.Fields(args) {
			line = append(line, "--fault="+fault)
		}
		require.Equal(t, want, planned(t, line...).MajorityStays(), args)
	}
}
