package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Registers of three masters at the begin; their order does not matter.
var (
	upToTwo = [][]uint8{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {2, 0, 0}, {2, 1, 0}, {2, 1, 1}, {2, 2, 0}, {2, 2, 1}, {2, 2, 2}}
	upToOne = [][]uint8{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}}
	apart   = [][]uint8{{1, 0, 0}}
	fresh   = [][]uint8{{0, 0, 0}}
	four    = [][]uint8{{0, 0, 0, 0}}
)

// large is too many states for every run of all tests. make model searches them too: see Drawn.
const large = 20_000

// sound are models with all rules, and the number of their states.
var sound = []soundModel{
	{"no clock, locks end at any time", &Model{Attempts: 2, Registers: upToTwo}, 3186140, 2},
	{"hints of any size", &Model{Attempts: 2, Registers: apart, Hints: []uint8{1, 9}}, 1196528, 2},
	{"two names share a register", &Model{Attempts: 2, Names: 2, Registers: apart}, 2123016, 2},
	{"an extend or raise is executed twice", &Model{Attempts: 2, Registers: upToOne, Duplicate: extends}, 1600698, 2},
	{"leases", &Model{Attempts: 2, Registers: upToOne, TTL: 2, Horizon: 4}, 1571200, 2},
	{"leases are handed over", &Model{Attempts: 2, Registers: upToOne, TTL: 1, Horizon: 2, HandOvers: 2}, 530070, 2},
	{"leases are extended", &Model{Attempts: 2, Registers: apart, TTL: 2, Horizon: 4, Extensions: 1}, 2115734, 2},
	{"an acquire is executed twice", &Model{Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1, Duplicate: acquires}, 569890, 2},
	{"a master's clock jumps: tokens only", &Model{Attempts: 2, Registers: apart, TTL: 2, Horizon: 2, Jumps: 1, Only: tokenOrder}, 2410350, 2},
	{"a master restarts empty", &Model{Attempts: 2, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 3, Crashes: 1}, 2429488, 2},
	{"masters restart empty twice", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 3, Crashes: 2}, 1747217, 2},
	{"one restarts empty, leases are extended", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 2, Wait: 2, Horizon: 3, Crashes: 1, Extensions: 1}, 2030459, 2},
	{"a master restarts with old data", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Rollbacks: 1}, 2719634, 2},
	{"a flush between two admitters", &Model{Attempts: 2, Registers: fresh, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1, Lost: 1, ReadAtOnce: true}, 1064734, 2},
	{"a master is flushed", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Flushes: 1}, 248979, 2},
	{"a member is replaced", &Model{Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Extensions: 1, Replace: true, Operations: []operation{replaces}}, 732654, 2},
	{"a replacement is cut, durable masters restart", &Model{Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1, Durable: true, Replace: true, Operations: []operation{replaces}, ReadAtOnce: true}, 772757, 2},
	{"a member is replaced, a lock is adopted", &Model{Attempts: 2, Registers: four, Clients: 2, TTL: 2, Wait: 2, Horizon: 2, Extensions: 1, Replace: true, Adopts: true, Operations: []operation{replaces}}, 1772335, 2},
	{"a member is replaced by a master that waited before", &Model{Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Returns: true, Operations: []operation{replaces}}, 184358, 2},
	{"a master is a copy of another", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Copies: 1}, 2417210, 2},
	{"durable masters restart", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Crashes: 2, Durable: true, ReadAtOnce: true}, 265580, 2},
	{"a durable master is a copy of another, and restarts", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1, Crashes: 1, Durable: true, ReadAtOnce: true}, 2685535, 2},
	{"registers are deleted", &Model{Attempts: 2, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Deletions: 2}, 1710060, 2},
	{"databases are swapped, and back", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Swaps: 2, ReadAtOnce: true}, 1558560, 2},
	{"what is set up is set up again", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Operations: []operation{setsUp}, ReadAtOnce: true}, 367769, 2},
	{"set-up is cut and repeated, old data", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Rollbacks: 1, Blank: true, Operations: []operation{setsUp}, Begins: 2, ReadAtOnce: true}, 6781196, 2},
	{"set-up is cut and repeated, a restart empties", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1, Blank: true, Operations: []operation{setsUp}, ReadAtOnce: true}, 342332, 2},
	{"two set masters up", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 0, Horizon: 1, Blank: true, Operations: []operation{setsUp, setsUp}, Begins: 2, ReadAtOnce: true}, 5449027, 2},
	{"a majority is recovered", &Model{Attempts: 1, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Lost: 2, Counted: 1, Operations: []operation{recovers}, Begins: 2, ReadAtOnce: true}, 3675722, 2},
}

