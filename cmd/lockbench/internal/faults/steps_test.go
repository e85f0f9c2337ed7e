package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatEndsComesBeforeWhatBeginsAtTheSameTime(t *testing.T) {
	var list []Fault
	for _, text := range []string{"restart:1@2s", "stop:1@1s-2s", "kill:2@1s-2s", "stop:1@3s-4s", "delay:1:5ms", "delay:1:5ms@0s-2s"} {
		f, err := Parse(text, 2, 10*time.Second)
		require.NoError(t, err)
		list = append(list, f)
	}
	require.Equal(t, []step{
		{0, 5, false},
		{time.Second, 1, false},
		{2 * time.Second, 1, true},
		{2 * time.Second, 5, true},
		{2 * time.Second, 0, false},
		{3 * time.Second, 3, false},
		{4 * time.Second, 3, true},
	}, steps(list, 0), "a delay for the whole run has no steps")

	whole, err := Parse("stop:1", 2, 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, []step{{-lead, 0, false}, {never, 0, true}}, steps([]Fault{whole}, 0))
}
