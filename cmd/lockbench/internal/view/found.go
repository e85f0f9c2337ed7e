package view

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/units"
)

// A Trait is what a document lacks about an implementation.
type Trait struct {
	Caveat    string // what it does not promise
	Polls     bool   // its waiters sleep and try again
	Single    bool   // it locks on one server
	Yardstick bool   // it is no lock
}

// found says what a comparison of several loads found, and why a rival wins a row.
func (b *Blocks) found(doc result.Document, traits map[string]Trait) {
	who := doc.Config.Reference
	rival := func(r result.Relative) bool {
		t := traits[r.Impl]
		return r.Impl != who && !t.Single && !t.Yardstick
	}
	if len(doc.Config.Loads) > 0 {
		b.Line("")
	}
	if own, ok := doc.Of(result.OwnNames); ok {
		if i := nextTo(own, rival, func(r result.Relative) *result.Ratio { return r.Throughput }, true); i >= 0 {
			best := own.Relative[i]
			text := fmt.Sprintf("own names: %s makes %sx the cycles of %s, the next over all masters", who, inverse(best.Throughput), best.Impl)
			if lone, ok := doc.Of(result.LoneCaller); ok {
				if i := slices.IndexFunc(lone.Relative, func(r result.Relative) bool { return r.Impl == best.Impl && decided(r.Throughput) }); i >= 0 {
					text += fmt.Sprintf(", and %sx for a lone caller", inverse(lone.Relative[i].Throughput))
				}
			}
			b.Line("%s", text)
		}
	}
	one, ok := doc.Of(result.OneName)
	if !ok {
		return
	}
	if i := nextTo(one, rival, func(r result.Relative) *result.Ratio { return r.AcquireP99 }, false); i >= 0 {
		p99 := result.MustFigure("acquire.p99")
		b.Line("one name: one acquire in a hundred waits %s or longer, with %s, the next over all masters, %s",
			medianText(p99, result.Of(one.Results, who)), one.Relative[i].Impl, medianText(p99, result.Of(one.Results, one.Relative[i].Impl)))
	}
	var polls, single []string
	for _, r := range one.Relative {
		if traits[r.Impl].Polls && decided(r.AcquireP50) && r.AcquireP50.Median < 1 {
			polls = append(polls, r.Impl)
		}
	}
	for _, r := range doc.Relative {
		if traits[r.Impl].Single && decided(r.Throughput) && r.Throughput.Median > 1 && !slices.Contains(single, r.Impl) {
			single = append(single, r.Impl)
		}
	}
	if len(polls) > 0 {
		b.Line("a lower p50 of %s: it polls, and the last holder mostly wins again while the others sleep", strings.Join(polls, ", "))
	}
	if len(single) > 0 {
		b.Line("more cycles of %s: it asks one server, and is lost with it", strings.Join(single, ", "))
	}
}

// nextTo returns the place of the rival that comes next to the reference by a ratio. It returns -1 if no ratio is decided.
func nextTo(doc result.Document, rival func(result.Relative) bool, of func(result.Relative) *result.Ratio, more bool) int {
	at := -1
	for i, r := range doc.Relative {
		if !rival(r) || !decided(of(r)) {
			continue
		}
		if at < 0 || more == (of(r).Median > of(doc.Relative[at]).Median) {
			at = i
		}
	}
	return at
}

// decided reports whether the rounds tell the ratio from chance.
func decided(r *result.Ratio) bool { return r != nil && r.P != nil && r.Significant && r.Median > 0 }

func inverse(r *result.Ratio) string { return units.Digits(1 / r.Median) }
