package probe

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/resp"
	"muxlock/internal/wallclock"
)

func TestAMasterIsDownFromALostProbeToTheNextAnswer(t *testing.T) {
	for _, c := range []struct {
		trips []time.Duration // a row at 0, one at 10, ...
		lost  int64
		down  float64
	}{
		{nil, 0, 0},
		{[]time.Duration{5, 5, 5}, 0, 0},
		{[]time.Duration{5, -1, 5}, 1, 0.15},
		{[]time.Duration{-1, -1, 5, 5, -1}, 3, 0.25 + 0.6},
		{[]time.Duration{-1, 1000}, 1, 1},
		{[]time.Duration{-1, -1}, 2, 1},
	} {
		var rows []Row
		for i, trip := range c.trips {
			rows = append(rows, Row{At: time.Duration(10 * i), Trips: []time.Duration{-1, trip}})
		}
		m := master(rows, 1, 100)
		require.Equal(t, c.lost, m.Lost, c)
		require.InDelta(t, c.down, m.Down, 1e-9, c)
		require.EqualValues(t, len(rows), m.Lost+m.RTT.Count)
		require.Len(t, Trips(rows, 1), int(m.RTT.Count))
	}
	require.Zero(t, master(nil, 0, 0).Down)
}

func TestOfEachStretchTheReadingOfTheShortestTripIsKept(t *testing.T) {
	l, base := new(lane), time.Unix(1000, 0)
	note := func(at, trip time.Duration, answer ...resp.Reply) { l.note(answer, base.Add(at), trip, base) }
	for i, trip := range []time.Duration{9, 4, 6, 8} {
		at := time.Duration(i) * 40 * time.Millisecond
		note(at, trip*time.Microsecond, resp.Reply{Text: "1007"}, resp.Reply{Text: strconv.Itoa(i * 40_000)})
	}
	note(0, 1, resp.Reply{Kind: resp.Failed, Text: "NOPERM"})
	note(0, 1, resp.Reply{Text: "1007"}, resp.Reply{Text: "x"})
	require.Equal(t, []wallclock.Reading{{At: 40_002_000, Offset: 7e9 - 2000, Trip: 4000}, {At: 120_004_000, Offset: 7e9 - 4000, Trip: 8000}}, l.clock)
}
