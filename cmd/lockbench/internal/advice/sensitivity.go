package advice

import (
	"fmt"
	"slices"
	"strings"

	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/quorum"
)

// noQuorum is the part of the attempts from which on failing is the rule.
const noQuorum = 0.5

// sensitivity is what the shortest TTL would be if something were otherwise.
func (k *maker) sensitivity() {
	base := k.shortest(k.Acquire, k.hold, k.pause)
	add := func(what, remark string, min float64) {
		k.out.Sensitivity = append(k.out.Sensitivity, Change{What: what, MinNs: ns(min), ByNs: ns(min - base), Remark: remark})
	}
	add("round trips x2", "", k.shortest(k.Acquire.Scaled(2), k.hold, k.pause))
	stall := k.pause
	stall.Each = stall.Each.Scaled(2)
	add("stalls x2", "", k.shortest(k.Acquire, k.hold, stall))
	add("holds x2", "", k.shortest(k.Acquire, k.hold.Scaled(2), k.pause))
	now := k.Quorum
	if now == nil {
		return
	}
	// scaled is an acquire as much slower as that quorum is than another at p99.
	scaled := func(what string, than, law *sizing.Law, failed float64) {
		if law == nil || failed > noQuorum {
			k.out.Sensitivity = append(k.out.Sensitivity, Change{What: what, MinNs: ns(base), Remark: "no quorum"})
			return
		}
		f := slower(law, than)
		add(what, fmt.Sprintf("quorum p99 x%.2f", f), k.shortest(k.Acquire.Scaled(f), k.hold, k.pause))
	}
	worst, failed := k.oneDown()
	scaled("one master down", now, worst, failed)
	model, _ := k.Rows.More(k.Masters, k.rng) // what a model predicts is compared with what it predicts for these
	for _, n := range []int{3, 5, 7} {
		if n < k.Masters {
			law, f := k.Rows.Fewer(n)
			scaled(fmt.Sprintf("%d masters", n), now, law, f)
		} else if n > k.Masters && k.Masters > 2 {
			law, f := k.Rows.More(n, k.rng)
			scaled(fmt.Sprintf("%d masters", n), model, law, f)
		}
	}
}

// oneDown is the quorum without the master that is missed most; nil law: there is none.
func (k *maker) oneDown() (worst *sizing.Law, failed float64) {
	if len(k.Rows) == 0 {
		return nil, 1
	}
	for i := range k.Masters {
		law, f := k.without(i)
		if law == nil {
			return nil, 1
		}
		if worst == nil || law.UpperQuantile(0.01) > worst.UpperQuantile(0.01) {
			worst, failed = law, f
		}
	}
	return worst, failed
}

// without is a quorum of all masters, also of the one that is down.
func (k *maker) without(i int) (law *sizing.Law, failed float64) {
	return sizing.FiniteTimes(k.Rows.TimesOf(slices.Delete(sizing.FirstN(k.Masters), i, i+1), quorum.Size(k.Masters)))
}

// slower is how many times as long one quorum takes as another.
func slower(law, than *sizing.Law) float64 { return law.UpperQuantile(0.01) / than.UpperQuantile(0.01) }

// lack is what a quorum takes without a master; zero: not known without probes, or the
// others are no quorum.
type lack struct {
	slower float64 // times
	mostly float64 // nine of ten are faster
}

func (k *maker) withoutOne() lack {
	law, failed := k.oneDown()
	if k.Quorum == nil || law == nil || failed > noQuorum {
		return lack{}
	}
	return lack{slower(law, k.Quorum), law.UpperQuantile(0.1)}
}

// withOneDown is the shortest TTL while a master is down; 0: not known.
func (k *maker) withOneDown() float64 {
	if k.down.slower == 0 {
		return 0
	}
	return k.shortest(k.Acquire.Scaled(k.down.slower), k.hold, k.pause)
}

// concerns is what speaks against the measurement and the set of masters.
func (k *maker) concerns() {
	switch {
	case k.Masters == 1:
		k.warn("one master: its failure is the lock's, whatever the TTL")
	case k.Masters == 2:
		k.warn("2 masters survive no failure, like one")
	case k.Masters%2 == 0:
		k.warn("%d masters survive no more failures than %d", k.Masters, k.Masters-1)
	}
	hosts := map[string]bool{}
	for _, m := range k.Probed {
		host := m.Addr
		if i := strings.LastIndexByte(host, ':'); i > 0 {
			host = host[:i]
		}
		hosts[host] = true
	}
	if n := len(hosts); n > 0 && n < len(k.Probed) {
		shared := fmt.Sprintf("%d hosts", n)
		if n == 1 {
			shared = "one host"
		}
		k.warn("%d masters share %s: they fail and stall together, and where they will run round trips are others", len(k.Probed), shared)
	}
	if n := k.Acquire.N(); n < fewSamples {
		k.warn("only %d acquires were measured: run longer, or with more workers", n)
	}
	if n := k.hold.N(); k.ask.Hold != nil && n > 0 && n < fewHolds {
		k.warn("only %d holds were given: how long others are is a guess, from a hundred on it is less of one", n)
	}
	if n := len(k.Rows); n > 0 && n < fewRows {
		k.warn("only %d joint round trips were measured: run longer, or with a shorter --probe-every", n)
	}
	if len(k.Rows) >= fewSamples {
		if gap := k.Rows.Gap(0.99); gap > gapSuspicious {
			k.warn("a quorum is %.1f times slower at p99 than independent masters would be: what is slow is common to them. Fix the client host first", gap)
		}
	}
	if t := k.out.TTL; !t.Empty && len(t.Extrapolated) > 0 && float64(t.Max) < 2*float64(t.Min) {
		k.warn("the interval is narrow: what nobody has seen yet may not fit into it")
	}
}
