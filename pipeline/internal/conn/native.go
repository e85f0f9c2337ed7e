package conn

import "muxlock/internal/resp"

// Commands that newer servers have, and that cost them less: MSETEX NX takes many locks at
// once, DELEX or DELIFEQ release one without a script. Whether a server has them is not asked
// of its version (Valkey reports that of a Redis, and a proxy the one behind it) but tried with
// each new connection.

// A Dialect is which of these commands a master is sent, one bit each.
type Dialect uint8

const (
	Msetex  Dialect = 1 << iota // Redis from 8.4, Valkey from 9.1
	Delex                       // DELEX key IFEQ value: Redis from 8.4
	Delifeq                     // DELIFEQ key value: Valkey from 9.0
)

// NewNativeTrial tries what the commands do, on two keys of its own: whether MSETEX NX takes
// both or none, with the lease, and whether a key is deleted for its value only.
func NewNativeTrial(name, t string) (b Batch) {
	held, free := name, name+":2"
	for _, command := range [][]string{
		{"MSETEX", "1", held, t, "NX", "PX", "1000"},
		{"MSETEX", "2", free, t, held, "another", "NX", "PX", "1000"},
		{"GET", held},
		{"GET", free},
		{"PTTL", held},
		{"DEL", held, free},
		{"SET", held, t, "NX", "PX", "1000"},
		{"DELEX", held, "IFEQ", "another"},
		{"DELEX", held, "IFEQ", t},
		{"SET", held, t, "NX", "PX", "1000"},
		{"DELIFEQ", held, "another"},
		{"DELIFEQ", held, t},
		{"DEL", held},
	} {
		b.Begin(len(command))
		b.Add(command...)
	}
	return b
}

// ReadNativeTrial returns what a server has. An error of a command is no reason not to admit
// it: an unknown command, or one that its ACL denies.
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
	return d
}
