package pipeline

import (
	"strconv"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/scripts"
)

// At least foldFrom extends and releases are folded into calls of the batch script, at most
// foldMax requests each. Below, a script of their own costs the server less than the frame of
// this one does; above, it saves a reply, a lookup and a dispatch per request. One call keeps
// its server busy for about a microsecond per request. An acquire is a plain SET, or part of
// an MSETEX where the server has it: a script would only make it dearer. So would it make a
// release that has a command of its own, at any size. BenchmarkFold compares.
const (
	foldFrom = 8
	foldMax  = 512
)

// The keys that belong to fencing, on every master.
const (
	setKey       = ReservedPrefix + "set"       // the description of the set
	markKey      = ReservedPrefix + "admitted"  // the mark of the master's admission
	ticketKey    = ReservedPrefix + "ticket"    // of the admission that is under way
	sinceKey     = ReservedPrefix + "since"     // when it began, by clock; a hash
	registersKey = ReservedPrefix + "registers" // a hash
)

// A batch is commands in Redis's wire format, encoded once for all masters.
type batch struct {
	text   []byte
	starts []int // by command: where it begins in text
}

// commands returns how many replies the batch will have.
func (b *batch) commands() int { return len(b.starts) }

func (b *batch) bytes() []byte { return b.text }

func (b *batch) reset() { b.text, b.starts = b.text[:0], b.starts[:0] }

// begin starts a command of n arguments, its name included.
func (b *batch) begin(n int) {
	b.starts = append(b.starts, len(b.text))
	b.text = resp.AppendHeader(b.text, '*', n)
}

func (b *batch) add(args ...string) {
	for _, arg := range args {
		b.text = resp.AppendBulk(b.text, arg)
	}
}

// addMillis adds what millis returns.
func (b *batch) addMillis(ttl time.Duration) { b.addNumber(uint64(ttl.Milliseconds())) }

// addNumber adds a number, without an allocation.
func (b *batch) addNumber(n uint64) {
	digits := 1
	for rest := n / 10; rest > 0; rest /= 10 {
		digits++
	}
	b.text = resp.AppendHeader(b.text, '$', digits)
	b.text = strconv.AppendUint(b.text, n, 10)
	b.text = append(b.text, "\r\n"...)
}

// plain adds the command for one request.
func (b *batch) plain(q *Request, d dialect) {
	switch {
	case q.Op == Acquire:
		b.begin(6)
		b.add("SET", q.Name, q.Token, "NX", "PX")
		b.addMillis(q.TTL)
	case q.Op == Extend:
		b.begin(6)
		b.add("EVALSHA", scripts.Extend.SHA1, "1", q.Name, q.Token)
		b.addMillis(q.TTL)
	case d&delex != 0:
		b.begin(4)
		b.add("DELEX", q.Name, "IFEQ", q.Token)
	case d&delifeq != 0:
		b.begin(3)
		b.add("DELIFEQ", q.Name, q.Token)
	default:
		b.begin(5)
		b.add("EVALSHA", scripts.Release.SHA1, "1", q.Name, q.Token)
	}
}

// fold adds one call of the batch script for all requests, of which there are at most foldMax.
func (b *batch) fold(entries []Request) {
	n := len(entries)
	b.begin(3 + 2*n + 2*runsIn(entries))
	b.add("EVALSHA", scripts.Batch.SHA1)
	b.addNumber(uint64(n))
	b.addNames(entries)
	b.addTokens(entries)
	b.addRuns(entries)
}

// msetex adds one command for all requests, which are acquires of different names with one TTL.
func (b *batch) msetex(entries []Request) {
	b.begin(5 + 2*len(entries))
	b.add("MSETEX")
	b.addNumber(uint64(len(entries)))
	for i := range entries {
		b.add(entries[i].Name, entries[i].Token)
	}
	b.add("NX", "PX")
	b.addMillis(entries[0].TTL)
}

// fenced adds one call of a script of fencing for all requests, which are acquires or extends
// of locks on masters of the given set.
func (b *batch) fenced(set *set, entries []Request, d dialect) {
	n, script := len(entries), &scripts.FencedAcquire
	if entries[0].Op == Extend {
		script, d = &scripts.FencedExtend, 0
	}
	args := 7 + 4*n + 2*runsIn(entries)
	if d&msetex != 0 {
		args++
	}
	b.begin(args)
	b.add("EVALSHA", script.SHA1)
	b.addNumber(uint64(n + 3))
	b.add(setKey, markKey, registersKey)
	b.addNames(entries)
	b.add(set.text)
	b.addTokens(entries)
	for i := range entries {
		b.addNumber(uint64(fencing.Register(entries[i].Name)))
	}
	for i := range entries {
		b.addNumber(entries[i].Fence)
	}
	b.addRuns(entries)
	if d&msetex != 0 {
		b.add("msetex")
	}
}

