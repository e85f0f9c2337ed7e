package conn

import (
	"muxlock/internal/resp"
	"muxlock/scripts"
)

// Newer servers have native commands that cost them less: MSETEX NX takes many locks at once, and
// DELEX or DELIFEQ releases one without a script. A server's version does not tell whether it has
// them: Valkey reports a version of Redis, and a proxy reports the version of the server behind it.
// So each new connection tries.

// A Dialect says which native commands a master is sent, one bit each.
type Dialect uint8

const (
	Msetex  Dialect = 1 << iota // Redis from 8.4, Valkey from 9.1
	Delex                       // DELEX key IFEQ value: Redis from 8.4
	Delifeq                     // DELIFEQ key value: Valkey from 9.0

	// The ACL forbids them: each call would be an entry of the server's ACL LOG.
	NoMget
	NoMsetnx
)

// NewNativeTrial returns commands that try the native ones on two keys of its own: whether MSETEX
// NX takes both or none, with the lease, and whether a key is deleted for its value only. It also tries
// what an ACL need not allow.
func NewNativeTrial(name, t string) (b Batch) {
	held, free := name, name+":2"
	b.Command("MSETEX", "1", held, t, "NX", "PX", "1000")
	b.Command("MSETEX", "2", free, t, held, "another", "NX", "PX", "1000")
	b.Command("GET", held)
	b.Command("GET", free)
	b.Command("PTTL", held)
	b.Command("DEL", held, free)
	b.Command("SET", held, t, "NX", "PX", "1000")
	b.Command("DELEX", held, "IFEQ", "another")
	b.Command("DELEX", held, "IFEQ", t)
	b.Command("SET", held, t, "NX", "PX", "1000")
	b.Command("DELIFEQ", held, "another")
	b.Command("DELIFEQ", held, t)
	b.Command("SET", held, t, "NX", "PX", "1000")
	b.Command("EVALSHA", scripts.Batch.SHA1, "1", held, "-", "?", "1")
	b.Command("MSETNX", held, "another") // refused: the key is there
	b.Command("DEL", held)
	return b
}

// ReadNativeTrial returns the server's dialect. An error says that it lacks the command, or that its
// ACL denies it; neither keeps the master from being admitted.
func ReadNativeTrial(replies []resp.Reply, t string) (d Dialect) {
	number := func(i int, n int64) bool { return replies[i].Kind == resp.Number && replies[i].Number == n }
	if left := replies[4]; number(0, 1) && number(1, 0) && replies[2].Text == t && replies[3].Kind == resp.Null &&
		left.Kind == resp.Number && left.Number > 0 && left.Number <= 1000 {
		d |= Msetex
	}
	switch {
	case number(7, 0) && number(8, 1):
		d |= Delex
	case number(10, 0) && number(11, 1):
		d |= Delifeq
	}
	if _, fault, _ := BatchVotes(replies[13], 1); IsForbidden(fault) {
		d |= NoMget
	}
	if IsForbidden(replies[14].Err()) {
		d |= NoMsetnx
	}
	return d
}
