package conn

// FoldFrom extends and releases or more are folded into calls of the batch script, of at most
// FoldMax each, or of one joint request. Fewer cost the server less as a script of their own each: the frame of the batch
// script is dearer. More save a reply, a lookup and a dispatch per request. One call keeps the
// server busy for about a microsecond per request. An acquire is a plain SET, or part of an MSETEX
// if the server has it. At any size a script would make it dearer, and likewise a release by a
// native command. BenchmarkFold compares.
const (
	FoldFrom = 8
	FoldMax  = 512
)

// A Load is requests and the commands that carry them, in one dialect. A joint request is never cut.
type Load struct {
	Entries  []Request
	Dialect  Dialect
	Channel  string // of the connection; "": it takes no Wait, and a Pass is a Release
	Fenced   bool   // the acquires and extends are fenced
	Batch    Batch
	Commands []Command
	Names    map[string]struct{} // scratch of foldEnd: the names of the acquires that share a command
}

// A Command is one command of a Load. It carries the entries from the previous command's End.
type Command struct {
	End  int
	Kind Kind
}

// kindOf returns the kind of command that carries a request if there are enough neighbours for it.
func (l *Load) kindOf(q *Request) Kind {
	switch {
	case l.Channel != "" && q.Op == Wait:
		return KindWait
	case l.Channel != "" && q.Op == Pass:
		return KindPass
	case q.Op == Intend, q.Shared && !q.Op.Ends():
		return KindShared
	case q.Shared:
		return KindBatch
	case q.Op == Acquire && l.Fenced:
		return KindFencedAcquire
	case q.Op == Extend && l.Fenced:
		return KindFencedExtend
	case q.Op == Acquire && l.Dialect&Msetex != 0 && !q.Contended && !q.OneOf:
		return KindMsetex
	case q.Op == Acquire && q.Joint == 0, q.Op.Ends() && l.Dialect&(Delex|Delifeq) != 0:
		return KindPlain
	}
	return KindBatch
}

// Seal encodes the entries. It folds enough neighbours that may share a command. With the
// description of a set, the acquires and extends are fenced.
func (l *Load) Seal(set string) {
	l.Fenced = set != ""
	for from := 0; from < len(l.Entries); {
		first := &l.Entries[from]
		kind := l.kindOf(first)
		to := l.foldEnd(from, kind)
		if (kind == KindBatch || kind == KindMsetex) && to-from < FoldFrom && first.Joint == 0 && !first.Shared {
			kind, to = KindPlain, from+1
		}
		kinds[kind].write(l, l.Entries[from:to], set)
		l.Commands = append(l.Commands, Command{End: to, Kind: kind})
		from = to
	}
}

// foldEnd returns the end of the entries that may share a command of a kind with the one at from.
func (l *Load) foldEnd(from int, kind Kind) int {
	first := &l.Entries[from]
	if kinds[kind].lone || first.Alone {
		return UnitEnd(l.Entries, from)
	}
	clear(l.Names)
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

// mayFold reports whether requests that stay together may share a command of a kind with first and the
// entries between.
func (l *Load) mayFold(unit []Request, first *Request, kind Kind) bool {
	for i := range unit {
		q := &unit[i]
		if q.Alone || l.kindOf(q) != kind {
			return false
		}
		if kind != KindMsetex && kind != KindFencedAcquire {
			continue
		}
		// MSETEX accepts a name twice, and the last value counts: two callers would hold the
		// lock.
		if _, twice := l.Names[q.Name]; twice || q.TTL != first.TTL && !l.Fenced {
			return false
		}
		if l.Names == nil {
			l.Names = make(map[string]struct{})
		}
		l.Names[q.Name] = struct{}{}
	}
	return true
}

// BytesOf returns the bytes of the commands from first to before end, at least one.
func (l *Load) BytesOf(first, end int) []byte {
	to := len(l.Batch.text)
	if end < len(l.Batch.starts) {
		to = l.Batch.starts[end]
	}
	return l.Batch.text[l.Batch.starts[first]:to]
}

// EntriesOf returns the range of entries that command c carries.
func (l *Load) EntriesOf(c int) (from, to int) {
	if c > 0 {
		from = l.Commands[c-1].End
	}
	return from, l.Commands[c].End
}
