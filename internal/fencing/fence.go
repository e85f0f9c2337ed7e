// Package fencing holds the rules for fencing tokens over N masters, and for admitting masters that lost data. Values
// in, values out: no clock, no I/O, no goroutine. The pipeline, the engine and the model checker
// (internal/testing/model) call the same functions.
//
// Each master keeps registers, which only grow. A grant sets the lock and, in the same step, adds one to the name's
// register and returns the new value. An attempt's token is the largest value it was granted. The token counts once a
// quorum of the granting masters stores at least that value while they hold the lock, by the grant itself or by a raise.
// Two attempts whose tokens count share a master, so the later attempt has the larger token.
//
// Names share registers. That only leaves gaps between the tokens of a name.
package fencing

import "math/bits"

const (
	// Registers is the number of registers of a set. If two names share a register, acquires at the same time may need
	// a second round trip each. More registers cost more memory.
	Registers = 4096
	// MaxToken is the largest token. A fence, token and hand-overs together, stays below 2^53: Lua and JSON numbers are
	// exact up to there.
	MaxToken = 1<<37 - 1
	// handOverBits is the part of a fence that counts the holders of one lease.
	handOverBits = 16
	// MaxHandOvers is how often a lease may be handed over.
	MaxHandOvers = 1<<handOverBits - 1
)

// Fence returns the fence of a lease's holder: the lease's token, and how often the lease was handed over so far.
func Fence(token uint64, handOvers int) uint64 {
	if token == 0 {
		return 0
	}
	return token<<handOverBits | uint64(handOvers)
}

// TokenAbove returns the least token whose fences are all larger than fence.
func TokenAbove(fence uint64) uint64 { return fence>>handOverBits + 1 }

// FirstToken returns the first value of the registers of a set that is set up at the given Unix time. A set that replaces
// a forgotten one starts above it if the old one granted fewer than 16 tokens a second; do not rely on that. The value
// stays below MaxToken until the year 2242.
func FirstToken(unix int64) uint64 { return uint64(unix) * 16 }

// Register returns the register of a name, from 0.
func Register(name string) int {
	h := uint32(2166136261) // FNV-1a, which must never change
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % Registers)
}

// Decide returns an attempt's token, given what each master granted (0: no grant seen yet). granted is the set of masters
// that granted, one bit each; stored is the subset whose grant equals the token. Counts says whether the token counts.
func Decide(grants []uint64) (token, granted, stored uint64) {
	for m, g := range grants {
		switch {
		case g == 0:
			continue
		case g > token:
			token, stored = g, 1<<m
		case g == token:
			stored |= 1 << m
		}
		granted |= 1 << m
	}
	return token, granted, stored
}

// Counts reports whether a token may be used: a quorum of the masters in granted must store it, by the grant or by a raise
// while they hold the lock. A master whose grant came after Decide does not count. It may have granted more than the
// token, and a later attempt need not exceed that grant.
func Counts(granted, stored, raised uint64, quorum int) bool {
	return bits.OnesCount64((stored|raised)&granted) >= quorum
}
