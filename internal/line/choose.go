package line

import "cmp"

// A Step is the next step of a waiter: some masters granted its token, but not a quorum.
type Step uint8

const (
	GiveBack Step = iota // another has a quorum: give the grants back to nobody, and stand in line with a fresh token
	Again                // ask again: the others yield
	Yield                // pass the token to the leader, and stand in line with a fresh one
)

// Settle decides between tokens that split the votes. values are what the masters have under the name, the zero value
// where the name is free or the master did not answer. The token with the most votes leads; of several, the least. All
// waiters that see the same values see the same leader.
func Settle[K cmp.Ordered](own K, values []K, quorum int) (next Step, leader K) {
	leader, votes := most(values)
	switch {
	case leader == own:
		return Again, leader
	case votes >= quorum:
		return GiveBack, leader
	default:
		return Yield, leader
	}
}

// Next returns the token to pass a lock to, and the one if that is gone. firsts and seconds are what the masters have at
// the head of their lines, the zero value where there is none. Lines differ while requests are under way, so the holder
// names one for all.
func Next[K cmp.Ordered](firsts, seconds []K) (first, second K) {
	var none K
	first, _ = most(firsts)
	if first == none {
		return none, none
	}
	rest := make([]K, 0, len(firsts)+len(seconds))
	for _, list := range [][]K{firsts, seconds} {
		for _, v := range list {
			if v != first {
				rest = append(rest, v)
			}
		}
	}
	second, _ = most(rest)
	return first, second
}

// most returns the value that is there most often, of several the least, and how often. The zero value does not count.
func most[K cmp.Ordered](values []K) (value K, votes int) {
	var none K
	for i, v := range values {
		n := 0
		for _, other := range values[i:] {
			if other == v {
				n++
			}
		}
		if v != none && (n > votes || n == votes && v < value) {
			value, votes = v, n
		}
	}
	return value, votes
}
