package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatEndsComesBeforeWhatBeginsAtTheSameTime(t *testing.T) {
	var list []Fault
	for _, text := range []string{"restart:1@2s", "stop:1@1s-2s", "kill:2@1s-2s", "stop:1@3s-4s", "delay:1:5ms", "delay:1:5ms@0s-2s"} {
		f, err := Parse(text, Run{Masters: 2, Duration: 10 * time.Second})
		require.NoError(t, err)
		list = append(list, f)
	}
	require.Equal(t, []step{
		{at: 0, fault: &list[5]},
		{at: time.Second, fault: &list[1]},
		{at: 2 * time.Second, fault: &list[1], end: true},
		{at: 2 * time.Second, fault: &list[5], end: true},
		{at: 2 * time.Second, fault: &list[0]},
		{at: 3 * time.Second, fault: &list[3]},
		{at: 4 * time.Second, fault: &list[3], end: true},
	}, steps(list, "master 1"), "a delay for the whole run has no steps")

	whole, err := Parse("stop:1", Run{Masters: 2, Duration: 10 * time.Second})
	require.NoError(t, err)
	require.Equal(t, []step{{at: -lead, fault: &whole}, {at: never, fault: &whole, end: true}}, steps([]Fault{whole}, "master 1"))
}
