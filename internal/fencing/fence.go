// Package fencing is the rules of fencing tokens over N masters, and of the admission of
// masters that lost data: values in, values out, no clock, no I/O, no goroutine. The
// pipeline, the engine and the checker (internal/testing/model) call the same functions.
//
// Each master keeps registers, which only grow. A grant adds one to the register of the
// name, in the same step that sets the lock, and answers the new value. The token of an
// attempt is the largest of its grants. It counts only when a quorum of these masters
// stores as much while it holds the lock: by the grant itself or by a raise. Two attempts
// that count share a master, so the later one's token is larger.
//
// Names share registers. That leaves gaps between a name's tokens, and nothing else.
package fencing

import "math/bits"

const (
	// Registers is how many a set of masters has. Two acquires whose names share one, at
	// about the same time, may need a second round trip each; more cost more memory.
	Registers = 4096
	// MaxToken is the largest token: with the holders of one lease, a fence stays below
	// 2^53, where a Lua number and a JSON number are still exact.
	MaxToken = 1<<37 - 1
	// handOverBits is the part of a fence that counts the holders of one lease.
	handOverBits = 16
	// MaxHandOvers is how often a lease may be handed over.
	MaxHandOvers = 1<<handOverBits - 1
)

// Fence returns the fence of the holder to whom a lease with the given token was handed
// over handed times.
func Fence(token uint64, handed int) uint64 { return token<<handOverBits | uint64(handed) }

// TokenAbove returns the least token whose fences are all larger than fence.
func TokenAbove(fence uint64) uint64 { return fence>>handOverBits + 1 }

// FirstToken returns what the registers of a set begin with that is set up at a time given in
// seconds since 1970: a set that replaces a forgotten one begins above it, if that counted up less
// than 16 times a second. Nothing may rest on that. It is below MaxToken until the year 2242.
func FirstToken(unix int64) uint64 { return uint64(unix) * 16 }

// Register returns the register of a name, from 0.
func Register(name string) int {
	h := uint32(2166136261) // FNV-1a, which must never change
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % Registers)
}

// Decide returns the token of an attempt, from what each master granted (0: no grant seen
// so far), and as sets of masters, one bit each, who granted and who stores the token by
// its grant. The token counts once a quorum stores it (Counts).
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

// Counts reports whether a token may be used. A master counts if its grant was seen when the
// token was decided, and if it stores as much: by the grant, or raised while it held the
// lock. One whose grant came later may have granted more than the token: an attempt that
// follows would not have to exceed that.
func Counts(granted, stored, raised uint64, quorum int) bool {
	return bits.OnesCount64((stored|raised)&granted) >= quorum
}
