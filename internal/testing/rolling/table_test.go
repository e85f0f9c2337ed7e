package rolling

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// A row is what came of a setting.
type row struct {
	setting string
	rolls   int
	lost    int
	seconds int
	took    []time.Duration
}

// add adds a time, and says so if it is long.
func (r *row) add(t *testing.T, took, long time.Duration) {
	r.took = append(r.took, took)
	if took > long {
		t.Logf("roll %d took %v", r.rolls, took)
		progress(r.setting, "roll %d took %v", r.rolls, took.Round(time.Millisecond))
	}
}

func (r *row) quantile(q float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r.took))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// check fails the test if a lock was lost or had a second holder; and after many rolls, if they took longer than they may.
func (r *row) check(t *testing.T, median, worst time.Duration) {
	if r.lost > 0 || r.seconds > 0 {
		t.Errorf("%s: %d locks lost, %d second holders", r.setting, r.lost, r.seconds)
	}
	if many && (r.quantile(0.5) > median || r.quantile(1) > worst) {
		t.Errorf("%s: median %v, worst %v; %v and %v are asked", r.setting, r.quantile(0.5), r.quantile(1), median, worst)
	}
}

// A table collects the rows of settings that are played side by side.
type table struct {
	mu   sync.Mutex // guards rows
	rows []*row
}

func (b *table) add(r *row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, r)
	progress(r.setting, "%d rolls, median %v, worst %v", r.rolls, r.quantile(0.5).Round(time.Millisecond), r.quantile(1).Round(time.Millisecond))
}

// print prints the table; took says what took the times.
func (b *table) print(t *testing.T, took string) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nsetting\trolls\tlocks lost\tsecond holders\t%s: median\tp90\tworst\n", took)
	slices.SortFunc(b.rows, func(a, b *row) int { return strings.Compare(a.setting, b.setting) })
	for _, r := range b.rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f ms\t%.1f ms\t%.1f ms\n", r.setting, r.rolls, r.lost, r.seconds,
			ms(r.quantile(0.5)), ms(r.quantile(0.9)), ms(r.quantile(1)))
	}
	w.Flush()
	if many {
		fmt.Println(text.String())
		return
	}
	t.Log(text.String())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
