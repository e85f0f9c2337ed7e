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

// benched is a run of four workers that finished one cycle a second.
func benched() *bench.Result {
	s := &bench.Summary{Count: 1000, P: map[string]int64{"50": 2000895, "99": 2000895}}
	return &bench.Result{
		Impl: "muxlock", Masters: 5, Workers: 4, ThroughputPerS: 1,
		Latency: bench.Latencies{bench.ResponseTime: s, bench.CycleTime: s}, Client: bench.Client{CPUNsPerOp: 1234.25, AllocsPerOp: 6},
		Keys: 4, Procs: 1, Valid: bench.Valid{OK: true},
	}
}

func TestBenchLinesAreWhatBenchstatReadsAndTheOthersSayWhatIsLeftOut(t *testing.T) {
	bound := benched() // of two processes, with a lower bound for the p99 and without a CPU time
	bound.Procs, bound.Client.CPUNsPerOp, bound.ThroughputPerS = 2, 0, 249.78
	bound.Latency[bench.ResponseTime] = &bench.Summary{Count: 1000, Censored: 20, P: map[string]int64{"50": 2000895, "99": 2000895}}
	none, unsafe, spoiled := benched(), benched(), benched()
	none.Latency[bench.CycleTime] = &bench.Summary{}
	unsafe.Safety.Overlaps, unsafe.Round = 2, 3
	spoiled.Valid = bench.Valid{Reasons: []bench.Reason{{Kind: bench.ReasonRate}, {Kind: bench.ReasonNothing, Detail: "a\nb"}}}
	require.Equal(t, `goos: darwin
goarch: arm64
pkg: muxlock/bench
cpu: Apple M3
BenchmarkCycle/impl=muxlock/masters=5/workers=4-8 1000 1000000000.0 ns/op 1.0 cycles/s 2000895 p50-ns 2000895 p99-ns 1234 cpu-ns/op 6.00 allocs/op
# left out: impl=muxlock/masters=5/workers=4, round 0: no cycle was finished
# left out: impl=muxlock/masters=5/workers=4, round 3: 2 overlaps, 0 fence violations
# left out: impl=muxlock/masters=5/workers=4, round 0: not valid: rate not met; nothing was acquired: a b
BenchmarkCycle/impl=muxlock/masters=5/workers=4/procs=2-8 1000 4003523.1 ns/op 249.8 cycles/s 2000895 p50-ns 6.00 allocs/op
`, strings.ReplaceAll(written(t, Config{}, benched(), none, unsafe, spoiled, bound), "\t", " "))
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
