package conn

import "time"

// Op is what a Request asks of every master.
type Op uint8

const (
	Acquire Op = iota // SET name token NX PX ttl
	Extend            // PEXPIRE if the value is token and ttl is longer than what remains
	Release           // DEL if the value is token
	Wait              // stand in line for the lock, or stay there (scripts/wait.lua)
	Pass              // Release to the next in line, and leave the line (scripts/pass.lua)
	Intend            // keep new readers out for TTL, if readers hold the name, or refuse; TTL 0 lets them in again, unless another Token did first (scripts/shared.lua)
)

// Takes reports whether the operation may give its token the lock. Masters that do not vote are not asked for it.
func (o Op) Takes() bool { return o == Acquire || o == Wait }

// Ends reports whether the operation takes the lock from its token.
func (o Op) Ends() bool { return o == Release || o == Pass }

// Request is one operation for all masters. The pipeline checks nothing in it.
type Request struct {
	Op    Op
	Name  string
	Token string
	// TTL is in whole milliseconds. For a Release or Pass, it is how long the key may still live: the
	// release is not sent later.
	TTL time.Duration
	// Origin is for a Release: the Origin in the Outcome of the acquire that it undoes, or
	// OriginForeign. A master that was not asked in that round need not be asked to release.
	Origin Origin
	// Alone keeps other requests out of this one's command, since an ACL may deny its name.
	Alone bool
	// Contended keeps an Acquire out of an MSETEX: one held name makes the server refuse all of it.
	Contended bool
	// Joint is the number of the joint request that an Acquire belongs to, with its neighbours of the same number: each
	// master grants all of them or none. They differ in name and token alone. 0: it stands alone.
	Joint uint64
	// OneOf makes it a choice: each master grants its first free name, and no other. So at most one name wins. The
	// pipeline releases the other names that a master granted or may have granted.
	OneOf bool
	// Shared is for readers: an Acquire that any number of them are granted together, its Extend and its Release.
	Shared bool
	// Fence is for an Extend: the lock's fencing token, to which its register is raised; 0: not
	// known. For an Acquire the pipeline sets the token to propose, when it forms the round.
	Fence uint64
	// Among is for an Extend: the masters whose votes count, one bit each; 0: all. It is for a heal, too: the masters that get it.
	Among uint64
	// Heal is for an Acquire by a token that holds the lock: masters that lost the key get it again. It waits among the
	// extends. Readers are let in whatever intents there are, and no end moves in. It is dropped once its Receiver is over.
	Heal bool
	// Healed is for a Release or Pass: heals of the lock were sent after the round of Origin.
	Healed bool
	// Line is for a Wait, and for a Pass, where it may be nil.
	Line *Line
	// Patient lets an Acquire wait in the queue even if the queue is full.
	Patient bool
}

// IsNew reports whether the request may give its token a lock that it does not have.
func (q *Request) IsNew() bool { return q.Op.Takes() && !q.Heal }

// UnitEnd returns the end of the unit that begins at i and stays together: one request, or a joint one.
func UnitEnd(entries []Request, i int) int {
	first, end := &entries[i], i+1
	for first.Joint != 0 && end < len(entries) && entries[end].Joint == first.Joint {
		end++
	}
	return end
}

// An Origin says who acquired a lock. Package pending derives which masters may have the lock.
type Origin uint64

const (
	// OriginUnknown says that nobody knows: the lock may come to any master, at any time.
	OriginUnknown Origin = iota
	// OriginForeign says that another process acquired it: any master may have the lock.
	OriginForeign
)

// InRound says that this pipeline acquired the lock, in its round n. Rounds count from 1.
func InRound(n uint64) Origin { return OriginForeign + Origin(n) }

// Since reports whether this pipeline acquired the lock in round n or later.
func (o Origin) Since(n uint64) bool { return o >= InRound(n) }
