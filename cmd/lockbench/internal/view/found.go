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
	Ours      bool   // it is the engine: it hands over within its process
	Caveat    string // what it does not promise
	Polls     bool   // its waiters sleep and try again
	Single    bool   // it locks on one server
	Yardstick bool   // it is no lock
}

// found says what a comparison of several loads found, and why a rival wins a row.
func found(doc result.Document, traits map[string]Trait) (texts []string) {
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	own, lone, one := doc.Of(result.OwnNames), doc.Of(result.LoneCaller), doc.Of(result.OneName)
	who := doc.Config.Reference
	if next := nextTo(own, traits, byThroughput); next != "" {
		text := fmt.Sprintf("own names: %s makes %sx the cycles of %s, the next over all masters", who, units.Digits(byThroughput.decided(own, next)), next)
		if times := byThroughput.decided(lone, next); times > 0 {
			text += fmt.Sprintf(", and %sx for a lone caller", units.Digits(times))
		}
		say("%s", text)
	}
	if next := nextTo(one, traits, byAcquireP99); next != "" {
		p99 := result.MustFigure("acquire.p99")
		say("one name: one acquire in a hundred waits %s or longer, with %s, the next over all masters, %s",
			p99.Text(result.Of(one.Results, who)...), next, p99.Text(result.Of(one.Results, next)...))
	}
	ahead := func(load result.Document, a against, as func(Trait) bool) []string {
		return result.Where(load.Config.Impls, func(impl string) bool {
			times := a.decided(load, impl)
			return as(traits[impl]) && times > 0 && times < 1
		})
	}
	polls := ahead(one, byAcquireP50, func(t Trait) bool { return t.Polls })
	var single []string
	for _, part := range doc.Parts() {
		single = append(single, ahead(part, byThroughput, func(t Trait) bool { return t.Single })...)
	}
	slices.Sort(single)
	if len(polls) > 0 {
		say("a lower p50 of %s: callers poll, and the last holder mostly wins again while the others sleep", strings.Join(polls, ", "))
	}
	if len(single) > 0 {
		say("more cycles of %s: one server is asked, and the lock is lost with it", strings.Join(slices.Compact(single), ", "))
	}
	return texts
}

// nextTo returns the best rival over all masters. It returns "" if no ratio is decided.
func nextTo(doc result.Document, traits map[string]Trait, a against) (next string) {
	for _, impl := range doc.Config.Impls {
		rival := impl != doc.Config.Reference && !traits[impl].Single && !traits[impl].Yardstick
		if times := a.decided(doc, impl); rival && times > 0 && (next == "" || times < a.decided(doc, next)) {
			next = impl
		}
	}
	return next
}

// decided returns the ratio of an implementation as its column has it; 0 if the rounds do not tell it from chance.
func (a against) decided(doc result.Document, impl string) float64 {
	if r, _ := a.ratio(doc, impl); r.Significant {
		return r.Median
	}
	return 0
}
