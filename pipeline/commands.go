package pipeline

import (
	"strconv"
	"time"

	"muxlock/internal/resp"
	"muxlock/scripts"
)

// At least foldFrom extends and releases are folded into calls of the batch script, at most
// foldMax requests each. Below, a script of their own costs the server less than the frame of
// this one does; above, it saves a reply, a lookup and a dispatch per request. One call keeps
// its server busy for about a microsecond per request. An acquire is a plain SET: a script
// would only make it dearer. BenchmarkFold compares.
const (
	foldFrom = 8
	foldMax  = 512
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

// addMillis adds what millis returns, without an allocation.
func (b *batch) addMillis(ttl time.Duration) {
	ms := ttl.Milliseconds()
	digits := 1
	for rest := ms / 10; rest > 0; rest /= 10 {
		digits++
	}
	b.text = resp.AppendHeader(b.text, '$', digits)
	b.text = strconv.AppendInt(b.text, ms, 10)
	b.text = append(b.text, "\r\n"...)
}

// plain adds the command for one request.
func (b *batch) plain(q *Request) {
	switch q.Op {
	case Acquire:
		b.begin(6)
		b.add("SET", q.Name, q.Token, "NX", "PX")
		b.addMillis(q.TTL)
	case Extend:
		b.begin(6)
		b.add("EVALSHA", scripts.Extend.SHA1, "1", q.Name, q.Token)
		b.addMillis(q.TTL)
	default:
		b.begin(5)
		b.add("EVALSHA", scripts.Release.SHA1, "1", q.Name, q.Token)
	}
}

// fold adds one call of the batch script for all requests, of which there are at most foldMax.
func (b *batch) fold(entries []Request) {
	n, runs := len(entries), 0
	for i := range entries {
		if i == 0 || !entries[i].alike(&entries[i-1]) {
			runs++
		}
	}
	b.begin(3 + 2*n + 2*runs)
	b.add("EVALSHA", scripts.Batch.SHA1, strconv.Itoa(n))
	for i := range entries {
		b.add(entries[i].Name)
	}
	for i := range entries {
		b.add(entries[i].Token)
	}
	for from, to := 0, 0; from < n; from = to {
		for to = from + 1; to < n && entries[to].alike(&entries[from]); {
			to++
		}
		b.add(entries[from].what(), strconv.Itoa(to-from))
	}
}

// loadScripts adds one SCRIPT LOAD for each script.
func (b *batch) loadScripts() {
	for _, s := range scripts.All() {
		b.begin(3)
		b.add("SCRIPT", "LOAD", s.Source)
	}
}

// folds reports whether the request may share a call of the batch script.
func (q *Request) folds() bool { return q.Op != Acquire && !q.Alone }

// alike reports whether the batch script may take two requests in one run.
func (q *Request) alike(other *Request) bool {
	return q.Op == other.Op && (q.Op == Release || q.TTL == other.TTL)
}

// what is the argument of the batch script for a request.
func (q *Request) what() string {
	if q.Op == Extend {
		return millis(q.TTL)
	}
	return "-"
}

func millis(ttl time.Duration) string { return strconv.FormatInt(ttl.Milliseconds(), 10) }

// A load is requests and the commands that carry them: a command of one entry is plain, one
// of several a call of the batch script.
type load struct {
	entries []Request
	batch   batch
	ends    []int // by command: the end of its entries
}

// seal encodes the entries, folded where enough that may be folded are next to each other.
func (l *load) seal() {
	for from := 0; from < len(l.entries); {
		to := from
		for to < len(l.entries) && to-from < foldMax && l.entries[to].folds() {
			to++
		}
		if to-from < foldFrom {
			l.batch.plain(&l.entries[from])
			from++
		} else {
			l.batch.fold(l.entries[from:to])
			from = to
		}
		l.ends = append(l.ends, from)
	}
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
