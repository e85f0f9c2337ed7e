package pipeline

import (
	"strconv"
	"time"

	"muxlock/scripts"
)

// Batches of at least foldFrom requests are folded into calls of the batch
// script, at most foldMax requests each. Below, a plain command costs the server
// less than the script's frame does; above, the script saves it a reply, a
// lookup and a dispatch per request. One call keeps its server busy for about a
// microsecond per request. BenchmarkFold compares.
const (
	foldFrom = 8
	foldMax  = 512
)

// foldWary is foldMax for a while after a call was refused for one of its names, which an
// ACL denies: then all of its entries are asked for again, each by itself.
const (
	foldWary = 32
	waryFor  = time.Second
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
	b.head('*', n)
}

func (b *batch) head(sign byte, n int) {
	b.text = append(b.text, sign)
	b.text = strconv.AppendInt(b.text, int64(n), 10)
	b.text = append(b.text, "\r\n"...)
}

func (b *batch) add(args ...string) {
	for _, arg := range args {
		b.head('$', len(arg))
		b.text = append(b.text, arg...)
		b.text = append(b.text, "\r\n"...)
	}
}

// plain adds the command for one request.
func (b *batch) plain(q *Request) {
	switch q.Op {
	case Acquire:
		b.begin(6)
		b.add("SET", q.Name, q.Token, "NX", "PX", millis(q.TTL))
	case Extend:
		b.begin(6)
		b.add("EVALSHA", scripts.Extend.SHA1, "1", q.Name, q.Token, millis(q.TTL))
	default:
		b.begin(5)
		b.add("EVALSHA", scripts.Release.SHA1, "1", q.Name, q.Token)
	}
}

// fold adds one call of the batch script for the first requests and returns how
// many: at most most.
func (b *batch) fold(entries []Request, most int) int {
	n, runs := min(len(entries), most), 0
	for i := range entries[:n] {
		if i == 0 || !entries[i].alike(&entries[i-1]) {
			runs++
		}
	}
	b.begin(3 + 2*n + 2*runs)
	b.add("EVALSHA", scripts.Batch.SHA1, strconv.Itoa(n))
	for i := range entries[:n] {
		b.add(entries[i].Name)
	}
	for i := range entries[:n] {
		b.add(entries[i].Token)
	}
	for from, to := 0, 0; from < n; from = to {
		for to = from + 1; to < n && entries[to].alike(&entries[from]); {
			to++
		}
		b.add(entries[from].what(), strconv.Itoa(to-from))
	}
	return n
}

// loadScripts adds one SCRIPT LOAD for each script.
func (b *batch) loadScripts() {
	for _, s := range scripts.All() {
		b.begin(3)
		b.add("SCRIPT", "LOAD", s.Source)
	}
}

// alike reports whether the batch script may take two requests in one run.
func (q *Request) alike(other *Request) bool {
	return q.Op == other.Op && (q.Op == Release || q.TTL == other.TTL)
}

// what tells the batch script what to do with a request.
func (q *Request) what() string {
	switch q.Op {
	case Acquire:
		return millis(q.TTL)
	case Extend:
		return "+" + millis(q.TTL)
	default:
		return "-"
	}
}

func millis(ttl time.Duration) string { return strconv.FormatInt(ttl.Milliseconds(), 10) }

// A load is requests and the commands that carry them.
type load struct {
	entries []Request
	batch   batch
	ends    []int // by command: the end of its entries
	folded  bool  // the commands are calls of the batch script
}

// seal encodes the entries: folded, at most most to a call, where there are enough.
func (l *load) seal(most int) {
	if len(l.entries) < foldFrom {
		l.sealSingle()
		return
	}
	l.folded = true
	for from := 0; from < len(l.entries); {
		from += l.batch.fold(l.entries[from:], most)
		l.ends = append(l.ends, from)
	}
}

// sealSingle encodes each entry as a command of its own.
func (l *load) sealSingle() {
	for i := range l.entries {
		l.batch.plain(&l.entries[i])
		l.ends = append(l.ends, i+1)
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
