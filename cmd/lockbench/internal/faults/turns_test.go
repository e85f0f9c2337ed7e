package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFaultsOfAProcessComeInTurnAndThoseOfConnectionsByThemselves(t *testing.T) {
	var list []Fault
	for _, text := range []string{"restart:1@2s", "stop:1@1s-2s", "kill:2", "stop:1@3s-4s", "delay:1:5ms", "delay:1:5ms@0s-2s", "cut:1@2s"} {
		f, err := Parse(text, Run{Masters: 2, Duration: 10 * time.Second})
		require.NoError(t, err)
		list = append(list, f)
	}
	require.Equal(t, map[string][]*Fault{"master 1": {&list[1], &list[0], &list[3]}, "master 2": {&list[2]}, "5": {&list[5]}, "6": {&list[6]}}, turns(list),
		"a delay for the whole run has no turn")
	require.Greater(t, list[2].end(), time.Hour, "it ends with the run")
}
