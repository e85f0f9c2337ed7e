package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/engine"
)

// Engines with a wrong configuration lead to two holders, and the audit sees them.
func TestWrongConfigurationsAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("one processor, and many schedules")
	}
	plain := func(s Schedule) bool { return !s.Shape.anyFenced() }
	for name, control := range map[string]struct {
		suits func(Schedule) bool
		wrong func(slot int, cfg *engine.Config)
	}{
		"no allowance for clocks": {
			func(s Schedule) bool { return s.Shape.Drift == 0.1 },
			func(_ int, cfg *engine.Config) { cfg.Drift = 1e-9 },
		},
		"masters that forget are said to be durable": {
			func(s Schedule) bool {
				return plain(s) && slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == "restart empty" && f.Master < 0 })
			},
			func(_ int, cfg *engine.Config) { cfg.MastersAreDurable = true },
		},
		"engines have different masters": {
			plain,
			func(slot int, cfg *engine.Config) {
				if n := len(cfg.Masters)/2 + 1; slot == 0 {
					cfg.Masters = cfg.Masters[:n]
				} else {
					cfg.Masters = cfg.Masters[len(cfg.Masters)-n:]
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed, runs := uint64(1), 0; runs < 200; seed++ {
				s := Draw(seed, 20)
				if !control.suits(s) {
					continue
				}
				runs++
				if r := Run(t, s, control.wrong); strings.Contains(strings.Join(r.Violations, "\n"), "two holders") {
					t.Logf("seen in schedule %d", runs)
					return
				}
			}
			t.Fatal("not seen in 200 schedules")
		})
	}
}

func (s Schedule) has(kind string) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == kind })
}

func TestTheAuditSeesTwoHoldersAndFencesThatDoNotGrow(t *testing.T) {
	a := newAudit()
	at := func(name, token string, from, to int, fence uint64) hold {
		return hold{name: name, token: token, from: a.began.Add(time.Duration(from)), to: a.began.Add(time.Duration(to)), fence: fence}
	}
	permit := func(slot, from, to int) hold {
		h := at("permits of n", "", from, to, 0)
		h.slot, h.limit = slot, 2
		return h
	}
	reads := func(h hold) hold { h.reads = true; return h }
	for _, c := range []struct {
		wrong int
		holds []hold
	}{
		{0, []hold{at("n", "", 5, 9, 2), at("m", "", 0, 9, 7), at("n", "", 0, 5, 1)}},
		{0, []hold{at("n", "", 0, 5, 2), at("n", "", 4, 4, 1)}}, // never valid
		{0, []hold{at("n", "t", 0, 5, 2), at("n", "t", 4, 9, 0)}},
		{0, []hold{at("n", "forced", 0, 9, 0), at("n", "", 3, 9, 0)}},
		{1, []hold{at("n", "forced", 0, 9, 0), at("n", "", 2, 9, 0)}},
		{1, []hold{at("n", "t", 0, 5, 0), at("n", "u", 4, 9, 0)}},
		{2, []hold{at("n", "", 0, 9, 0), at("n", "", 1, 2, 0), at("n", "", 3, 4, 0)}},
		{1, []hold{at("n", "", 0, 5, 2), at("n", "", 5, 9, 0), at("n", "", 9, 10, 2)}},
		{0, []hold{permit(0, 0, 9), permit(1, 0, 9), permit(0, 9, 10)}},
		{1, []hold{permit(0, 0, 9), permit(0, 5, 6)}}, // one slot
		{1, []hold{permit(0, 0, 9), permit(1, 0, 9), permit(2, 5, 6)}},
		{2, []hold{permit(0, 0, 9), permit(1, 0, 9), permit(1, 5, 6)}}, // both
		{0, []hold{reads(at("n", "", 0, 5, 0)), reads(at("n", "", 1, 9, 0)), at("n", "", 9, 10, 2)}},
		{2, []hold{reads(at("n", "", 0, 5, 0)), reads(at("n", "", 1, 9, 0)), at("n", "", 4, 10, 2)}},
		{1, []hold{reads(at("n", "", 0, 5, 1))}},
	} {
		a.holds, a.forced[hashOf("forced")] = c.holds, a.began.Add(3)
		require.Len(t, a.violations(), c.wrong, "%v", c.holds)
	}
}

func TestTheAuditSeesKeptLocksThatNobodyHadToLose(t *testing.T) {
	away := func(kind string, engine, master int) Fault { return Fault{Kind: kind, Engine: engine, Master: master} }
	for _, c := range []struct {
		may  bool
		away []Fault
	}{
		{false, nil},
		{false, []Fault{away("restart empty", -1, 2), away("down", -1, 2), away("engine crash", 1, 0)}},
		{false, []Fault{away("black hole", 0, 1), away("restart empty", -1, 2)}},
		{true, []Fault{away("black hole", 0, 1), away("restart empty", -1, 2), away("flush", -1, 3)}},
		{true, []Fault{away("pause", 0, 0)}},
	} {
		a := newAudit()
		for _, f := range c.away {
			a.isAway(f)
		}
		require.Equal(t, c.may, a.mayLose(0, 5), "%v", c.away)
		a.nobodyIsAway(0)
		require.False(t, a.mayLose(0, 5))
	}
}

func TestASeedIsAScheduleOfFaultsThatAreAllowed(t *testing.T) {
	drawn := make(map[string]int)
	rolled := make(map[string]int)
	for seed := range uint64(1000) {
		s := Draw(seed, 20)
		require.Equal(t, s, Draw(seed, 20))
		for _, f := range s.Faults {
			drawn[f.Kind]++
			if f.Act == s.Shape.Acts {
				rolled[f.Kind]++
			}
			for _, k := range faultKinds {
				require.False(t, k.name == f.Kind && k.allowed != nil && !k.allowed(s.Shape), "%v", s)
			}
		}
	}
	for _, k := range faultKinds {
		require.Greater(t, drawn[k.name], 100, k.name)
		require.Equal(t, k.rolls != nothing, rolled[k.name] > 10, k.name)
	}
}

func TestShrinkKeepsTheFaultsThatMatter(t *testing.T) {
	var s Schedule
	for i := range 20 {
		s.Faults = append(s.Faults, Fault{Kind: fmt.Sprint(i)})
	}
	runs := 0
	left := Shrink(s, func(part Schedule) bool {
		runs++
		return part.has("3") && part.has("17")
	})
	require.Equal(t, []int{3, 17}, left)
	require.Less(t, runs, 40)
	require.Empty(t, Shrink(s, func(Schedule) bool { return true }))
	none, err := s.Only("")
	require.NoError(t, err)
	require.Empty(t, none.Faults)
	only, err := s.Only("3,17")
	require.NoError(t, err)
	require.Equal(t, []Fault{{Kind: "3"}, {Kind: "17"}}, only.Faults)
}
