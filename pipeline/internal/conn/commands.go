package conn

import (
	"strconv"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/scripts"
)

// ReservedPrefix begins the names of the engine's own keys.
const ReservedPrefix = "__muxlock__:"

// IntentPrefix, followed by a name, is the key by which a writer keeps new readers out.
const IntentPrefix = ReservedPrefix + "i:"

// The keys of fencing, on every master.
const (
	SetKey       = ReservedPrefix + "set"       // the description of the set
	MarkKey      = ReservedPrefix + "admitted"  // the mark of the master's admission
	TicketKey    = ReservedPrefix + "ticket"    // of the admission under way
	SinceKey     = ReservedPrefix + "since"     // when this admission began, by clock; a hash
	RegistersKey = ReservedPrefix + "registers" // the registers; a hash
)

// A Batch is commands in Redis's wire format.
type Batch struct {
	text   []byte
	starts []int // by command: where it begins in text
}

// Commands returns how many replies the batch will have.
func (b *Batch) Commands() int { return len(b.starts) }

// Bytes returns all commands as they are sent; valid until Reset.
func (b *Batch) Bytes() []byte { return b.text }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.text, b.starts = b.text[:0], b.starts[:0] }

// Command adds a command of these words.
func (b *Batch) Command(words ...string) {
	b.Begin(len(words))
	b.Add(words...)
}

// Begin starts a command of n arguments, its name included.
func (b *Batch) Begin(n int) {
	b.starts = append(b.starts, len(b.text))
	b.text = resp.AppendHeader(b.text, '*', n)
}

// Add adds arguments to the command that Begin began.
func (b *Batch) Add(args ...string) {
	for _, arg := range args {
		b.text = resp.AppendBulk(b.text, arg)
	}
}

// AddMillis adds a time to live in milliseconds.
func (b *Batch) AddMillis(ttl time.Duration) { b.AddNumber(uint64(ttl.Milliseconds())) }

// AddNumber adds a number, without an allocation.
func (b *Batch) AddNumber(n uint64) { b.addMarked("", n) }

// addMarked adds a number with a mark in front.
func (b *Batch) addMarked(mark string, n uint64) {
	digits := 1
	for rest := n / 10; rest > 0; rest /= 10 {
		digits++
	}
	b.text = resp.AppendHeader(b.text, '$', len(mark)+digits)
	b.text = append(b.text, mark...)
	b.text = strconv.AppendUint(b.text, n, 10)
	b.text = append(b.text, "\r\n"...)
}

// Plain adds the command for one request that is not a reader's.
func (b *Batch) Plain(q *Request, d Dialect) {
	switch {
	case q.Op == Acquire:
		b.Begin(6)
		b.Add("SET", q.Name, q.Token, "NX", "PX")
		b.AddMillis(q.TTL)
	case q.Op == Extend:
		b.Begin(6)
		b.Add("EVALSHA", scripts.Extend.SHA1, "1", q.Name, q.Token)
		b.AddMillis(q.TTL)
	case d&Delex != 0:
		b.Command("DELEX", q.Name, "IFEQ", q.Token)
	case d&Delifeq != 0:
		b.Command("DELIFEQ", q.Name, q.Token)
	default:
		b.Command("EVALSHA", scripts.Release.SHA1, "1", q.Name, q.Token)
	}
}

// Fold adds one call of the batch script for all entries: releases, sets, choices, and extends of writers.
func (b *Batch) Fold(entries []Request, d Dialect) {
	n := len(entries)
	b.Begin(3 + 2*n + 2*runsIn(entries, d))
	b.Add("EVALSHA", scripts.Batch.SHA1)
	b.AddNumber(uint64(n))
	b.addNames(entries)
	b.addTokens(entries)
	b.addRuns(entries, d)
}

// shared adds one call of the script of readers for all entries. set is the description that the master must have.
func (b *Batch) shared(set string, entries []Request, d Dialect) {
	n, keys := len(entries), 2*len(entries)
	if set != "" {
		keys += 2
	}
	b.Begin(4 + keys + n + 2*runsIn(entries, d))
	b.Add("EVALSHA", scripts.Shared.SHA1)
	b.AddNumber(uint64(keys))
	b.addNames(entries)
	for i := range entries {
		b.text = resp.AppendHeader(b.text, '$', len(IntentPrefix)+len(entries[i].Name))
		b.text = append(append(append(b.text, IntentPrefix...), entries[i].Name...), "\r\n"...)
	}
	if set != "" {
		b.Add(SetKey, MarkKey)
	}
	b.Add(set)
	b.addTokens(entries)
	b.addRuns(entries, d)
}

