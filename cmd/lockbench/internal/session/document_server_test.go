package session

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
)

func TestAComparisonShowsTheBestRivalFirst(t *testing.T) {
	run := func(impl string, throughput float64) *bench.Result {
		return &bench.Result{Impl: impl, ThroughputPerS: throughput}
	}
	results := []*bench.Result{
		run("muxlock", 9), run("rueidislock", 50), run("redsync-goredis", 1), run("redsync-rueidis", 3), run("redsync-goredis", 1), run("noop", 99), run("redislock", 60),
	}
	impls := []string{"noop", "redsync-goredis", "raw", "rueidislock", "redislock", "redsync-rueidis", "muxlock"}
	require.Equal(t, []string{"muxlock", "redsync-rueidis", "redsync-goredis", "redislock", "rueidislock", "noop", "raw"}, ranked(impls, "muxlock", results))
	require.Equal(t, "redislock", ranked(impls, "redislock", results)[0])

	for i, r := range results { // an open loop: the same throughput, the later the slower
		r.Latency[bench.ResponseTime] = &bench.Summary{Count: 1000, P: map[string]int64{"50": int64(i)}}
	}
	require.Equal(t, []string{"muxlock", "redsync-goredis", "redsync-rueidis", "rueidislock", "redislock", "noop", "raw"}, ranked(impls, "muxlock", results))
}

// pool returns redsync-goredis's connections to each master.
func pool(kind result.Target, distance time.Duration, f ...faults.Fault) int {
	p := &plan.Plan{Settings: result.Settings{Config: bench.Config{Workers: 1024}, Impls: []string{"redsync-goredis"}}, Faults: f}
	s := &Session{Set: &masters.Set{Kind: kind, Distance: distance}, clients: map[string]result.Client{}}
	s.Targets(p)
	return s.clients["redsync-goredis"].Pool
}

func TestThePoolIsTheSameForGivenMastersNearbyAndLocalOnes(t *testing.T) {
	near := pool(result.Local, 0)
	require.Equal(t, near, pool(result.Given, distant-1))
	require.Greater(t, pool(result.Given, distant), near)
	require.Greater(t, pool(result.Local, 0, faults.Fault{Kind: faults.Delay}), near)
}

func TestAPoolIsTheLargestOfTheSettingsOfASweep(t *testing.T) {
	s := &Session{Set: &masters.Set{Distance: distant}, clients: map[string]result.Client{}}
	for _, workers := range []int{1, 512, 2} {
		s.Targets(&plan.Plan{Settings: result.Settings{Config: bench.Config{Workers: workers}, Impls: []string{"redsync-goredis"}}})
	}
	require.Equal(t, 512, s.clients["redsync-goredis"].Pool)
}

func TestPasswordsAreNotKeptAndThatIsSaid(t *testing.T) {
	// Nothing listens there; the test needs only the plan and the document.
	var f plan.Flags
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Declare(fs, "muxlock", 1, "text")
	require.NoError(t, fs.Parse([]string{"--masters", "redis://user:secret@127.0.0.1:1", "--seed", "5"}))
	p, err := f.Plan("run")
	require.NoError(t, err)
	s := &Session{Set: &masters.Set{Kind: result.Given, Addrs: p.Masters.Given}}
	doc := s.document(p)
	require.True(t, doc.Config.MastersRedacted)
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret")
}
