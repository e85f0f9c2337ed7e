package advice

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/engine"
)

// binned is times as an engine gives them, with those of at least from one by one.
func binned(all []bench.Peak, from int64) engine.Durations {
	d := engine.Durations{Count: int64(len(all)), LongestFrom: time.Duration(from), Longest: []engine.Moment{}}
	counts := map[time.Duration]int64{}
	for _, one := range all {
		shift := max(0, bits.Len64(uint64(one.Ns))-5)
		counts[time.Duration((one.Ns>>shift+1)<<shift-1)]++
		if one.Ns >= from {
			d.Longest = append(d.Longest, engine.Moment{At: time.Duration(one.AtNs), Took: time.Duration(one.Ns)})
		}
	}
	for most, count := range counts {
		d.Buckets = append(d.Buckets, engine.Bucket{Most: most, Count: count})
	}
	slices.SortFunc(d.Buckets, func(a, b engine.Bucket) int { return cmp.Compare(a.Most, b.Most) })
	return d
}

// day is what a process and a run see alike: acquires, holds, and pauses that come in groups.
func day() (p *engine.Measurements, r *bench.Result) {
	rng := rand.New(rand.NewPCG(3, 1))
	const length = 2 * time.Minute
	var acquires, holds, pauses []bench.Peak
	for at := 0.0; at < float64(length); at += 10e6 * rng.ExpFloat64() {
		acquires = append(acquires, bench.Peak{AtNs: int64(at), Ns: int64(1e6 + 1e6*rng.ExpFloat64())})
		holds = append(holds, bench.Peak{AtNs: int64(at), Ns: int64(20e6 * rng.ExpFloat64())})
	}
	for at := 0.0; at < float64(length); at += 2e9 * rng.ExpFloat64() {
		for i := range 3 {
			pauses = append(pauses, bench.Peak{AtNs: int64(at) + int64(i)*50e6, Ns: int64(2e6 + 5e6*rng.ExpFloat64())})
		}
	}
	pauses = slices.DeleteFunc(pauses, func(k bench.Peak) bool { return k.AtNs > int64(length) })
	slices.SortFunc(pauses, func(a, b bench.Peak) int { return cmp.Compare(a.AtNs, b.AtNs) })
	const from = int64(5e6)
	p = &engine.Measurements{
		Version: 1, Span: length, Masters: []string{"a:1", "b:1", "c:1"},
		Acquires: binned(acquires, from), Holds: binned(holds, 60e6), Pauses: binned(pauses, 1e6),
	}
	r = &bench.Result{Impl: "muxlock", Round: 1, Masters: 3, Procs: 1, Valid: bench.Valid{OK: true}, DurationS: length.Seconds()}
	figure := func(all []bench.Peak, from int64) *bench.Summary {
		h, kept := bench.NewHistogram(), &bench.Peaks{FromNs: from}
		for _, one := range all {
			h.Record(one.Ns, 1)
			if one.Ns >= from {
				kept.All = append(kept.All, one)
			}
		}
		s := summary(h)
		s.Peaks = kept
		return s
	}
	r.Totals.Acquired = int64(len(acquires))
	r.Latency.ValidityUsed, r.Latency.Hold, r.Client.Stall = figure(acquires, from), figure(holds, 60e6), figure(pauses, 1e6)
	return p, r
}

func TestAProcessIsAdvisedAsARunThatSawTheSame(t *testing.T) {
	p, r := day()
	m, err := MeasureProcess(p)
	require.NoError(t, err)
	for _, eps := range []float64{1e-2, 1e-4, 1e-6} {
		ask := Ask{Eps: eps, RTO: 10 * time.Second, Budgets: DefaultBudgets}
		got, want := Make(m, ask), Make(measure(t, r), ask)
		require.InEpsilon(t, want.TTL.Min, got.TTL.Min, 0.03, "a bucket is a sixteenth wide, and the longest are exact")
		require.InEpsilon(t, want.Config.TTL, got.Config.TTL, 0.05)
		require.InEpsilon(t, want.Config.MasterTimeout, got.Config.MasterTimeout, 0.07)
		require.Equal(t, want.Spread.TTLMin[0] < want.Spread.TTLMin[1], got.Spread.TTLMin[0] < got.Spread.TTLMin[1])
	}
	a := Make(m, Ask{Eps: 1e-2, RTO: 10 * time.Second, Budgets: DefaultBudgets})
	require.Less(t, a.Spread.TTLMin[0], a.Spread.TTLMin[1], "another two minutes would have had other pauses")
	require.Nil(t, a.Check, "there was no load")
	require.Contains(t, a.Try, "--masters a:1,b:1,c:1 --ttl ")
	for _, lacks := range []string{"outages of the masters are not in", "the masters were not probed", "clocks of the masters were not watched"} {
		require.True(t, warned(a, lacks), lacks)
	}
	require.False(t, warned(a, "were not measured"))
	require.False(t, warned(a, "is assumed"))
	require.False(t, warned(a, "had measured for"))
}

