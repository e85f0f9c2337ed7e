package result

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

// written is what WriteBench makes of results, measured on another machine.
func written(t *testing.T, cfg Config, results ...*bench.Result) string {
	t.Helper()
	var out bytes.Buffer
	env := Env{OS: "darwin", Arch: "arm64", CPU: "Apple M3", GOMAXPROCS: 8}
	require.NoError(t, WriteBench(&out, Document{Env: env, Config: cfg, Results: results}))
	return out.String()
}

// benched is a run of four workers.
func benched() *bench.Result {
	s := &bench.Summary{Count: 1000, P: map[string]int64{"50": 2000895, "99": 2000895}}
	return &bench.Result{
		Impl: "muxlock", Masters: 5, Workers: 4, ThroughputPerS: 1e9 / 4003500.0,
		Latency: bench.Latencies{bench.ResponseTime: s, bench.CycleTime: s}, Client: bench.Client{CPUNsPerOp: 1234.25, AllocsPerOp: 6},
		Keys: 4, Valid: bench.Valid{OK: true},
	}
}

func TestBenchLinesAreWhatBenchstatReads(t *testing.T) {
	r := benched()
	head, line, _ := strings.Cut(written(t, Config{}, r), "Benchmark")
	require.Equal(t, "goos: darwin\ngoarch: arm64\npkg: muxlock/bench\ncpu: Apple M3\n", head)
	fields := strings.Fields(line)
	require.Equal(t, "Cycle/impl=muxlock/masters=5/workers=4-8", fields[0])
	require.Equal(t, "1000", fields[1])
	units := map[string]string{}
	for i := 2; i < len(fields); i += 2 {
		units[fields[i+1]] = fields[i]
	}
	require.Equal(t, map[string]string{
		"ns/op": "4003500.0", "cycles/s": "249.8", "p50-ns": "2000895", "p99-ns": "2000895",
		"cpu-ns/op": "1234", "allocs/op": "6.00",
	}, units)
}

func TestARunThatShowsNothingIsLeftOutWithTheReason(t *testing.T) {
	for want, spoil := range map[string]func(*bench.Result){
		"no cycle was finished":          func(r *bench.Result) { r.Latency[bench.CycleTime] = &bench.Summary{} },
		"2 overlaps, 0 fence violations": func(r *bench.Result) { r.Safety.Overlaps = 2 },
		"not valid: rate not met; nothing was acquired: a b": func(r *bench.Result) {
			r.Valid = bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonRate}, {Kind: bench.ReasonNothing, Detail: "a\nb"}}}
		},
	} {
		r := benched()
		r.Round = 3
		spoil(r)
		out := written(t, Config{}, r, benched())
		require.Contains(t, out, "\n# left out: impl=muxlock/masters=5/workers=4, round 3: "+want+"\nBenchmarkCycle/")
		require.Equal(t, 1, strings.Count(out, "Benchmark"))
	}
}

func TestEveryLoadAndSettingHasABenchmarkNameOfItsOwn(t *testing.T) {
	var many bench.Op
	require.NoError(t, many.UnmarshalText([]byte("many:5")))
	for want, c := range map[string]struct {
		bench.Config
		setting map[string]string
	}{
		"masters=5/workers=4":                                   {bench.Config{Keys: 1000}, nil},
		"masters=5/workers=4/op=many:5":                         {bench.Config{Op: many}, nil},
		"masters=5/workers=4/keys=4/op=hold":                    {bench.Config{Op: bench.Hold}, nil},
		"masters=5/workers=4/dist=uniform/keys=4":               {bench.Config{Dist: bench.Uniform()}, nil},
		"masters=5/workers=4/dist=zipf:0.9/keys=4":              {bench.Config{Dist: bench.Zipf(0.9)}, nil},
		"masters=5/workers=4/rate=0.5":                          {bench.Config{Rate: 0.5}, nil},
		"masters=5/workers=4/rate=1500000":                      {bench.Config{Rate: 1.5e6}, nil},
		"masters=5/workers=4/dist=uniform/keys=4/op=try/rate=7": {bench.Config{Dist: bench.Uniform(), Op: bench.Try, Rate: 7}, nil},
		"masters=5/workers=4/rate=2k":                           {bench.Config{Rate: 1000}, map[string]string{"rate": "2k"}},
		"masters=5/workers=4/dist=own":                          {bench.Config{Dist: bench.Uniform()}, map[string]string{"dist": "own", "masters": "5", "workers": "4"}},
		"masters=5/workers=4/procs=1":                           {bench.Config{}, map[string]string{"procs": "1"}},
		"masters=5/workers=4/hold=exp:1ms/keys=10":              {bench.Config{}, map[string]string{"keys": "10", "hold": "exp:1ms"}},
		"masters=5/workers=4/hold=file:_my_files_h.txt":         {bench.Config{}, map[string]string{"hold": "file:/my files/h.txt"}},
	} {
		r := benched()
		r.Setting = c.setting
		require.Contains(t, written(t, Config{Settings: Settings{Config: c.Config}}, r), "\nBenchmarkCycle/impl=muxlock/"+want+"-8\t")
	}
}
