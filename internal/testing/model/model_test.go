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
var sound = []struct {
	Model
	states int
}{
	{Model{Name: "no clock, locks end at any time", Attempts: 2, Registers: upToTwo}, 3186140},
	{Model{Name: "hints of any size", Attempts: 2, Registers: apart, Hints: []uint8{1, 9}}, 1196528},
	{Model{Name: "two names share a register", Attempts: 2, Names: 2, Registers: apart}, 2123016},
	{Model{Name: "an extend or raise is executed twice", Attempts: 2, Registers: upToOne, Duplicate: extends}, 1600698},
	{Model{Name: "leases", Attempts: 2, Registers: upToOne, TTL: 2, Horizon: 4}, 1571200},
	{Model{Name: "leases are handed over", Attempts: 2, Registers: upToOne, TTL: 1, Horizon: 2, HandOvers: 2}, 530070},
	{Model{Name: "leases are extended", Attempts: 2, Registers: apart, TTL: 2, Horizon: 4, Extensions: 1}, 2115734},
	{Model{Name: "an acquire is executed twice", Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1, Duplicate: acquires}, 569890},
	{Model{Name: "a master's clock jumps: tokens only", Attempts: 2, Registers: apart, TTL: 2, Horizon: 2, Jumps: 1, Only: tokenOrder}, 2410350},
	{Model{Name: "a master restarts empty", Attempts: 2, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 3, Crashes: 1}, 2429488},
	{Model{Name: "masters restart empty twice", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 3, Crashes: 2}, 1747217},
	{Model{Name: "one restarts empty, leases are extended", Attempts: 2, Registers: fresh, Clients: 1, TTL: 2, Wait: 2, Horizon: 3, Crashes: 1, Extensions: 1}, 2030459},
	{Model{Name: "a master restarts with old data", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Rollbacks: 1}, 2719634},
	{Model{Name: "a flush between two admitters", Attempts: 2, Registers: fresh, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1, Lost: 1, ReadAtOnce: true}, 1064734},
	{Model{Name: "a master is flushed", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Flushes: 1}, 248979},
	{Model{Name: "a member is replaced", Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Extensions: 1, Replace: true, Operations: []operation{replaces}}, 732654},
	{Model{Name: "a replacement is cut, durable masters restart", Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1, Durable: true, Replace: true, Operations: []operation{replaces}, ReadAtOnce: true}, 772757},
	{Model{Name: "a member is replaced, a lock is adopted", Attempts: 2, Registers: four, Clients: 2, TTL: 2, Wait: 2, Horizon: 2, Extensions: 1, Replace: true, Adopts: true, Operations: []operation{replaces}}, 1772335},
	{Model{Name: "a member is replaced by a master that waited before", Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Returns: true, Operations: []operation{replaces}}, 184358},
	{Model{Name: "a master is a copy of another", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Copies: 1}, 2417210},
	{Model{Name: "durable masters restart", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Crashes: 2, Durable: true, ReadAtOnce: true}, 265580},
	{Model{Name: "a durable master is a copy of another, and restarts", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1, Crashes: 1, Durable: true, ReadAtOnce: true}, 2685535},
	{Model{Name: "registers are deleted", Attempts: 2, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Deletions: 2}, 1710060},
	{Model{Name: "databases are swapped, and back", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Swaps: 2, ReadAtOnce: true}, 1558560},
	{Model{Name: "what is set up is set up again", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Operations: []operation{setsUp}, ReadAtOnce: true}, 367769},
	{Model{Name: "set-up is cut and repeated, old data", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Rollbacks: 1, Blank: true, Operations: []operation{setsUp}, Begins: 2, ReadAtOnce: true}, 6781196},
	{Model{Name: "set-up is cut and repeated, a restart empties", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1, Blank: true, Operations: []operation{setsUp}, ReadAtOnce: true}, 342332},
	{Model{Name: "two set masters up", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 0, Horizon: 1, Blank: true, Operations: []operation{setsUp, setsUp}, Begins: 2, ReadAtOnce: true}, 5449027},
	{Model{Name: "a majority is recovered", Attempts: 1, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Lost: 2, Counted: 1, Operations: []operation{recovers}, Begins: 2, ReadAtOnce: true}, 3675722},
}

