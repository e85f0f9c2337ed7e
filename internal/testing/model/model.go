package model

import (
	"time"

	"muxlock/internal/fencing"
)

const (
	maxMasters  = 4
	maxAttempts = 3
	maxClients  = 2
	maxNames    = 2

	maxOperators = 2
)

// A Model is a configuration of the protocol, small enough to be searched wholly.
type Model struct {
	Name              string
	Masters, Attempts int
	Names             int       // 0: one
	Clients           int       // engines with an admission of their own; 0: every master votes
	Registers         [][]uint8 // at the begin, one search from each
	Hints             []uint8   // that an acquire may carry; nil: 0

	TTL, Horizon uint8   // in ticks; Horizon 0: no clock, and a lock may vanish at any time
	Wait         uint8   // of a master before it is admitted
	HandOvers    uint8   // of a lease
	Extensions   uint8   // of a lease
	Duplicate    message // one of these is delivered twice

	Crashes    uint8       // a master restarts empty
	Flushes    uint8       // a master loses its data, and its connections stay
	Rollbacks  uint8       // a master restarts with what it had when it was saved, locks and mark too
	Durable    bool        // a crash forgets nothing, and clients know that
	Copies     uint8       // a master gets the data of another, and its connections stay
	Swaps      uint8       // a master's databases are swapped, or back
	Deletions  uint8       // the registers of a master are deleted
	Jumps      uint8       // a master's clock jumps ahead: its locks expire
	Lost       int         // masters that are flushed at the begin
	Counted    uint8       // the largest token that counted before
	Operations []operation // of operators, who are cut at any step, and begin again
	Begins     uint8       // how often operators begin; 0: as often as they like
	Blank      bool        // nothing is set up at the begin
	ReadAtOnce bool        // the registers of the others are
	Replace    bool        // the last master takes the place of the one before
	Adopts     bool        // the second client adopts locks of the first

	Only  property // that is looked at; 0: all are
	Fault Fault
	Most  int // states after which a search ends early; 0: it does not
}

// A message may be delivered once more, at any time.
type message uint8

const (
	_ message = iota
	acquires
	extends
)

// A Fault is a rule that is left out.
type Fault uint8

const (
	None Fault = iota
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
	AcquireIgnoresAll // the set, that there is no mark, and whose it is
	ExtendIgnoresSet
	OldSnapshotCounts
	FenceWithoutRoom
	AdoptWithoutQuorum
	JoinsWithoutWait
	AnyAdmission      // a mark counts whatever its nonce
	AnyMember         // and whatever member it names
	GoneMarkCounts    // also one that went away and came back
	KeepsAnyMark      // a restarted master forgets nothing, whatever its mark
	MissingIsZero     // a register that is missing begins again
	PlainExtend       // an extend compares neither set nor mark
	TicketNamesNobody // a ticket counts whichever process and member it was for
	SetUpMarksRestarted
	SetUpInOneStep
	RecoverFromZero // its registers begin again
)

// A property is what has to hold, one bit each.
type property uint8

const (
	twoHolders property = 1 << iota
	tokenTooSmall
	tokenTwice
	fenceNotLarger
)

const tokenOrder = tokenTooSmall | tokenTwice

func (p property) String() string {
	return map[property]string{0: "", twoHolders: "two hold at once", tokenTwice: "token counted twice", tokenTooSmall: "token is not larger than one that counted before the attempt began",
		fenceNotLarger: "fence is not larger than the last holder's"}[p]
}

func (m *Model) looksAt(p property) bool { return m.Only == 0 || m.Only&p != 0 }

// quorum is also that of the set with a member replaced.
func (m *Model) quorum() int {
	n := m.size()
	if m.Fault == SmallQuorum {
		return n / 2
	}
	return n/2 + 1
}

// size is how many masters the set has.
func (m *Model) size() int {
	if m.Replace {
		return m.Masters - 1
	}
	return m.Masters
}

// member reports whether a client is configured with a master.
func (m *Model) member(client int, c *column) bool {
	return !m.Replace || c.kind == stays || (c.kind == goes) == (client == 0)
}

func (m *Model) client(attempt int) int { return attempt % max(m.Clients, 1) }
func (m *Model) name(attempt int) int   { return attempt % max(m.Names, 1) }
func (m *Model) timed() bool            { return m.Horizon > 0 }

// owner is the value that the locks of an attempt have.
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

// mayAdopt reports whether a set is one that a client is configured for, and in which engines take
// part.
func (m *Model) mayAdopt(client int, set uint8) bool {
	configured := members
	if m.Replace && client == 1 {
		configured = membersAfter
	}
	return sets[set].Generation >= fencing.Serving && sets[set].Matches(time.Second, configured) == nil
}

func (m *Model) fence(token, handed uint8) uint64 {
	if m.Fault == FenceWithoutRoom {
		return uint64(token + handed)
	}
	return fencing.Fence(uint64(token), int(handed))
}
