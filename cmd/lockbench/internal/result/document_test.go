package result

import (
	"cmp"
	"encoding/json"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestDocumentDescribesThisProgramAndMachine(t *testing.T) {
	d := NewDocument(Config{}, nil)
	require.Equal(t, Tool{Name: "lockbench", Version: "(devel)", Go: runtime.Version()}, d.Tool)
	host, _ := os.Hostname()
	env := Env{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), Host: host}
	env.describe(os.DirFS("/"))
	env.Kernel = cmp.Or(env.Kernel, runtime.GOOS)
	require.Equal(t, env, d.Env)
	b, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(b), "null")
}

func TestADocumentOfSeveralLoadsHasAPartForEach(t *testing.T) {
	own, one := ran("a", 1, 1, 1), ran("a", 1, 1, 1)
	own.Setting, one.Setting = map[string]string{LoadSetting: "own names"}, map[string]string{LoadSetting: "one name"}
	d := Document{Results: []*bench.Result{own, one}, Relative: []Relative{{Load: OneName}, {Load: OwnNames}}}
	d.Config.Command, d.Config.Rounds, d.Config.Workers = "compare", 3, 9
	require.Equal(t, []Document{d}, d.Parts(), "the document, without loads")
	d.Config.Loads = []Load{{OwnNames, []string{"a"}, bench.Config{Workers: 64}}, {OneName, []string{"a"}, bench.Config{Rate: 0.5}}}
	part := Document{Results: []*bench.Result{one}, Relative: []Relative{{Load: OneName}}}
	part.Config.Command, part.Config.Rounds, part.Config.Rate, part.Config.Impls = "compare", 3, 0.5, []string{"a"}
	require.Equal(t, part, d.Of(OneName))
	require.Equal(t, []bool{true, true, false, false}, []bool{part.Compares(), part.Open(), d.Open(), d.Sweeps("rate")})
	require.Empty(t, d.Of(LoneCaller))
}

func TestAClientIsDescribedByWhatItHas(t *testing.T) {
	require.Equal(t, "a v1", Client{Versions: []string{"a v1"}}.String())
	require.Equal(t, "pool of 1 to each master, the client repeats a failed command up to 1 times", Client{Pool: 1, Retries: 1}.String())
}
