package conn

// At least FoldFrom extends and releases are folded into calls of the batch script, at most
// FoldMax requests each. Below, a script of their own costs the server less than the frame of
// this one does; above, it saves a reply, a lookup and a dispatch per request. One call keeps
// its server busy for about a microsecond per request. An acquire is a plain SET, or part of
// an MSETEX where the server has it: a script would only make it dearer. So would it make a
// release that has a command of its own, at any size. BenchmarkFold compares.
const (
	FoldFrom = 8
	FoldMax  = 512
)

// A Fold is which requests may share one command.
type Fold uint8

const (
	FoldNone     Fold = iota
	FoldBatch         // a call of the batch script
	FoldAcquires      // MSETEX, or a call of the fenced acquire; one of these is a call, too
	FoldExtends       // a call of the fenced extend; one is a call, too
)

// FoldOf returns the fold of a request.
func (l *Load) FoldOf(q *Request) Fold {
	switch {
	case q.Op == Acquire && (l.Fenced || l.Dialect&Msetex != 0 && !q.Contended):
		return FoldAcquires
	case q.Op == Extend && l.Fenced:
		return FoldExtends
	case q.Op == Acquire, q.Op == Release && l.Dialect&(Delex|Delifeq) != 0:
		return FoldNone
	}
	return FoldBatch
}

// A Load is requests and the commands that carry them, in one dialect. A command of one entry
// is plain; one of several a call of the batch script, or an MSETEX.
type Load struct {
	Entries []Request
	Dialect Dialect
	Fenced  bool // the acquires and extends are
	Batch   Batch
	Ends    []int               // by command: the end of its entries
	Names   map[string]struct{} // of one FoldAcquires, while it is put together
}

// Seal encodes the entries, folded where enough that may be folded are next to each other.
// With the description of a set the acquires and extends are fenced.
func (l *Load) Seal(set string) {
	l.Fenced = set != ""
	for from := 0; from < len(l.Entries); {
		kind, to := l.FoldOf(&l.Entries[from]), l.foldEnd(from)
		switch entries := l.Entries[from:to]; {
		case kind == FoldExtends || kind == FoldAcquires && l.Fenced:
			l.Batch.fenced(set, entries, l.Dialect)
		case to-from < FoldFrom:
			to = from + 1
			l.Batch.Plain(&entries[0], l.Dialect)
		case kind == FoldAcquires:
			l.Batch.Msetex(entries)
		default:
			l.Batch.Fold(entries)
		}
		from = to
		l.Ends = append(l.Ends, from)
	}
}

// foldEnd returns the end of the entries that may share a command with the one at from.
func (l *Load) foldEnd(from int) int {
	first := &l.Entries[from]
	kind := l.FoldOf(first)
	if kind == FoldNone || first.Alone {
		return from + 1
	}
	if kind == FoldAcquires {
		if l.Names == nil {
			l.Names = make(map[string]struct{})
		}
		clear(l.Names)
	}
	to := from
	for ; to < len(l.Entries) && to-from < FoldMax; to++ {
		q := &l.Entries[to]
		if q.Alone || l.FoldOf(q) != kind {
			break
		}
		if kind != FoldAcquires {
			continue
		}
		// A name that is there twice is answered as taken, and the last value counts: two
		// would have the lock.
		if _, twice := l.Names[q.Name]; twice || q.TTL != first.TTL && !l.Fenced {
			break
		}
		l.Names[q.Name] = struct{}{}
	}
	return to
}

// BytesOf returns the bytes of the commands from first to before end.
func (l *Load) BytesOf(first, end int) []byte {
	if first == end {
		return nil
	}
	to := len(l.Batch.Text)
	if end < len(l.Batch.starts) {
		to = l.Batch.starts[end]
	}
	return l.Batch.Text[l.Batch.starts[first]:to]
}

// EntriesOf returns the range of entries that command c carries.
func (l *Load) EntriesOf(c int) (from, to int) {
	if c > 0 {
		from = l.Ends[c-1]
	}
	return from, l.Ends[c]
}