func TestAPauseThatAProcessMetOnceRaisesTheTTL(t *testing.T) {
	const long = 3 * time.Second
	p, _ := day()
	m, err := MeasureProcess(p)
	require.NoError(t, err)
	before := Make(m, defaults).TTL.Min

	p.Pauses.Count++
	p.Pauses.Buckets = append(p.Pauses.Buckets, engine.Bucket{Most: long, Count: 1})
	p.Pauses.Longest = append(p.Pauses.Longest, engine.Moment{At: p.Span, Took: long})
	m, err = MeasureProcess(p)
	require.NoError(t, err)
	after := Make(m, defaults).TTL.Min
	require.Less(t, before, int64(long))
	require.Greater(t, after, int64(long))
}

func TestALawOfAProcessHasItsLongestAsTheyAre(t *testing.T) {
	law, err := lawOfProcess(10, engine.Durations{
		Count: 6, Buckets: []engine.Bucket{{Most: 31, Count: 3}, {Most: 103, Count: 3}},
		LongestFrom: 99, Longest: []engine.Moment{{At: 1, Took: 101}, {At: 2, Took: 99}},
	}, engine.Durations{})
	require.NoError(t, err)
	require.EqualValues(t, 6, law.N())
	for at, above := range map[float64]float64{30: 1, 31: 3. / 6, 98: 3. / 6, 99: 2. / 6, 101: 1. / 6, 103: 0} {
		require.InDelta(t, above, law.SampleSurvival(at), 1e-9, at)
	}
}

func TestMeasurementsThatDoNotAddUpAreRefused(t *testing.T) {
	for what, spoil := range map[string]func(p *engine.Measurements){
		"nothing was acquired":          func(p *engine.Measurements) { p.Acquires = engine.Durations{} },
		"holds have a count of":         func(p *engine.Measurements) { p.Holds.Count++ },
		"acquires have buckets":         func(p *engine.Measurements) { slices.Reverse(p.Acquires.Buckets) },
		"pauses have buckets":           func(p *engine.Measurements) { p.Pauses.Buckets[0].Count = -1 },
		"in no bucket":                  func(p *engine.Measurements) { p.Pauses.Longest[0].Took = time.Hour },
		"or of another time":            func(p *engine.Measurements) { p.Pauses.Longest[0].At = p.Span + 1 },
		"pauses have a longest, 1ns at": func(p *engine.Measurements) { p.Pauses.Longest[0].Took = 1 },
	} {
		p, _ := day()
		spoil(p)
		_, err := MeasureProcess(p)
		require.ErrorContains(t, err, what)
	}
}

func TestOnlyWhatAnEngineMeasuredIsReadAsThat(t *testing.T) {
	p, _ := day()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	dir := t.TempDir()
	read := func(text string) error {
		name := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := ReadProcess(name)
		return err
	}
	require.NoError(t, read(string(text)))
	for text, want := range map[string]string{
		"":                                  "is empty",
		string(text[:len(text)/2]):          "is cut off",
		"TTL 10s":                           "is not JSON",
		`[1]`:                               "is not what engine.Engine.Measured returns",
		`{"schema_version":2,"results":[]}`: "is not what engine.Engine.Measured returns",
		`{"version":"1"}`:                   "is not what engine.Engine.Measured returns",
		`{"version":2}`:                     "newer engine",
		`{"version":1,"span_ns":5}`:         "no masters",
		`{"version":1,"masters":["a:1"]}`:   "no span_ns",
	} {
		require.ErrorContains(t, read(text), want, text)
	}
	_, err = ReadProcess(filepath.Join(dir, "missing"))
	require.ErrorContains(t, err, "no such file")
	_, err = ReadProcess(dir)
	require.ErrorContains(t, err, "directory")
}
