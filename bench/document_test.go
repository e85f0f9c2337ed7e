package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// document is that of an open-loop run in virtual time, with the parts that
// depend on the machine made constant.
func document(t *testing.T) Document {
	cfg := Config{Workers: 4, Rate: 250, Arrivals: Even, Duration: 4003500 * time.Microsecond, TTL: time.Second, KeyPrefix: "k:", Seed: 42}
	var doc Document
	virtual(t, nil, slow{acquire: takes(2 * time.Millisecond), release: time.Millisecond}, cfg, func(t *testing.T, r *Result, err error) {
		require.NoError(t, err)
		r.Client = Client{CPUNsPerOp: 1234.5, AllocsPerOp: 6, GCP99Ns: 81920}
		l := r.Latency
		for _, s := range []*Summary{l.Response, l.Wait, l.Lag, l.Service, l.Release, l.Cycle} {
			require.NotEmpty(t, s.HDR)
			s.HDR = "HISTF" // the rest depends on how this Go compresses
		}
		l.Acquire.HDR = l.Service.HDR
		doc = NewDocument(RunConfig{Config: cfg, Impls: []string{"test"}, Rounds: 1, Reference: "test", Masters: []string{"127.0.0.1:7000"}}, []*Result{r})
		doc.Tool = Tool{Name: "lockbench", Version: "v0", Go: "go0"}
		doc.Env = Env{OS: "os", Arch: "arch", CPUs: 2, GOMAXPROCS: 2, Kernel: "kernel"}
	})
	return doc
}

func TestDocumentKeepsItsShape(t *testing.T) {
	b, err := json.MarshalIndent(document(t), "", "  ")
	require.NoError(t, err)
	golden(t, "document.json", append(b, '\n'))
}

func TestDocumentDescribesThisProgramAndMachine(t *testing.T) {
	d := NewDocument(RunConfig{}, nil)
	require.Equal(t, SchemaVersion, d.SchemaVersion)
	require.NotEmpty(t, d.Tool.Go)
	require.NotEmpty(t, d.Env.Kernel)
	require.Positive(t, d.Env.CPUs)
	b, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(b), "null")
}

func TestBenchLinesAreWhatBenchstatReads(t *testing.T) {
	r := document(t).Results[0]
	r.Impl, r.Masters = "muxlock", 5
	none := *r
	none.Latency.Cycle = &Summary{}
	var out bytes.Buffer
	require.NoError(t, WriteBench(&out, []*Result{r, &none}))

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
	r := document(t).Results[0]
	r.Impl, r.Masters = "muxlock", 5
	for want, setting := range map[string]map[string]string{
		"masters=5/workers=4":                           {"masters": "5", "workers": "4"},
		"masters=5/workers=4/procs=1":                   {"procs": "1"},
		"masters=5/workers=4/hold=exp:1ms/keys=10":      {"keys": "10", "hold": "exp:1ms"},
		"masters=5/workers=4/hold=file:_my_files_h.txt": {"hold": "file:/my files/h.txt"},
	} {
		r.Setting = setting
		var out bytes.Buffer
		require.NoError(t, WriteBench(&out, []*Result{r}))
		require.Regexp(t, `\nBenchmarkCycle/impl=muxlock/`+want+`-\d+\t`, out.String())
	}
}