// Msetex adds one MSETEX NX for all entries: acquires of different names with one TTL.
func (b *Batch) Msetex(entries []Request) {
	b.Begin(5 + 2*len(entries))
	b.Add("MSETEX")
	b.AddNumber(uint64(len(entries)))
	for i := range entries {
		b.Add(entries[i].Name, entries[i].Token)
	}
	b.Add("NX", "PX")
	b.AddMillis(entries[0].TTL)
}

// fenced adds one call of a script of fencing for all entries, either acquires or extends. set is
// the description that the master must have.
func (b *Batch) fenced(set string, entries []Request, d Dialect) {
	n, script := len(entries), &scripts.FencedAcquire
	if entries[0].Op == Extend {
		script, d = &scripts.FencedExtend, 0
	}
	args := 7 + 4*n + 2*runsIn(entries, 0)
	if d&Msetex != 0 {
		args++
	}
	b.Begin(args)
	b.Add("EVALSHA", script.SHA1)
	b.AddNumber(uint64(n + 3))
	b.Add(SetKey, MarkKey, RegistersKey)
	b.addNames(entries)
	b.Add(set)
	b.addTokens(entries)
	for i := range entries {
		b.AddNumber(uint64(fencing.Register(entries[i].Name)))
	}
	for i := range entries {
		b.AddNumber(entries[i].Fence)
	}
	b.addRuns(entries, 0)
	if d&Msetex != 0 {
		b.Add("msetex")
	}
}

func (b *Batch) addNames(entries []Request) {
	for i := range entries {
		b.Add(entries[i].Name)
	}
}

func (b *Batch) addTokens(entries []Request) {
	for i := range entries {
		b.Add(entries[i].Token)
	}
}

// addRuns adds, for each run of like entries, the operation and the number of entries.
func (b *Batch) addRuns(entries []Request, d Dialect) {
	for from := 0; from < len(entries); {
		to := runEnd(entries, from, d)
		switch q := &entries[from]; {
		case q.Op.Ends() && q.Shared:
			b.Add("s-")
		case q.Op.Ends():
			b.Add("-")
		case q.Op == Extend && q.Shared:
			b.addMarked("+", uint64(q.TTL.Milliseconds()))
		case q.Heal && q.Shared:
			b.addMarked("*", uint64(q.TTL.Milliseconds()))
		case q.Op == Intend:
			b.addMarked("!", uint64(q.TTL.Milliseconds()))
		case q.OneOf:
			b.addMarked("|", uint64(q.TTL.Milliseconds()))
		case q.Joint != 0 && d&NoMsetnx != 0:
			b.addMarked("=", uint64(q.TTL.Milliseconds()))
		case q.Joint != 0:
			b.addMarked("&", uint64(q.TTL.Milliseconds()))
		default:
			b.AddMillis(q.TTL)
		}
		b.AddNumber(uint64(to - from))
		from = to
	}
}

// runsIn returns how many runs the entries have.
func runsIn(entries []Request, d Dialect) (runs int) {
	for from := 0; from < len(entries); from = runEnd(entries, from, d) {
		runs++
	}
	return runs
}

// runEnd returns the end of the run that begins at from. A run of one needs no MGET.
func runEnd(entries []Request, from int, d Dialect) int {
	to := from + 1
	for to < len(entries) && (d&NoMget == 0 || entries[to].Joint != 0) && entries[to].alike(&entries[from]) {
		to++
	}
	return to
}

// LoadScripts adds a SCRIPT LOAD for each script; with fencing, also for the scripts of fencing.
func (b *Batch) LoadScripts(fencing bool) { b.load(scripts.All(fencing)) }

// LoadLine adds a SCRIPT LOAD for each script of a line.
func (b *Batch) LoadLine() { b.load([]scripts.Script{scripts.Wait, scripts.Pass}) }

func (b *Batch) load(list []scripts.Script) {
	for _, s := range list {
		b.Command("SCRIPT", "LOAD", s.Source)
	}
}

// alike reports whether a script may take two requests in one run.
func (q *Request) alike(other *Request) bool {
	return q.Shared == other.Shared && q.Heal == other.Heal && (q.Op.Ends() && other.Op.Ends() || q.Op == other.Op && q.TTL == other.TTL && q.Joint == other.Joint)
}
