package validation

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/internal/redistest"
)

const ms = time.Millisecond

func TestWhatStandsStillDoesSoWithinTheMeasuredTime(t *testing.T) {
	every := hazard{masters: 3, stopped: 3, every: time.Second, lasts: 150 * ms}
	require.Equal(t, []window{{425 * ms, 575 * ms}, {1425 * ms, 1575 * ms}}, every.windows(2*time.Second))
	once := hazard{stopped: 1, lasts: 800 * ms}
	require.Equal(t, []window{{600 * ms, 1400 * ms}}, once.windows(2*time.Second))
	require.Empty(t, once.windows(800*ms), "it is too short for one")
	require.Empty(t, hazard{}.windows(time.Minute))

	list := stops(3, every.windows(2*time.Second)...)
	require.Len(t, list, 6, "all masters, twice")
	require.Equal(t, faults.Fault{Kind: faults.Stop, Master: 2, From: 425 * ms, To: 575 * ms}, list[2])
	require.Empty(t, stops(0, every.windows(2*time.Second)...))
}

func TestLawOfSeveralLoadsHasEachByItsRate(t *testing.T) {
	law, err := hazard{loads: []load{{270, "10ms"}, {30, "300ms"}}}.law()
	require.NoError(t, err)
	require.InDelta(t, 0.1, law.Survival(float64(200*ms)), 1e-12)
	require.Equal(t, float64(300*ms), law.UpperQuantile(1e-4))
}

func TestLeasesThatDoNotOutlastMasterTimeoutAreNotTried(t *testing.T) {
	a := &advice.Advice{TTL: advice.Interval{Min: int64(400 * ms)}}
	a.Config.TTL, a.Config.MasterTimeout = 2*time.Second, 150*ms
	h := hazard{leases: []time.Duration{360 * ms, 140 * ms}}
	require.Equal(t, []time.Duration{2 * time.Second, 200 * ms, 360 * ms}, h.candidates(a))
	a.Config.MasterTimeout = 50 * ms
	require.Equal(t, []time.Duration{2 * time.Second, 200 * ms, 100 * ms, 360 * ms, 140 * ms}, h.candidates(a))
	a.Config.Renew = true // the least is that of a hold which no lease outlasts
	require.Equal(t, []time.Duration{2 * time.Second, time.Second, 500 * ms}, hazard{}.candidates(a))
}

// told is an advice about a lease of 100 ms.
func told(p, lo, hi, late float64) *advice.Advice {
	return &advice.Advice{
		Losses:   []advice.Loss{{TTL: int64(100 * ms), P: p, Lo: lo, Hi: hi}, {TTL: int64(time.Second)}},
		Expected: []advice.Chance{{Formula: "F18", P: 1}, {Formula: "F4", P: late, Lo: late, Hi: late}},
	}
}

func TestLossesAreWithinForTheAdviceThatForetellsThem(t *testing.T) {
	tolls := []toll{{ttl: 100 * ms, lost: 40, of: 2000, late: 2, all: 2000}}
	checks := tollChecks(told(0.02, 0.015, 0.025, 0.001), tolls)
	require.Len(t, checks, 2, "of the lease that was held, and of attempts")
	requireAll(t, Within, checks...)
	requireAll(t, Outside, tollChecks(told(0.002, 0.001, 0.005, 0.1), tolls)...) // far more is lost, and fewer are late
	requireAll(t, Outside, tollChecks(told(0.2, 0.1, 0.3, 1e-6), tolls)[0])      // far less is
	requireAll(t, Within, tollChecks(told(0.002, 0.001, 0.02, 0.001), tolls)...) // the advice is not sure of it
	requireAll(t, Within, tollChecks(told(0.02, 0.021, 0.021, 0.001), tolls)...) // what it says is in its interval
	requireAll(t, Unmeasured, tollChecks(told(0.02, 0, 1, 0), []toll{{ttl: 100 * ms, of: 5}})...)
}

func TestRenewedLeasesAreWithinForThePredictionThatForetellsThem(t *testing.T) {
	said := func(p float64) *advice.Advice {
		return &advice.Advice{Outages: []advice.Survived{{TTL: int64(time.Second), Lost: p, Least: p, Most: p}, {TTL: 1}}}
	}
	half := kept{time.Second, nil}
	for i := range keepers { // those of one engine are lost together
		half.lost = append(half.lost, float64(i%2))
	}
	none := kept{time.Second, make([]float64, keepers)}
	requireAll(t, Within, keptChecks(said(0.5), []kept{half})...)
	requireAll(t, Within, keptChecks(said(0), []kept{none})...)
	requireAll(t, Outside, keptChecks(said(3.5e-4), []kept{half})...) // tries taken as independent of each other
	requireAll(t, Outside, keptChecks(said(0.5), []kept{none})...)
	unsure := said(0.9)
	unsure.Outages[0].Least = 0.1
	requireAll(t, Within, keptChecks(unsure, []kept{half})...)
	require.Empty(t, keptChecks(said(0.5), []kept{{2 * time.Second, none.lost}}))
}

func TestIntervalOfSharesHoldsTheirMeanAlmostAlways(t *testing.T) {
	rng := seeded(1, 1)
	const runs = 3000
	missed := 0
	for range runs {
		samples := make([]float64, keepers)
		for i := range samples {
			samples[i] = math.Pow(rng.Float64(), 3)
		}
		if e := meanShare(samples); e.Lo > 0.25 || e.Hi < 0.25 {
			missed++
		}
	}
	require.LessOrEqual(t, missed, runs/1000)
}

func TestAClientThatStandsStillLosesTheLeasesThatItHolds(t *testing.T) {
	redistest.Masters(t, 1) // skips without a server
	h := hazard{masters: 3, loads: []load{{300, "50ms"}}, every: time.Second, lasts: 300 * ms}
	results, err := h.run(t.Context(), Options{Length: time.Second}, advice.Config{MasterTimeout: 50 * ms}, []time.Duration{200 * ms, lease}, 1)
	require.NoError(t, err)
	require.Len(t, results, 2)
	require.Positive(t, results[0].Totals.LostValidity)
	require.NotEmpty(t, results[0].Probe.Rows)
	for _, r := range results {
		require.GreaterOrEqual(t, r.Client.Stall.Max, int64(250*ms), "it noticed")
	}
}
