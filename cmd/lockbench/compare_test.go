package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

// scaled writes a result file of six rounds in which all is as many times as fast.
func scaled(t *testing.T, dir, name string, times float64) string {
	t.Helper()
	doc := documentOf(bench.Dist{}, 0)
	for i, noise := range []float64{1, 1.01, 0.99, 1.005, 0.995, 1.002} {
		ns := int64(1e6 / times / noise)
		s := &bench.Summary{Unit: "ns", Count: 5000, P: map[string]int64{"50": ns, "90": ns, "99": ns, "99.9": ns, "99.99": ns}}
		doc.Results = append(doc.Results, &bench.Result{
			Impl: "redislock", Round: i + 1, ThroughputPerS: 1000 * times * noise,
			Latency: bench.Latencies{Service: s, Acquire: s, Release: s, Cycle: s}, Valid: bench.Valid{OK: true, Reasons: []string{}},
		})
	}
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, result.JSON(f, doc))
	return path
}

func TestCompareOfFilesTellsARegressionByItsExitCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, slow, fast := scaled(t, dir, "old.json", 1), scaled(t, dir, "slow.json", 0.8), scaled(t, dir, "fast.json", 1.5)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{old, old}, exitOK, "redislock 1.00x"},
		{[]string{old, fast}, exitOK, "1.50x"},
		{[]string{old, slow}, exitRegression, "REGRESSION"},
		{[]string{old, slow, "--regression", "30%"}, exitOK, "0.80x"},
		{[]string{old, slow, "-o", "json"}, exitRegression, `"regression": "throughput is 0.800 times what it was"`},
	} {
		stdout, stderr, code := lockbench(t, append([]string{"compare"}, c.args...)...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, flat(stdout), c.want)
	}
	for want, args := range map[string][]string{
		"it takes two":             {old},
		"to compare files":         {old, slow, fast},
		"--workers has no meaning": {old, slow, "--workers", "3"},
		"-o must be":               {old, slow, "-o", "bench"},
		"--regression":             {old, slow, "--regression", "-1%"},
		"needs two result files":   {"--regression", "5%"},
	} {
		_, stderr, code := lockbench(t, append([]string{"compare"}, args...)...)
		require.Equal(t, exitUsage, code, stderr)
		require.Contains(t, stderr, want)
	}
}

func TestAComparisonOfFilesBecomesAPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, slow, page := scaled(t, dir, "old.json", 1), scaled(t, dir, "slow.json", 0.8), filepath.Join(dir, "page.html")
	stdout, stderr, code := lockbench(t, "compare", old, slow, "--html", page)
	require.Equal(t, exitRegression, code, stderr)
	require.Contains(t, stdout, "REGRESSION", "the text is there as well")
	html := read(t, page)
	for _, want := range []string{"<h1>lockbench compare: " + slow + " beside " + old, `<td>0.80x [0.80..0.80]</td><td>1.25x [1.25..1.25]</td>`, `<td class="bad">REGRESSION</td>`} {
		require.Contains(t, html, want)
	}
	_, stderr, code = lockbench(t, "report", page)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "is of lockbench, but holds no results")
}