func (b *batch) addNames(entries []Request) {
	for i := range entries {
		b.add(entries[i].Name)
	}
}

func (b *batch) addTokens(entries []Request) {
	for i := range entries {
		b.add(entries[i].Token)
	}
}

// addRuns adds the runs of requests that are alike: what to do, and how many of them.
func (b *batch) addRuns(entries []Request) {
	for from := 0; from < len(entries); {
		to := runEnd(entries, from)
		if entries[from].Op == Release {
			b.add("-")
		} else {
			b.addMillis(entries[from].TTL)
		}
		b.addNumber(uint64(to - from))
		from = to
	}
}

// runsIn returns how many runs of requests that are alike there are.
func runsIn(entries []Request) (runs int) {
	for from := 0; from < len(entries); from = runEnd(entries, from) {
		runs++
	}
	return runs
}

// runEnd returns the end of the run of requests that are alike and begin at from.
func runEnd(entries []Request, from int) int {
	to := from + 1
	for to < len(entries) && entries[to].alike(&entries[from]) {
		to++
	}
	return to
}

// loadScripts adds one SCRIPT LOAD for each script.
func (b *batch) loadScripts(fencing bool) {
	for _, s := range scripts.All(fencing) {
		b.begin(3)
		b.add("SCRIPT", "LOAD", s.Source)
	}
}

// A fold is which requests may share one command.
type fold uint8

const (
	foldNone     fold = iota
	foldBatch         // a call of the batch script
	foldAcquires      // MSETEX, or a call of the fenced acquire; one of these is a call, too
	foldExtends       // a call of the fenced extend; one is a call, too
)

// foldOf returns the fold of a request.
func (l *load) foldOf(q *Request) fold {
	switch {
	case q.Op == Acquire && (l.fenced || l.dialect&msetex != 0 && !q.Contended):
		return foldAcquires
	case q.Op == Extend && l.fenced:
		return foldExtends
	case q.Op == Acquire, q.Op == Release && l.dialect&(delex|delifeq) != 0:
		return foldNone
	}
	return foldBatch
}

// alike reports whether a script may take two requests in one run.
func (q *Request) alike(other *Request) bool {
	return q.Op == other.Op && (q.Op == Release || q.TTL == other.TTL)
}

// A load is requests and the commands that carry them, in one dialect. A command of one entry
// is plain; one of several a call of the batch script, or an MSETEX.
type load struct {
	entries []Request
	dialect dialect
	fenced  bool // the acquires and extends are
	batch   batch
	ends    []int               // by command: the end of its entries
	names   map[string]struct{} // of one foldAcquires, while it is put together
}

// seal encodes the entries, folded where enough that may be folded are next to each other.
// With a set the acquires and extends are fenced.
func (l *load) seal(set *set) {
	l.fenced = set != nil
	for from := 0; from < len(l.entries); {
		kind, to := l.foldOf(&l.entries[from]), l.foldEnd(from)
		switch entries := l.entries[from:to]; {
		case kind == foldExtends || kind == foldAcquires && l.fenced:
			l.batch.fenced(set, entries, l.dialect)
		case to-from < foldFrom:
			to = from + 1
			l.batch.plain(&entries[0], l.dialect)
		case kind == foldAcquires:
			l.batch.msetex(entries)
		default:
			l.batch.fold(entries)
		}
		from = to
		l.ends = append(l.ends, from)
	}
}

// foldEnd returns the end of the entries that may share a command with the one at from.
func (l *load) foldEnd(from int) int {
	first := &l.entries[from]
	kind := l.foldOf(first)
	if kind == foldNone || first.Alone {
		return from + 1
	}
	if kind == foldAcquires {
		if l.names == nil {
			l.names = make(map[string]struct{})
		}
		clear(l.names)
	}
	to := from
	for ; to < len(l.entries) && to-from < foldMax; to++ {
		q := &l.entries[to]
		if q.Alone || l.foldOf(q) != kind {
			break
		}
		if kind != foldAcquires {
			continue
		}
		// A name that is there twice is answered as taken, and the last value counts: two
		// would have the lock.
		if _, twice := l.names[q.Name]; twice || q.TTL != first.TTL && !l.fenced {
			break
		}
		l.names[q.Name] = struct{}{}
	}
	return to
}

// bytesOf returns the bytes of the commands from first to before end.
func (l *load) bytesOf(first, end int) []byte {
	if first == end {
		return nil
	}
	to := len(l.batch.text)
	if end < len(l.batch.starts) {
		to = l.batch.starts[end]
	}
	return l.batch.text[l.batch.starts[first]:to]
}

// entriesOf returns the range of entries that command c carries.
func (l *load) entriesOf(c int) (from, to int) {
	if c > 0 {
		from = l.ends[c-1]
	}
	return from, l.ends[c]
}
