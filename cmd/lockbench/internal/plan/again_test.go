package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
)

func TestTheCommandLineDoesItAgain(t *testing.T) {
	c := result.Config{
		Masters: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, Command: "compare", Target: "local",
		Args: []string{"--impl=muxlock,redislock", "--workers=64", "--hold=exp:2ms", "--duration=30s", "--fault=stop:2@12s-20s", "--slo=acquire.p99<5ms", "--slo=it's"},
	}
	line := Again(result.Document{Config: c})
	require.Equal(t, "lockbench compare --local 3 --impl muxlock,redislock --workers 64 --hold exp:2ms --duration 30s --fault stop:2@12s-20s "+
		`--slo 'acquire.p99<5ms' --slo 'it'\''s'`, line)
	c.Target, c.Masters, c.MastersRedacted = "given", []string{"redis://h:1"}, true
	require.Contains(t, Again(result.Document{Config: c}), "--masters redis://h:1")
}

func TestAnAdviceOnAnEarlierRunSaysBoth(t *testing.T) {
	doc := result.Document{Config: result.Config{Command: "run", Target: "embedded", Masters: []string{"m:1"}, Args: []string{"--workers=9"}}}
	doc.Advice = &result.Advice{Args: []string{"--eps=0.001"}}
	require.Equal(t, "lockbench run --embedded 1 --workers 9 -o json --out result.json\nlockbench advise result.json --eps 0.001", Again(doc))
	doc.Config.Command = "advise"
	require.Equal(t, "lockbench advise --embedded 1 --eps 0.001", Again(doc))
}
