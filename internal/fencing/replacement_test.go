package fencing_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/fencing"
)

// An operator in the middle of a replacement has looked at the members that stay, and switches them one by one.
type operator struct {
	fencing.Replacement
	stay []string // in the order of their addresses
	done int
	cut  bool
}

// Two replacements of a set of n members take their steps in every order, and each may be cut at any step. Afterwards an
// operator can finish one of the two, or neither has begun.
func TestOfTwoReplacementsAtOnceOneEnds(t *testing.T) {
	ended, schedules := 0, 0
	for n := 3; n <= 5; n++ {
		members := []string{"a", "b", "c", "d", "e"}[:n]
		begin := fencing.NewSet("id", time.Minute, members).Next(members).Next(members)
		for first := range n {
			for second := range n {
				ops := [2]operator{{Replacement: fencing.Replacement{From: members[first], To: "x"}}, {Replacement: fencing.Replacement{From: members[second], To: "y"}}}
				for i := range ops {
					ops[i].stay = slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == ops[i].From })
				}
				masters := make(map[string]fencing.Set)
				for _, m := range members {
					masters[m] = begin
				}
				var walk func(ops [2]operator, masters map[string]fencing.Set)
				walk = func(ops [2]operator, masters map[string]fencing.Set) {
					moved := false
					for i := range ops {
						o := ops[i]
						if o.cut || o.done == len(o.stay) {
							continue
						}
						moved = true
						at := o.stay[o.done]
						next := begin.Next(append(slices.Clone(o.stay), o.To))
						then := ops
						if masters[at].Is(begin) {
							then[i].done++
							after := maps.Clone(masters)
							after[at] = next
							walk(then, after)
						} else {
							then[i].cut = true // refused
							walk(then, masters)
						}
						then = ops
						then[i].cut = true // or killed
						walk(then, masters)
					}
					if moved {
						return
					}
					schedules++
					canEnd := 0
					for _, o := range ops {
						var found []fencing.Found
						for _, m := range o.stay {
							found = append(found, fencing.Found{Member: m, Set: masters[m], Admitted: true})
						}
						_, _, err := o.Replace(found, fencing.Found{Member: o.To}, fencing.Found{}, fencing.NewSet("", time.Minute, members))
						if err == nil {
							canEnd++
						}
					}
					require.NotZero(t, canEnd, fmt.Sprint(ops, masters))
					ended++
				}
				walk(ops, masters)
			}
		}
	}
	t.Log(schedules, "schedules")
	require.Greater(t, ended, 1000)
}