func TestRulesHoldInEveryState(t *testing.T) { requireSound(t, sound) }

// controls are models without one rule each. NC names a control of the design's fault catalogue.
var controls = []brokenModel{
	{"NC1 no raise", &Model{Fault: NoRaise, Attempts: 2, Registers: apart}, tokenOrder},
	{"NC2 raise of another's lock", &Model{Fault: UnconditionalRaise, Attempts: 2, Registers: upToOne}, tokenOrder},
	{"NC3 late grant counts", &Model{Fault: LateGrantCounts, Attempts: 2, Registers: apart}, tokenOrder},
	{"raise counts also among late grants", &Model{Fault: AmongIgnored, Attempts: 2, Registers: upToTwo}, tokenOrder},
	{"NC4 value is used for two attempts", &Model{Fault: ValueReuse, Attempts: 3, Registers: fresh, TTL: 1, Horizon: 1}, twoHolders},
	{"an acquire is executed twice, no clock", &Model{Attempts: 2, Registers: apart, Duplicate: acquires}, tokenOrder},
	{"NC5 no wait", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 0, Horizon: 1, Crashes: 1}, twoHolders},
	{"NC5 no wait after a flush", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 0, Horizon: 1, Flushes: 1}, twoHolders},
	{"NC6 registers are not restored", &Model{Fault: NoPeers, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, tokenOrder},
	{"NC7 wait is a tick too short", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 2, Wait: 1, Horizon: 2, Crashes: 1}, twoHolders},
	{"NC8 registers are read before the wait", &Model{Fault: ReadBeforeWait, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, tokenOrder},
	{"NC9 one peer too few", &Model{Fault: OnePeerTooFew, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, tokenOrder},
	{"NC10 a master's clock jumps", &Model{Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1, Jumps: 1}, twoHolders},
	{"NC11 a register is evicted", &Model{Fault: RegisterDecreases, Attempts: 2, Registers: fresh}, tokenOrder},
	{"NC12 release of another's lock", &Model{Fault: ReleaseAnothers, Attempts: 3, Registers: fresh, TTL: 1, Horizon: 1}, twoHolders},
	{"NC14 half is a quorum", &Model{Fault: SmallQuorum, Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1}, fenceNotLarger},
	{"NC15 validity counts from the last reply", &Model{Fault: ValidFromLastReply, Attempts: 2, Registers: fresh, TTL: 2, Horizon: 2}, twoHolders},
	{"NC17 acquire asks for no mark", &Model{Fault: AcquireIgnoresAll, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1}, twoHolders},
	{"NC18 mark is not compared with the run_id", &Model{Fault: OldSnapshotCounts, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1}, twoHolders},
	{"NC20 two sets overlap", &Model{Fault: AcquireIgnoresSet, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{"NC26 no ticket", &Model{Fault: NoTicket, Attempts: 2, Registers: fresh, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1, Lost: 1, ReadAtOnce: true}, twoHolders},
	{"NC27 wait counts from the first sight", &Model{Fault: WaitFromFirstSight, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Flushes: 1, Lost: 1, ReadAtOnce: true}, twoHolders},
	{"holders of a lease have the fences of the next", &Model{Fault: FenceWithoutRoom, Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1, HandOvers: 1}, fenceNotLarger},
	{"extend does not compare the set", &Model{Fault: ExtendIgnoresSet, Attempts: 2, Registers: four, Clients: 2, TTL: 2, Wait: 2, Horizon: 2, Extensions: 1, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{"an adopted lock is extended without fencing", &Model{Fault: PlainExtend, Attempts: 2, Registers: four, Clients: 2, TTL: 2, Wait: 2, Horizon: 2, Extensions: 1, Replace: true, Adopts: true, Operations: []operation{replaces}}, twoHolders},
	{"a set is adopted from one member", &Model{Fault: AdoptWithoutQuorum, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{"a new member does not wait", &Model{Fault: JoinsWithoutWait, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{"a wait for another set counts", &Model{Fault: AgeOfAnySet, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Returns: true, Operations: []operation{replaces}}, twoHolders},
	{"a mark counts whatever its nonce", &Model{Fault: AnyAdmission, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1}, twoHolders},
	{"a mark counts whatever its member", &Model{Fault: AnyMember, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1}, twoHolders},
	{"a mark that went away counts again", &Model{Fault: GoneMarkCounts, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Swaps: 2, ReadAtOnce: true}, twoHolders},
	{"a restarted master keeps a copied mark", &Model{Fault: KeepsAnyMark, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1, Crashes: 1, Durable: true}, twoHolders},
	{"masters that are not durable are taken for it", &Model{Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Durable: true}, twoHolders},
	{"a register that is missing begins again", &Model{Fault: MissingIsZero, Attempts: 2, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Deletions: 2}, tokenOrder},
	{"a ticket counts for the next process", &Model{Fault: TicketNamesNobody, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Lost: 1, Rollbacks: 1, ReadAtOnce: true}, twoHolders},
	{"a recovery begins at zero", &Model{Fault: RecoverFromZero, Attempts: 1, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Lost: 2, Counted: 1, Operations: []operation{recovers}, Begins: 1, ReadAtOnce: true}, tokenOrder},
	{"set-up marks what was restarted", &Model{Fault: SetUpMarksRestarted, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Operations: []operation{setsUp}, ReadAtOnce: true}, tokenOrder},
	{"set-up takes what lost its data for new", &Model{Fault: SetUpInOneStep, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1, Operations: []operation{setsUp}, ReadAtOnce: true}, tokenOrder},
}

// most is the number of states after which the search of a test ends early, 0: none. Under the race detector it is small.
func most(t *testing.T) int {
	switch {
	case Drawn(t.Name()):
		return 0
	case testing.Short():
		return large / 2
	}
	return large
}

// A searched is a model of any kind.
type searched interface {
	Search() Result
	control(only property, most int)
}

func (m *Model) control(only property, most int)        { m.Only, m.Most = only, most }
func (m *lineModel) control(only property, most int)    { m.Only, m.Most = only, most }
func (m *severalModel) control(only property, most int) { m.Only, m.Most = only, most }
func (*roomModel) control(property, int)                {}
func (m *readersModel) control(only property, most int) { m.Only, m.Most = only, most }

// A soundModel is one with all rules. counted is how many tokens count, or attempts hold, in some of its states.
type soundModel struct {
	name string
	searched
	states, counted int
}

// A brokenModel is one without a rule, and the property that breaks.
type brokenModel struct {
	name string
	searched
	broken property
}

// requireSound checks that no property is broken in models. It skips a model of more states than most.
func requireSound(t *testing.T, all []soundModel) {
	t.Parallel()
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if limit := most(t); limit > 0 && m.states > limit {
				t.Skip("large: make model")
			}
			r := m.Search()
			t.Logf("%9d states, %d steps deep", r.States, r.Depth)
			require.Empty(t, r.Broken, strings.Join(r.Trace, "\n"))
			require.Equal(t, m.counted, r.Counted, "no state in which so many counted")
			require.Equal(t, m.states, r.States)
		})
	}
}

// requireBroken checks that searches find broken properties. It skips what is not found in most states.
func requireBroken(t *testing.T, all []brokenModel) {
	t.Parallel()
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.control(m.broken, most(t))
			r := m.Search()
			if limit := most(t); limit > 0 && r.States >= limit && r.Broken == "" {
				t.Skip("large: make model")
			}
			t.Logf("%d states: %s\n   %s", r.States, r.Broken, strings.Join(r.Trace, "\n   "))
			require.NotEmpty(t, r.Broken)
		})
	}
}

func TestEachRuleIsNeeded(t *testing.T) { requireBroken(t, controls) }
