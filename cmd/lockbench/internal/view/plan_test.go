package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/advice"
)

// rows is the texts of a table.
func rows(t Table) (all [][]string) {
	for _, row := range t.Rows {
		var texts []string
		for _, cell := range row {
			texts = append(texts, cell.Text)
		}
		all = append(all, texts)
	}
	return all
}

func TestSetsOfAPlanHaveZonesOnlyWhereTheyAreKnown(t *testing.T) {
	three := advice.Set{Size: 3, Masters: []int{1, 3, 5}, P50: 160_000, P99: 3_490_000, OneDown: 21_100_000, MayFail: 1}
	more := advice.Set{Size: 5, Masters: []int{}, P50: 170_000, P99: 4_000_000, MayFail: 2}
	require.Equal(t, [][]string{
		{"3", "1,3,5", "160us", "3.49ms", "21.1ms", "1"},
		{"5", "more like these", "170us", "4.00ms", "-", "2"},
	}, rows(setsTable([]advice.Set{three, more})))

	three.Zones, three.SurvivesZone, three.Unavailable = []string{"a", "b", "c"}, true, 3.6e-6
	with := setsTable([]advice.Set{three, more})
	require.Equal(t, []string{"a,b,c", "yes", "114s"}, rows(with)[0][6:])
	require.Equal(t, []string{"-", "-", "-"}, rows(with)[1][6:])
	require.Len(t, with.Columns, 9)
}

func TestMastersInZonesAreARowEach(t *testing.T) {
	table := placedTable([]advice.Placed{
		{Masters: 1, Zones: 1, Unavailable: 1.1e-3},
		{Masters: 3, Zones: 1, Unavailable: 1e-4}, {Masters: 3, Zones: 2, Unavailable: 1e-4}, {Masters: 3, Zones: 3, SurvivesZone: true, Unavailable: 3.6e-6},
	}, advice.Ask{MasterUp: 0.999, ZoneUp: 0.99999})
	require.Equal(t, [][]string{{"1", "9.64h", "-", "-"}, {"3", "52.6min", "52.6min", "114s*"}}, rows(table))
	require.Contains(t, table.Caption, "99.9% of the time and each zone for 99.999%", "each 9 counts")
}

func TestANameThatIsAskedForTooMuchIsMarked(t *testing.T) {
	ways := []advice.Way{{How: "fast", PerS: 200, Occupied: 0.5, Wait: int64(3 * time.Millisecond)}, {How: "slow", PerS: 80, Occupied: 1.25}}
	table := hotTable(advice.Hot{Rate: 100, Ways: ways})
	require.Equal(t, [][]string{{"fast", "200/s", "50.0%", "3.00ms"}, {"slow", "80.0/s", "125%", "grows"}}, rows(table))
	require.Equal(t, Bad, table.Rows[1][2].Class)
	require.Equal(t, [][]string{{"fast", "200/s"}, {"slow", "80.0/s"}}, rows(hotTable(advice.Hot{Ways: ways})), "nobody said how often")
}

func TestLongTimesAreReadable(t *testing.T) {
	for ns, want := range map[float64]string{0: "0ns", 5e6: "5.00ms", 90e9: "90.0s", 150e9: "2.50min", 9 * 3600e9: "9.00h", 72 * 3600e9: "3.00d"} {
		require.Equal(t, want, long(ns))
	}
}
