package bench

import "sync/atomic"

// table is what the workers of a run know about each name beside the lock: who
// holds it, with which fence (audit), and who released it last and when (hand-over). With several
// processes it lies in memory that they share, with one in plain memory; the
// code is the same. All words begin at 0. Safe for concurrent use.
type table struct {
	words  []atomic.Int64
	stride int // words from one name to the next
}

// The words of a name.
const (
	holderWord = iota
	releaseWord
	fenceWord
	wordsUsed
	violationWord = wordsUsed // only where a name has a line to itself
)

// spreadNames is up to how many names have a cache line each; among more,
// neighbours rarely meet.
const (
	spreadNames = 1 << 16
	lineWords   = 8
)

func newTable(names int) *table {
	return &table{make([]atomic.Int64, tableWords(names)), stride(names)}
}

func tableWords(names int) int { return names * stride(names) }

func stride(names int) int {
	if names <= spreadNames {
		return lineWords
	}
	return wordsUsed
}

func (t *table) holder(key int) *atomic.Int64 { return &t.words[key*t.stride+holderWord] }

// fence is that of the last hold that had one; 0 is none.
func (t *table) fence(key int) *atomic.Int64 { return &t.words[key*t.stride+fenceWord] }

// firstViolation is when a name was first acquired although another held it or had a fence
// as large, plus one; 0 is never. Only where a name has a line to itself.
func (t *table) firstViolation(key int) *atomic.Int64 { return &t.words[key*t.stride+violationWord] }

// A release is its time on the run's clock in ns, plus one, above the number of
// the process: 0 is none, and 104 days fit.
const (
	procBits = 10
	maxProcs = 1 << procBits
)

// released notes that the holder in process proc is about to call Release.
func (t *table) released(key, proc int, now int64) {
	t.words[key*t.stride+releaseWord].Store((now+1)<<procBits | int64(proc))
}

// handover returns how long a lock that was acquired at now had been on its way from
// its last holder, and whether that was in process proc. It is below 0 when there
// was no hand-over: the caller has begun to wait only after the release, so that
// the lock lay free.
func (t *table) handover(key, proc int, begin, now int64) (ns int64, remote bool) {
	word := t.words[key*t.stride+releaseWord].Load()
	at := word>>procBits - 1
	if word == 0 || at < begin || at > now { // after now: an earlier holder, late
		return -1, false
	}
	return now - at, word&(maxProcs-1) != int64(proc)
}
