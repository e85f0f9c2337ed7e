package quorum

import (
	"slices"
	"time"
)

// Row has one probe of every master, all sent at once.
type Row struct {
	At    time.Duration   // since the probing began
	Trips []time.Duration // to each master and back; below 0: no answer in time
}

// Took returns the time until q masters had answered. It returns false if fewer answered.
func (r Row) Took(q int) (time.Duration, bool) {
	var room [16]time.Duration
	answers := room[:0]
	for _, trip := range r.Trips {
		if trip >= 0 {
			answers = append(answers, trip)
		}
	}
	if len(answers) < q {
		return 0, false
	}
	slices.Sort(answers)
	return answers[q-1], true
}
