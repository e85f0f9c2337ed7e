package result

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestDocumentDescribesThisProgramAndMachine(t *testing.T) {
	d := NewDocument(Config{}, nil)
	require.Equal(t, SchemaVersion, d.SchemaVersion)
	require.NotEmpty(t, d.Tool.Go)
	require.NotEmpty(t, d.Env.Kernel)
	require.Positive(t, d.Env.CPUs)
	b, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(b), "null")
}

// benched is a run of four workers.
func benched() *bench.Result {
	s := &bench.Summary{Count: 1000, P: map[string]int64{"50": 2000895, "99": 2000895}}
	return &bench.Result{
		Impl: "muxlock", Masters: 5, Workers: 4, ThroughputPerS: 1e9 / 4003500.0,
		Latency: bench.Latencies{Response: s, Cycle: s}, Client: bench.Client{CPUNsPerOp: 1234.25, AllocsPerOp: 6},
	}
}

func TestBenchLinesAreWhatBenchstatReads(t *testing.T) {
	r := benched()
	none := *r
	none.Latency.Cycle = &bench.Summary{}
	var out bytes.Buffer
	require.NoError(t, WriteBench(&out, []*bench.Result{r, &none}))

	var lines []string
	for line := range strings.Lines(out.String()) {
		if name, _, isKey := strings.Cut(line, ": "); isKey {
			require.Contains(t, []string{"goos", "goarch", "pkg", "cpu"}, name)
			continue
		}
		lines = append(lines, line)
	}
	require.Len(t, lines, 1, "no line for a run without cycles")
	fields := strings.Fields(lines[0])
	require.Regexp(t, `^BenchmarkCycle/impl=muxlock/masters=5/workers=4-\d+$`, fields[0])
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

func TestEverySettingOfASweepHasABenchmarkNameOfItsOwn(t *testing.T) {
	r := benched()
	for want, setting := range map[string]map[string]string{
		"masters=5/workers=4":                           {"masters": "5", "workers": "4"},
		"masters=5/workers=4/procs=1":                   {"procs": "1"},
		"masters=5/workers=4/hold=exp:1ms/keys=10":      {"keys": "10", "hold": "exp:1ms"},
		"masters=5/workers=4/hold=file:_my_files_h.txt": {"hold": "file:/my files/h.txt"},
	} {
		r.Setting = setting
		var out bytes.Buffer
		require.NoError(t, WriteBench(&out, []*bench.Result{r}))
		require.Regexp(t, `\nBenchmarkCycle/impl=muxlock/`+want+`-\d+\t`, out.String())
	}
}
