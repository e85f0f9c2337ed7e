package bench

import (
	"cmp"
	"slices"

	"muxlock/internal/peaks"
)

func (k Peak) length() int64 { return k.Ns }

// add keeps a time if it is among the longest.
func (p *Peaks) add(at, ns int64) {
	p.All, p.FromNs = peaks.Keep(p.All, Peak{AtNs: at, Ns: ns}, p.FromNs, Peak.length)
}

// mergePeaks merges several Peaks. The highest FromNs of them becomes that of the result. It
// returns nil when there are none.
func mergePeaks(parts ...*Peaks) *Peaks {
	parts = slices.DeleteFunc(parts, func(p *Peaks) bool { return p == nil })
	if len(parts) == 0 {
		return nil
	}
	all := &Peaks{All: []Peak{}}
	for _, part := range parts {
		all.FromNs = max(all.FromNs, part.FromNs)
		all.All = append(all.All, part.All...)
	}
	all.All = slices.DeleteFunc(all.All, func(k Peak) bool { return k.Ns < all.FromNs })
	if len(all.All) > peaks.Most {
		all.All, all.FromNs = peaks.Halve(all.All, Peak.length)
	}
	slices.SortStableFunc(all.All, func(a, b Peak) int { return cmp.Compare(a.AtNs, b.AtNs) })
	return all
}
