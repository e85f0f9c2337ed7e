package advice

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/redlock"
)

// far is a place whose masters are so many times farther than the first, in turn.
func far(times ...float64) *bench.Result {
	s := lan
	s.masters, s.sigma = len(times), 0.05
	r := s.result()
	for _, row := range r.Probe.Rows {
		for i := range row {
			row[i] = int64(float64(row[i]) * times[i])
		}
	}
	return r
}

// setsOf is the sets of a plan as texts such as 1,3,5.
func setsOf(p *Plan) (texts []string) {
	for _, s := range p.Sets {
		text, _ := json.Marshal(s.Masters)
		texts = append(texts, strings.Trim(string(text), "[]"))
	}
	return texts
}

func TestAPlanHasTheFastestMastersOfEachNumber(t *testing.T) {
	p := Make(measure(t, far(9, 1, 9, 2, 3)), defaults).Plan
	require.Equal(t, []string{"2", "2,4,5", "1,2,3,4,5"}, setsOf(p))
	for i, want := range []struct {
		p50     float64
		mayFail int
	}{{300e3, 0}, {600e3, 1}, {900e3, 2}} {
		require.InEpsilon(t, want.p50, p.Sets[i].P50, 0.1)
		require.GreaterOrEqual(t, p.Sets[i].P99, p.Sets[i].P50)
		require.Equal(t, want.mayFail, p.Sets[i].MayFail)
	}
	require.Zero(t, p.Sets[0].OneDown, "without its only master there is no quorum")
	require.InEpsilon(t, 3*300e3, p.Sets[1].OneDown, 0.25)
	require.InEpsilon(t, 9*300e3, p.Sets[2].OneDown, 0.25)
	require.Empty(t, p.Sets[2].Zones)
}

func TestMoreMastersThanMeasuredAreModelledOnThem(t *testing.T) {
	p := Make(measure(t, far(1, 1, 1)), defaults).Plan
	require.Len(t, p.Sets, 3)
	more := p.Sets[2]
	require.Equal(t, 5, more.Size)
	require.NotNil(t, more.Masters, "an empty list, not null")
	require.Empty(t, more.Masters)
	require.InEpsilon(t, 300e3, more.P50, 0.1)

	r := lan.result()
	r.Probe = nil
	p = Make(measure(t, r), defaults).Plan
	require.Empty(t, p.Sets, "nobody probed them")
	require.NotEmpty(t, p.Placed)
}

func TestWhereZonesAreKnownASetThatSurvivesOneStandsBesideTheFastest(t *testing.T) {
	ask := defaults
	ask.Zones = []string{"near", "near", "b", "near", "c"}
	a := Make(measure(t, far(1, 1, 5, 1, 6)), ask)
	require.Equal(t, []string{"1,2,4", "3,5"}, []string{setsOf(a.Plan)[1], setsOf(a.Plan)[2][2:]})
	fastest, safe := a.Plan.Sets[1], a.Plan.Sets[2]
	require.False(t, fastest.SurvivesZone)
	require.True(t, safe.SurvivesZone)
	require.Equal(t, []string{"b", "c"}, safe.Zones[1:])
	require.Less(t, fastest.P99, safe.P99)
	require.InEpsilon(t, sizing.Unavailable([]int{3}, 2, DefaultMasterUp, DefaultZoneUp), fastest.Unavailable, 1e-9)
	require.InEpsilon(t, sizing.Unavailable([]int{1, 1, 1}, 2, DefaultMasterUp, DefaultZoneUp), safe.Unavailable, 1e-9)
	require.True(t, warned(a, "the loss of one zone leaves no quorum"), "three of five are near")

	ask.Zones, ask.MasterUp, ask.ZoneUp = []string{"a", "a", "b", "b", "c"}, 0.99, 1
	a = Make(measure(t, far(1, 1, 1, 1, 1)), ask)
	require.False(t, warned(a, "the loss of one zone"))
	five := a.Plan.Sets[len(a.Plan.Sets)-1]
	require.True(t, five.SurvivesZone)
	require.InEpsilon(t, 9.85e-6, five.Unavailable, 0.01)
	for _, placed := range a.Plan.Placed {
		require.Equal(t, placed.Zones == 3, placed.SurvivesZone, "%+v", placed)
	}
}

func TestABusyNameIsWarnedOfBeforeItIsTooBusy(t *testing.T) {
	r, ask := lan.result(), defaults
	ask.Hold = sizing.Fixed(20e6)
	most := Make(measure(t, r), ask).Plan.Hot.Ways[1].PerS
	require.InEpsilon(t, 1/0.0207, most, 0.03, "hold and about two round trips of 0.3 ms")
	for share, want := range map[float64]string{0.6: "", 0.75: "occupied for 75%", 1.05: "more than one name can do"} {
		ask.Rate = share * most
		a := Make(measure(t, r), ask)
		hot := a.Plan.Hot.Ways[1]
		require.InEpsilon(t, share, hot.Occupied, 1e-6)
		require.Equal(t, want != "", warned(a, "occupied for") || warned(a, "one name can do"), "%v: %q", share, a.Warnings)
		require.True(t, want == "" || warned(a, want), "%v: %q", share, a.Warnings)
		if share < 1 { // Pollaczek and Khinchine, of a service that hardly varies
			require.InEpsilon(t, share/(2*(1-share))*20.7e6, hot.Wait, 0.1)
		} else {
			require.Zero(t, hot.Wait)
		}
	}
}

