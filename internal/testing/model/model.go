package model

import (
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
)

const (
	maxMasters  = masters + 1
	maxAttempts = 3
	maxClients  = 2
	maxNames    = 2

	maxOperators = 2
)

// A Model is a configuration of the protocol, small enough to be searched completely.
type Model struct {
	Attempts  int
	Names     int       // 0: one
	Clients   int       // engines, each with its own admissions; 0: every master votes
	Registers [][]uint8 // at the start; one search begins from each
	Hints     []uint8   // what an acquire may carry; nil: 0

	TTL, Horizon uint8   // in ticks; Horizon 0: no clock, and a lock may vanish at any time
	Wait         uint8   // of a master before it is admitted
	HandOvers    uint8   // of a lease
	Extensions   uint8   // of a lease
	Heals        bool    // holders heal
	Duplicate    message // one message of this kind is delivered twice

	// How often each fault may occur:
	Crashes   uint8 // a master restarts empty
	Flushes   uint8 // a master loses its data and keeps its connections
	Rollbacks uint8 // a master restarts with an old snapshot, including locks and mark
	Copies    uint8 // a master gets the data of another and keeps its connections
	Swaps     uint8 // a master's two databases are swapped
	Deletions uint8 // the registers of a master are deleted
	Jumps     uint8 // a master's clock jumps ahead, and its locks expire

	Durable    bool        // a crash loses no data, and clients know it
	Lost       int         // masters flushed at the start
	Counted    uint8       // the largest token that had counted before the start
	Operations []operation // one per operator, who may be cut at any step and begin again
	Begins     uint8       // how often operators may begin; 0: without limit
	Blank      bool        // nothing is set up at the start
	ReadAtOnce bool        // a client reads the registers of all other masters in one step
	Replace    bool        // the last master takes the place of the one before it
	Adopts     bool        // the second client adopts locks of the first
	Returns    bool        // the new master has waited for an earlier replacement

	Only  property // to check; 0: all
	Fault Fault
	Most  int // number of states after which a search ends early; 0: no limit
}

// A message is a kind of message. One of the kind Duplicate may be delivered once more, at any time.
type message uint8

const (
	_ message = iota
	acquires
	extends
)

// A Fault leaves out one rule.
type Fault uint8

const (
	_ Fault = iota
	NoRaise
	UnconditionalRaise
	LateGrantCounts
	ValueReuse
	AmongIgnored
	ReadBeforeWait
	OnePeerTooFew
	NoPeers
	NoTicket
	WaitFromFirstSight
	RegisterDecreases
	ReleaseAnothers
	SmallQuorum
	ValidFromLastReply
	AcquireIgnoresSet
	AcquireIgnoresAll // the set, a missing mark, and whose mark it is
	ExtendIgnoresSet
	OldSnapshotCounts
	FenceWithoutRoom
	AdoptWithoutQuorum
	JoinsWithoutWait
	AnyAdmission      // a mark counts with any nonce
	AnyMember         // a mark counts with any member
	GoneMarkCounts    // a mark counts again after it was away
	KeepsAnyMark      // a restarted master keeps its vote with any mark
	MissingIsZero     // a missing register starts again from 0
	PlainExtend       // an extend compares neither set nor mark
	TicketNamesNobody // a ticket counts for any process and member
	AgeOfAnySet       // a master that has waited for one set need not wait for another
	SetUpMarksRestarted
	SetUpInOneStep
	RecoverFromZero // the registers of a recovered set start again from 0

	// Of heals:
	HealWithoutMark // heals and extends need no mark
	HealBeforeCount // a lease heals while its token is raised
	HealIsGrant     // as HealBeforeCount, and the heal's grant is among those that the raise is for
)

// A property must hold in every state. Each has one bit.
type property uint16

const (
	twoHolders property = 1 << iota
	tokenTooSmall
	tokenTwice
	fenceNotLarger
	half
	leaked
	tooMany
	wonTwice
	heldAgain
)

const tokenOrder = tokenTooSmall | tokenTwice

func (p property) String() string {
	return map[property]string{0: "", twoHolders: "two hold at once", tokenTwice: "token counted twice", tokenTooSmall: "token is not larger than one that counted before the attempt began",
		fenceNotLarger: "fence is not larger than the last holder's", half: "a set or a slot is held, and no quorum has it", leaked: "a key stays that nobody will release",
		tooMany: "more hold than there are permits", wonTwice: "an attempt wins two permits",
		heldAgain: "what is over is held again"}[p]
}

// has reports whether q is among the properties p to check (0: all).
func (p property) has(q property) bool { return p == 0 || p&q != 0 }

// notes notes the first broken property. It ignores properties that are not among only.
func (p *property) notes(only, broken property, isBroken bool) {
	if isBroken && *p == 0 && only.has(broken) {
		*p = broken
	}
}

// masters is the number of masters. Before and after a replacement, one of them is not in the set.
func (m *Model) masters() int {
	if m.Replace {
		return masters + 1
	}
	return masters
}

func (m *Model) quorum() int {
	if m.Fault == SmallQuorum {
		return masters / 2
	}
	return quorum.Size(masters)
}

// member reports whether a client's configuration names a master.
func (m *Model) member(client int, c *column) bool {
	return !m.Replace || c.kind == stays || (c.kind == goes) == (client == 0)
}

func (m *Model) client(attempt int) int { return attempt % max(m.Clients, 1) }
func (m *Model) name(attempt int) int   { return attempt % max(m.Names, 1) }
func (m *Model) timed() bool            { return m.Horizon > 0 }

// owner is the value of an attempt's locks.
func (m *Model) owner(attempt int) uint8 {
	if m.Fault == ValueReuse && attempt == 1 {
		attempt = 0
	}
	return uint8(attempt + 1)
}

// set is the set that an attempt expects.
func (m *Model) set(s *state, attempt int) uint8 {
	return s.clients[s.attempts[attempt].client(m, attempt)]
}

// mayAdopt reports whether a client may use a set: its configuration matches, and the set is serving.
func (m *Model) mayAdopt(client int, set uint8) bool {
	configured := members
	if m.Replace && client == 1 {
		configured = membersAfter
	}
	return sets[set].Generation >= fencing.Serving && sets[set].Matches(time.Second, configured) == nil
}

func (m *Model) fence(token, handOvers uint8) uint64 {
	if m.Fault == FenceWithoutRoom {
		return uint64(token + handOvers)
	}
	return fencing.Fence(uint64(token), int(handOvers))
}
