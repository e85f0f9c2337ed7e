package pipeline

import "muxlock/internal/resp"

// Commands that newer servers have, and that cost them less: MSETEX NX takes many locks at
// once, DELEX or DELIFEQ release one without a script. Whether a server has them is not asked
// of its version (Valkey reports that of a Redis, and a proxy the one behind it) but tried with
// each new connection.

// A dialect is which of these commands a master is sent, one bit each.
type dialect uint8

const (
	msetex  dialect = 1 << iota // Redis from 8.4, Valkey from 9.1
	delex                       // DELEX key IFEQ value: Redis from 8.4
	delifeq                     // DELIFEQ key value: Valkey from 9.0
)

// newNativeTrial tries what the commands do, on two keys of its own: whether MSETEX NX takes
// both or none, with the lease, and whether a key is deleted for its value only.
func newNativeTrial(name, t string) (b batch) {
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
		b.begin(len(command))
		b.add(command...)
	}
	return b
}

// readNativeTrial returns what a server has. An error of a command is no reason not to admit
// it: an unknown command, or one that its ACL denies.
func readNativeTrial(replies []resp.Reply, t string) (d dialect) {
	number := func(i int, n int64) bool { return replies[i].Kind == resp.Number && replies[i].Number == n }
	if left := replies[4]; number(0, 1) && number(1, 0) && replies[2].Text == t && replies[3].Kind == resp.Null &&
		left.Kind == resp.Number && left.Number > 0 && left.Number <= 1000 {
		d |= msetex
	}
	switch {
	case number(7, 0) && number(8, 1):
		d |= delex
	case number(10, 0) && number(11, 1):
		d |= delifeq
	}
	return d
}

// tryNative finds out what the server has. A connection that breaks off meanwhile may be
// through a proxy that does not pass on what it does not know: it is not tried again before the
// server is another one.
func (m *master) tryNative(name, t string) error {
	var d dialect
	if !m.p.disableNative && !m.triedInVain {
		trial := newNativeTrial(name, t)
		m.triedInVain = true
		replies, err := m.ask(&trial)
		if err != nil {
			return err
		}
		m.triedInVain = false
		d = readNativeTrial(replies, t)
	}
	m.p.mu.Lock()
	m.dialect = d
	m.p.mu.Unlock()
	return nil
}

// An optimism decides whether many acquires are asked for at once. Where one of the names is
// held, none is taken, and each is asked for singly, a round trip later. After such a refusal
// rounds are asked singly for a while: leastPause of them, twice as many after each refusal
// that follows, up to mostPause, and half as many after each success. So where every batch
// would be refused, one of mostPause rounds is asked for twice.
type optimism struct {
	pause int // rounds of the next pause; below leastPause: that many
	left  int // of this pause
}

const (
	leastPause = 8
	mostPause  = 512
)

// takes reports whether the next round that has a batch of acquires is asked for at once.
func (o *optimism) takes() bool {
	if o.left == 0 {
		return true
	}
	o.left--
	return false
}

func (o *optimism) refused() {
	if o.left == 0 { // else it was on the wire when the pause began
		o.pause = min(max(2*o.pause, leastPause), mostPause)
		o.left = o.pause
	}
}

func (o *optimism) granted() {
	if o.left == 0 {
		o.pause /= 2
	}
}