func TestTheHottestNameOfTheLoadIsAsHotAsItsDistribution(t *testing.T) {
	r := lan.result()
	cfg := bench.RunConfig{Config: bench.Config{TTL: 10 * time.Second, Dist: bench.Hotspot(0.1, 0.9), Keys: 20, Rate: 500}}
	m, err := Measure("muxlock", cfg, []*bench.Result{r})
	require.NoError(t, err)
	require.Equal(t, 500.0, m.Rate)
	a := Make(m, defaults)
	require.InEpsilon(t, 500*0.9/2, a.Plan.Hot.Rate, 1e-9)
	require.True(t, warned(a, "225/s is more than one name can do"), "%q", a.Warnings)
	ask := defaults
	ask.Rate = 3
	require.Equal(t, 3.0, Make(m, ask).Plan.Hot.Rate, "what was asked for counts")
	m.hotRate = 0
	require.Zero(t, Make(m, defaults).Plan.Hot.Ways[0].Occupied)
}

// A lease goes through the hands of one process for 20 ms: simulated, hold by hold.
func TestHoldersOfOneProcessShareALease(t *testing.T) {
	s := lan
	s.trip = 10 * time.Millisecond // far enough to tell how many share one
	m := measure(t, s.result())
	trips := m.Acquire.Mean() + m.Release.Mean() + yields*float64(redlock.WakeSpread(time.Duration(m.Acquire.Mean())))
	for _, text := range []string{"3ms", "exp:10ms", "lognormal:5ms,1", "30ms"} {
		span, err := bench.ParseSpan(text)
		require.NoError(t, err)
		ask := defaults
		ask.Hold, err = HoldLaw(span)
		require.NoError(t, err)
		holds, length, sampler := 0.0, 0.0, span.Sampler(1, 2)
		for range 20_000 {
			lease := 0.0
			for lease < float64(redlock.DefaultHandOverTime) {
				lease += float64(sampler())
				holds++
			}
			length += lease + trips
		}
		require.InEpsilon(t, holds/length*1e9, Make(m, ask).Plan.Hot.Ways[0].PerS, 0.08, text)
	}
}

func TestACostIsWhatALockTookOfEachServerAndOfTheClient(t *testing.T) {
	r := lan.result()
	require.Nil(t, Make(measure(t, r), defaults).Plan.Cost, "no server told")
	r.AcquiredPerS = 100
	r.Client.CPUNsPerOp = 50_000
	locks := r.AcquiredPerS * r.DurationS
	for i := range r.PerMaster {
		r.PerMaster[i].Used = &bench.ServerUse{CPUNs: int64(locks * 10_000 * float64(i)), Commands: int64(4 * locks)}
	}
	c := Make(measure(t, r), defaults).Plan.Cost
	require.InEpsilon(t, 100, c.LocksPerS, 1e-9)
	require.InEpsilon(t, 4, c.Commands, 1e-9)
	require.InEpsilon(t, (0+1+2+3+4)*10_000, c.ServerNs, 1e-9, "of all five")
	require.InEpsilon(t, 50_000, c.ClientNs, 1e-9)
	r.PerMaster[3].Used = nil
	require.Nil(t, Make(measure(t, r), defaults).Plan.Cost, "one does not tell")
}

func TestTheLawOfSamplesIsTheirs(t *testing.T) {
	times := slices.Repeat([]time.Duration{time.Millisecond, 2 * time.Millisecond, 40 * time.Millisecond}, 500)
	span, err := bench.Sampled("holds.txt", times)
	require.NoError(t, err)
	law, err := HoldLaw(span)
	require.NoError(t, err)
	require.EqualValues(t, 1500, law.N())
	require.InEpsilon(t, 43e6/3, law.Mean(), 1e-9)
	require.Equal(t, 2e6, law.UpperQuantile(0.5))
	require.Equal(t, 40e6, law.UpperQuantile(0.1))
	ask := defaults
	ask.Hold, ask.HoldText = law, span.String()
	a := Make(measure(t, lan.result()), ask)
	require.EqualValues(t, 1500, a.Inputs[len(a.Inputs)-1].Count)
	require.Contains(t, a.Try, "--hold file:holds.txt")
	require.False(t, warned(a, "holds were given"))
	ask.Hold = sizing.Samples([]float64{1e6, 2e6, 40e6}, nil)
	require.True(t, warned(Make(measure(t, lan.result()), ask), "only 3 holds were given"))
}
