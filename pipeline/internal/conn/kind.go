package conn

import "muxlock/internal/resp"

// A Kind is a form of command that carries requests.
type Kind uint8

const (
	KindPlain         Kind = iota // a command or a script for one request
	KindPass                      // a call of the script of Pass, for one
	KindBatch                     // a call of the batch script
	KindMsetex                    // MSETEX
	KindWait                      // a call of the script of Wait, for one
	KindShared                    // a call of the script of readers, also for one
	KindFencedAcquire             // a call of the fenced acquire, also for one
	KindFencedExtend              // a call of the fenced extend, also for one
)

// kinds has, for each kind of command, how requests are written into it and how its reply is read.
var kinds = [...]struct {
	lone   bool // it carries one request
	marked bool // with fencing its reply begins with the mark
	write  func(l *Load, entries []Request, set string)
	read   func(v *Votes, entries []Request, reply resp.Reply)
}{
	KindPlain:  {lone: true, read: (*Votes).plain, write: func(l *Load, e []Request, _ string) { l.Batch.Plain(&e[0], l.Dialect) }},
	KindPass:   {lone: true, read: (*Votes).pass, write: writeInLine},
	KindBatch:  {read: (*Votes).batch, write: func(l *Load, e []Request, _ string) { l.Batch.Fold(e, l.Dialect) }},
	KindMsetex: {read: (*Votes).msetex, write: func(l *Load, e []Request, _ string) { l.Batch.Msetex(e) }},
	KindWait:   {lone: true, marked: true, read: (*Votes).wait, write: writeInLine},
	KindShared: {marked: true, read: (*Votes).batch, write: func(l *Load, e []Request, set string) { l.Batch.shared(set, e, l.Dialect) }},

	KindFencedAcquire: {marked: true, read: (*Votes).grants, write: writeFenced},
	KindFencedExtend:  {marked: true, read: (*Votes).batch, write: writeFenced},
}

func writeInLine(l *Load, e []Request, set string) { l.Batch.InLine(&e[0], l.Channel, set) }
func writeFenced(l *Load, e []Request, set string) { l.Batch.fenced(set, e, l.Dialect) }
