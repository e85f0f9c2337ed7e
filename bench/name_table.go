package bench

import (
	"sync/atomic"
	"unsafe"
)

// table holds what the workers of a run share beside the lock. Each name has words for its
// holder and last fence, which the audit compares, and for its last release, from which
// hand-overs count. The counts of the audit follow the names. Then come the slots of each name
// for holders that share it, the fences of its permits, and the history of each process. The
// table of several processes lies in shared memory, so it outlives a process that is killed.
// All words begin at 0. Safe for concurrent use.
type table struct {
	words  []atomic.Int64
	names  int
	stride int // words from one name to the next
	shared int // slots of a name
	fences int // of a name, beside its own: one for each permit
	events int // of a name and a process, in the history
}

// The words of a name.
const (
	holderWord = iota
	releaseWord
	fenceWord
	wordsUsed
	violationWord = wordsUsed // only if each name has a cache line to itself
)

// Up to spreadNames names have a cache line each. Among more names, neighbours are rarely
// used at the same time.
const (
	spreadNames = 1 << 16
	lineWords   = 8
)

func newTable(cfg Config) *table { return tableOf(cfg, make([]atomic.Int64, tableWords(cfg))) }

func tableOf(cfg Config, words []atomic.Int64) *table {
	stride := wordsUsed
	if cfg.names() <= spreadNames {
		stride = lineWords
	}
	return &table{words, cfg.names(), stride, cfg.slots(), cfg.permits(), cfg.History}
}

func tableWords(cfg Config) int {
	if cfg.History > 0 {
		return tableOf(cfg, nil).ringAt(cfg.procs(), 0)
	}
	return tableOf(cfg, nil).ringAt(0, 0)
}

func (t *table) holder(key int) *atomic.Int64 { return &t.words[key*t.stride+holderWord] }

// fence is the fence of the last fenced hold; 0 is none.
func (t *table) fence(key int) *atomic.Int64 { return &t.words[key*t.stride+fenceWord] }

// firstViolation is the time of the first acquire of a name that overlapped another hold or
// whose fence did not grow, plus one; 0 is never. Only if each name has a cache line to itself.
func (t *table) firstViolation(key int) *atomic.Int64 { return &t.words[key*t.stride+violationWord] }

// overlaps and stale are counts of the audit, of all processes.
func (t *table) overlaps() *atomic.Int64 { return &t.words[t.names*t.stride] }
func (t *table) stale() *atomic.Int64    { return &t.words[t.names*t.stride+1] }

// slots are the words for the stamps of those who share a name.
func (t *table) slots(key int) []atomic.Int64 {
	at := t.names*t.stride + 2 + key*(t.shared+t.fences)
	return t.words[at : at+t.shared]
}

// permitFence is the fence of the last fenced hold of a permit; 0 is none. It panics if the name has no such permit.
func (t *table) permitFence(key, slot int) *atomic.Int64 {
	at := t.names*t.stride + 2 + key*(t.shared+t.fences) + t.shared
	return &t.words[at : at+t.fences][slot]
}

func (t *table) ringAt(proc, key int) int {
	return t.names*(t.stride+t.shared+t.fences) + 2 + (proc*t.names+key)*(ringWords+t.events*recordWords)
}

// ring returns the history that a process keeps of a name.
func (t *table) ring(proc, key int) (state *ringState, records []record) {
	at := t.ringAt(proc, key)
	state = (*ringState)(unsafe.Pointer(&t.words[at]))
	return state, unsafe.Slice((*record)(unsafe.Pointer(&t.words[at+ringWords])), t.events)
}

// A release word has the number of the process in its low bits, and above them the time on
// the run's clock in ns, plus one. 0 is none; 104 days fit.
const (
	procBits = 10
	maxProcs = 1 << procBits
)

// released notes that the holder in process proc is about to call Release.
func (t *table) released(key, proc int, now int64) {
	t.words[key*t.stride+releaseWord].Store((now+1)<<procBits | int64(proc))
}

// handover returns the time from the last release to now, when the caller acquired the lock.
// remote says that the last holder was in another process than proc. ns is below 0 without
// a hand-over: the lock was free when the caller began to wait. handover removes the release: the
// lease of this holder may end, and then the next holder's acquire is no hand-over.
func (t *table) handover(key, proc int, begin, now int64) (ns int64, remote bool) {
	last := &t.words[key*t.stride+releaseWord]
	word := last.Load()
	at := word>>procBits - 1
	if word == 0 || at > now { // after now: an earlier holder wrote it late
		return -1, false
	}
	last.CompareAndSwap(word, 0)
	if at < begin {
		return -1, false
	}
	return now - at, word&(maxProcs-1) != int64(proc)
}