func TestRulesHoldInEveryState(t *testing.T) {
	t.Parallel()
	for _, m := range sound {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			requireSound(t, m.Search, m.states, 2)
		})
	}
}

// controls are models without one rule each. NC names a control of the design's fault catalogue.
var controls = []struct {
	Model
	broken property
}{
	{Model{Name: "NC1 no raise", Fault: NoRaise, Attempts: 2, Registers: apart}, tokenOrder},
	{Model{Name: "NC2 raise of another's lock", Fault: UnconditionalRaise, Attempts: 2, Registers: upToOne}, tokenOrder},
	{Model{Name: "NC3 late grant counts", Fault: LateGrantCounts, Attempts: 2, Registers: apart}, tokenOrder},
	{Model{Name: "raise counts also among late grants", Fault: AmongIgnored, Attempts: 2, Registers: upToTwo}, tokenOrder},
	{Model{Name: "NC4 value is used for two attempts", Fault: ValueReuse, Attempts: 3, Registers: fresh, TTL: 1, Horizon: 1}, twoHolders},
	{Model{Name: "an acquire is executed twice, no clock", Attempts: 2, Registers: apart, Duplicate: acquires}, tokenOrder},
	{Model{Name: "NC5 no wait", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 0, Horizon: 1, Crashes: 1}, twoHolders},
	{Model{Name: "NC5 no wait after a flush", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 0, Horizon: 1, Flushes: 1}, twoHolders},
	{Model{Name: "NC6 registers are not restored", Fault: NoPeers, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, tokenOrder},
	{Model{Name: "NC7 wait is a tick too short", Attempts: 2, Registers: fresh, Clients: 1, TTL: 2, Wait: 1, Horizon: 2, Crashes: 1}, twoHolders},
	{Model{Name: "NC8 registers are read before the wait", Fault: ReadBeforeWait, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, tokenOrder},
	{Model{Name: "NC9 one peer too few", Fault: OnePeerTooFew, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Crashes: 1}, tokenOrder},
	{Model{Name: "NC10 a master's clock jumps", Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1, Jumps: 1}, twoHolders},
	{Model{Name: "NC11 a register is evicted", Fault: RegisterDecreases, Attempts: 2, Registers: fresh}, tokenOrder},
	{Model{Name: "NC12 release of another's lock", Fault: ReleaseAnothers, Attempts: 3, Registers: fresh, TTL: 1, Horizon: 1}, twoHolders},
	{Model{Name: "NC14 half is a quorum", Fault: SmallQuorum, Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1}, fenceNotLarger},
	{Model{Name: "NC15 validity counts from the last reply", Fault: ValidFromLastReply, Attempts: 2, Registers: fresh, TTL: 2, Horizon: 2}, twoHolders},
	{Model{Name: "NC17 acquire asks for no mark", Fault: AcquireIgnoresAll, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1}, twoHolders},
	{Model{Name: "NC18 mark is not compared with the run_id", Fault: OldSnapshotCounts, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1}, twoHolders},
	{Model{Name: "NC20 two sets overlap", Fault: AcquireIgnoresSet, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{Model{Name: "NC26 no ticket", Fault: NoTicket, Attempts: 2, Registers: fresh, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Flushes: 1, Lost: 1, ReadAtOnce: true}, twoHolders},
	{Model{Name: "NC27 wait counts from the first sight", Fault: WaitFromFirstSight, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Flushes: 1, Lost: 1, ReadAtOnce: true}, twoHolders},
	{Model{Name: "holders of a lease have the fences of the next", Fault: FenceWithoutRoom, Attempts: 2, Registers: fresh, TTL: 1, Horizon: 1, HandOvers: 1}, fenceNotLarger},
	{Model{Name: "extend does not compare the set", Fault: ExtendIgnoresSet, Attempts: 2, Registers: four, Clients: 2, TTL: 2, Wait: 2, Horizon: 2, Extensions: 1, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{Model{Name: "an adopted lock is extended without fencing", Fault: PlainExtend, Attempts: 2, Registers: four, Clients: 2, TTL: 2, Wait: 2, Horizon: 2, Extensions: 1, Replace: true, Adopts: true, Operations: []operation{replaces}}, twoHolders},
	{Model{Name: "a set is adopted from one member", Fault: AdoptWithoutQuorum, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{Model{Name: "a new member does not wait", Fault: JoinsWithoutWait, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 1, Replace: true, Operations: []operation{replaces}}, twoHolders},
	{Model{Name: "a wait for another set counts", Fault: AgeOfAnySet, Attempts: 2, Registers: four, Clients: 2, TTL: 1, Wait: 1, Horizon: 2, Replace: true, Returns: true, Operations: []operation{replaces}}, twoHolders},
	{Model{Name: "a mark counts whatever its nonce", Fault: AnyAdmission, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1}, twoHolders},
	{Model{Name: "a mark counts whatever its member", Fault: AnyMember, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1}, twoHolders},
	{Model{Name: "a mark that went away counts again", Fault: GoneMarkCounts, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Swaps: 2, ReadAtOnce: true}, twoHolders},
	{Model{Name: "a restarted master keeps a copied mark", Fault: KeepsAnyMark, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Copies: 1, Crashes: 1, Durable: true}, twoHolders},
	{Model{Name: "masters that are not durable are taken for it", Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Durable: true}, twoHolders},
	{Model{Name: "a register that is missing begins again", Fault: MissingIsZero, Attempts: 2, Registers: apart, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Deletions: 2}, tokenOrder},
	{Model{Name: "a ticket counts for the next process", Fault: TicketNamesNobody, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Lost: 1, Rollbacks: 1, ReadAtOnce: true}, twoHolders},
	{Model{Name: "a recovery begins at zero", Fault: RecoverFromZero, Attempts: 1, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 2, Lost: 2, Counted: 1, Operations: []operation{recovers}, Begins: 1, ReadAtOnce: true}, tokenOrder},
	{Model{Name: "set-up marks what was restarted", Fault: SetUpMarksRestarted, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Rollbacks: 1, Operations: []operation{setsUp}, ReadAtOnce: true}, tokenOrder},
	{Model{Name: "set-up takes what lost its data for new", Fault: SetUpInOneStep, Attempts: 2, Registers: fresh, Clients: 1, TTL: 1, Wait: 1, Horizon: 1, Crashes: 1, Operations: []operation{setsUp}, ReadAtOnce: true}, tokenOrder},
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

// requireSound checks that no property is broken in a model of so many states, and that so many tokens count, or attempts hold,
// in some. It skips a model of more states than most.
func requireSound(t *testing.T, search func() Result, states, counted int) {
	t.Helper()
	if limit := most(t); limit > 0 && states > limit {
		t.Skip("large: make model")
	}
	r := search()
	t.Logf("%9d states, %d steps deep", r.States, r.Depth)
	require.Empty(t, r.Broken, strings.Join(r.Trace, "\n"))
	require.Equal(t, counted, r.Counted, "no state in which so many counted")
	require.Equal(t, states, r.States, "here and in the package comment")
}

// requireBroken checks that a search finds a broken property. It skips what is not found in most states.
func requireBroken(t *testing.T, search func() Result) {
	t.Helper()
	r := search()
	if limit := most(t); limit > 0 && r.States >= limit && r.Broken == "" {
		t.Skip("large: make model")
	}
	t.Logf("%d states: %s\n   %s", r.States, r.Broken, strings.Join(r.Trace, "\n   "))
	require.NotEmpty(t, r.Broken)
}

func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, m := range controls {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Only, m.Most = m.broken, most(t)
			requireBroken(t, m.Search)
		})
	}
}
