package model

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"muxlock/internal/fencing"
)

// The descriptions of sets, as numbers. Each operator begins a set with an ID of its own.
const (
	noSet     uint8 = iota
	preparing       // this and the next two: the first operator's set
	prepared
	serving
	following      // serving, after a member was replaced
	otherPreparing // this and the next two: the second operator's set
	otherPrepared
	otherServing
	numberOfSets
)

// sets maps the numbers to descriptions.
var sets = func() (sets [numberOfSets]fencing.Set) {
	for family, first := range []uint8{preparing, otherPreparing} {
		set := fencing.NewSet(strconv.Itoa(family), time.Second, members)
		for g := range uint8(3) {
			sets[first+g] = set
			set = set.Next(members)
		}
	}
	sets[following] = sets[serving].Next(membersAfter)
	return sets
}()

// The members of a set before and after a replacement.
var (
	members      = []string{"a", "b", "goes"}
	membersAfter = []string{"a", "b", "comes"}
)

// numberOf returns the number of a description.
func numberOf(s fencing.Set) uint8 {
	return uint8(max(0, slices.IndexFunc(sets[:], func(other fencing.Set) bool { return s.Is(other) })))
}

// foreign reports whether a client of the set ours must leave a master alone because of the description it shows.
func foreign(shown, ours uint8) bool {
	return shown != noSet && shown != ours && sets[ours].Over(sets[shown]) != nil
}

// A finding is what an operator finds at one master.
type finding struct {
	set      uint8
	admitted bool
}

func (f finding) found(member string) fencing.Found {
	return fencing.Found{Member: member, Set: sets[f.set], Admitted: f.admitted}
}

// A question is an operator's question to package fencing. The search keeps the answers.
type question struct {
	operation operation
	operator  int
	found     [maxMasters]finding
}

type answer struct {
	set     uint8 // set that the masters shall get
	before  uint8 // set before a replacement
	back    bool  // masters that were switched and then restarted are put back
	refused bool
}

// ask returns what an operator is to do. It names the masters members[0], [1], [2] in the order found, whichever they are:
// no decision depends on the names.
func (x *search) ask(q question, n int) (a answer) {
	if a, known := x.answers[q]; known {
		return a
	}
	var found []fencing.Found
	for i := range n {
		found = append(found, q.found[i].found(members[min(i, 2)]))
	}
	var err error
	var set fencing.Set
	want := sets[preparing]
	if q.operator == 1 || q.operation == recovers {
		want = sets[otherPreparing]
	}
	switch q.operation {
	case setsUp:
		set, err = fencing.SetUp(found, want)
	case recovers:
		set, err = want, fencing.Recover(found, want)
	case replaces:
		var before fencing.Set
		before, set, err = fencing.Replacement{From: "goes", To: "comes"}.Replace(found[:n-2], found[n-1], found[n-2], sets[serving])
		a.before = numberOf(before)
		if lost := (*fencing.LostError)(nil); errors.As(err, &lost) && lost.Back {
			a.back, err = true, nil
		}
	}
	a.set, a.refused = numberOf(set), err != nil
	x.answers[q] = a
	return a
}
