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
	setting       string
	rolls         int
	lost          int
	seconds       int
	began         time.Time
	median, worst time.Duration // are asked
	took          []time.Duration
	slow          int // took longer than worst, and the machine did not stall for a fifth of that
}

// add adds the time that a roll took. The roll began at the given time.
func (r *row) add(took time.Duration, began time.Time) {
	r.rolls++
	r.took = append(r.took, took)
	if took > r.worst/2 {
		stalled := stalledSince(began)
		progress(r.setting, "roll %d took %v; the machine stalled for %v", r.rolls, took.Round(time.Millisecond), stalled.Round(time.Millisecond))
		if took > r.worst && stalled < r.worst/5 {
			r.slow++
		}
	}
	if r.rolls%10 == 0 {
		progress(r.setting, "%d rolls", r.rolls)
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
func (r *row) check(t *testing.T, a *audit) {
	for _, second := range a.seconds() {
		r.seconds++
		t.Error(second)
	}
	if r.lost > 0 && (many || stalledSince(r.began) < mayLose) {
		t.Errorf("%s: %d locks lost", r.setting, r.lost)
	}
	if many && (r.quantile(0.5) > r.median || r.slow > 0) {
		t.Errorf("%s: median %v, where %v is asked; %d rolls took more than %v", r.setting, r.quantile(0.5), r.median, r.slow, r.worst)
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
