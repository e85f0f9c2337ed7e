package validation

import (
	"cmp"
	"math"
	"slices"
)

// visit is one caller's of a name: when it came, when it got the lock and when it called
// Release, in ns.
type visit struct{ came, got, left float64 }

// busy are the visits of one name as a queue sees them: one caller occupies the name from
// when it could have been given it, which is when it came or when the one before left, to
// when it leaves itself. What the lock takes to change hands is part of that.
type busy struct {
	waits    []float64 // until the name could be given
	occupied []float64
}

func occupation(visits []visit) (b busy) {
	slices.SortFunc(visits, func(a, b visit) int { return cmp.Compare(a.got, b.got) })
	free := math.Inf(-1)
	for _, v := range visits {
		could := max(v.came, free)
		b.waits = append(b.waits, could-v.came)
		b.occupied = append(b.occupied, v.left-could)
		free = v.left
	}
	return b
}

func (b *busy) add(c busy) {
	b.waits = append(b.waits, c.waits...)
	b.occupied = append(b.occupied, c.occupied...)
}
