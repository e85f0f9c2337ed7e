package conn

// FoldFrom extends and releases or more are folded into calls of the batch script, of at most
// FoldMax each, or of one set. Fewer cost the server less as a script of their own each: the frame of the batch
// script is dearer. More save a reply, a lookup and a dispatch per request. One call keeps the
// server busy for about a microsecond per request. An acquire is a plain SET, or part of an MSETEX
// if the server has it: a script would only make it dearer, as it would a release by a native
// command, at any size. BenchmarkFold compares.
const (
	FoldFrom = 8
	FoldMax  = 512
)

// A Fold says which requests may share one command.
type Fold uint8

const (
	FoldNone     Fold = iota
	FoldBatch         // a call of the batch script
	FoldAcquires      // MSETEX; or a call of the fenced acquire, also for one
	FoldExtends       // a call of the fenced extend, also for one
	FoldLine          // a call of a script of a line, for one
	FoldShared        // a call of the script of readers, also for one
)

// FoldOf returns the fold of a request.
func (l *Load) FoldOf(q *Request) Fold {
	switch {
	case l.Channel != "" && (q.Op == Wait || q.Op == Pass):
		return FoldLine
	case q.Op == Intend, q.Shared && !q.Op.Ends():
		return FoldShared
	case q.Shared:
		return FoldBatch
	case q.Op == Acquire && (l.Fenced || l.Dialect&Msetex != 0 && !q.Contended && !q.OneOf):
		return FoldAcquires
	case q.Op == Extend && l.Fenced:
		return FoldExtends
	case q.Op == Acquire && q.Set == 0, q.Op.Ends() && l.Dialect&(Delex|Delifeq) != 0:
		return FoldNone
	}
	return FoldBatch
}

// A Load is requests and the commands that carry them, in one dialect. A command for one entry is
// plain, but for fenced ones. A set is never cut. A command for several is an MSETEX or a call of a script.
type Load struct {
	Entries []Request
	Dialect Dialect
	Channel string // that the connection hears; "": it takes no Wait, and a Pass is a Release
	Fenced  bool   // the acquires and extends are fenced
	Batch   Batch
	Ends    []int               // by command: the end of its entries
	Names   map[string]struct{} // scratch of foldEnd: the names in a FoldAcquires
}

// Seal encodes the entries. It folds enough neighbours that may share a command. With the
// description of a set, the acquires and extends are fenced.
func (l *Load) Seal(set string) {
	l.Fenced = set != ""
	for from := 0; from < len(l.Entries); {
		kind, to := l.FoldOf(&l.Entries[from]), l.foldEnd(from)
		switch entries := l.Entries[from:to]; {
		case kind == FoldLine:
			to = from + 1
			l.Batch.InLine(&entries[0], l.Channel, set)
		case kind == FoldExtends || kind == FoldAcquires && l.Fenced:
			l.Batch.fenced(set, entries, l.Dialect)
		case kind == FoldShared:
			l.Batch.shared(set, entries)
		case to-from < FoldFrom && entries[0].Set == 0 && !entries[0].Shared:
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
	if kind == FoldNone || kind == FoldLine || first.Alone {
		return UnitEnd(l.Entries, from)
	}
	if kind == FoldAcquires {
		if l.Names == nil {
			l.Names = make(map[string]struct{})
		}
		clear(l.Names)
	}
	to := from
	for to < len(l.Entries) {
		end := UnitEnd(l.Entries, to)
		if to > from && end-from > FoldMax || !l.mayFold(l.Entries[to:end], first, kind) {
			break
		}
		to = end
	}
	return to
}

// mayFold reports whether requests that stay together may share a command of a kind with first and those
// between.
func (l *Load) mayFold(unit []Request, first *Request, kind Fold) bool {
	for i := range unit {
		q := &unit[i]
		if q.Alone || l.FoldOf(q) != kind {
			return false
		}
		if kind != FoldAcquires {
			continue
		}
		// MSETEX takes a name that is there twice, and the last value counts: two callers would
		// have the lock.
		if _, twice := l.Names[q.Name]; twice || q.TTL != first.TTL && !l.Fenced {
			return false
		}
		l.Names[q.Name] = struct{}{}
	}
	return true
}

// BytesOf returns the bytes of the commands from first to before end.
func (l *Load) BytesOf(first, end int) []byte {
	if first == end {
		return nil
	}
	to := len(l.Batch.text)
	if end < len(l.Batch.starts) {
		to = l.Batch.starts[end]
	}
	return l.Batch.text[l.Batch.starts[first]:to]
}

// EntriesOf returns the range of entries that command c carries.
func (l *Load) EntriesOf(c int) (from, to int) {
	if c > 0 {
		from = l.Ends[c-1]
	}
	return from, l.Ends[c]
}
