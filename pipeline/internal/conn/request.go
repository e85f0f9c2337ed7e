package conn

import "time"

// Op is what a Request asks of every master.
type Op uint8

const (
	Acquire Op = iota // SET name token NX PX ttl
	Extend            // PEXPIRE if the value is token and ttl is longer than what is left
	Release           // DEL if the value is token
)

// Request is one operation for all masters. The pipeline checks nothing in it.
type Request struct {
	Op    Op
	Name  string
	Token string
	// TTL in whole milliseconds. For a Release: how long the key may still live. After
	// that the release is not sent any more.
	TTL time.Duration
	// Origin is, for a Release, that of the acquire which it undoes: its Outcome's, or
	// OriginForeign. A master that was not asked in that round need not be asked to release.
	Origin Origin
	// Alone keeps other requests out of the command of this one, since an ACL may deny its name.
	Alone bool
	// Contended, of an Acquire, keeps it out of an MSETEX: one held name has all of it refused.
	Contended bool
	// Fence is, of an Extend, the fencing token of the lock, to which its registers are raised;
	// 0: it is not known. An acquire's is set when its round is formed: the token that it proposes.
	Fence uint64
	// Among, of an Extend, is the masters that count, one bit each; 0: all.
	Among uint64
	// Patient, of an Acquire, has it wait in the queue also where that is full.
	Patient bool
}

// An Origin says who acquired a lock. Which masters may have it follows (package pending).
type Origin uint64

const (
	// OriginUnknown is nobody knows whose: the lock may come to any master at any time yet.
	OriginUnknown Origin = iota
	// OriginForeign is another process: any master may have it.
	OriginForeign
)

// InRound is this pipeline, in its round n. Rounds count from 1.
func InRound(n uint64) Origin { return OriginForeign + Origin(n) }

// Since reports whether a lock was acquired in round n of this pipeline, or in a later one.
func (o Origin) Since(n uint64) bool { return o >= InRound(n) }
