package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
)

func TestASweepRefusesWhatItCannotDoBeforeItStarts(t *testing.T) {
	requireRefused(t, map[string]string{
		"sweep":                                                    "--param",
		"sweep --param":                                            "--param",
		"sweep --param workers":                                    "--param",
		"sweep --param workers=":                                   "--param",
		"sweep --param seed=1,2":                                   "--param",
		"sweep --param workers=1,,2":                               "--workers",
		"sweep --param workers=1,1":                                "twice",
		"sweep --param workers=0,1":                                "--workers",
		"sweep --param workers=many":                               "--workers",
		"sweep --param workers=1..":                                "FROM..TOxFACTOR",
		"sweep --param workers=1..8":                               "FROM..TOxFACTOR",
		"sweep --param workers=1..8x1":                             "FROM..TOxFACTOR",
		"sweep --param workers=0..8x2":                             "FROM..TOxFACTOR",
		"sweep --param workers=8..1x2":                             "FROM..TOxFACTOR",
		"sweep --param dist=own..zipf:1x":                          "FROM..TOxFACTOR",
		"sweep --param workers=1..1Mx1.0001":                       "more than 200",
		"sweep --param workers=1 --workers 3":                      "exclude each other",
		"sweep --param workers=1 --param workers=2":                "--param",
		"sweep --param ttl=1s,10ms --hold 20ms":                    "--param ttl=10ms: --hold",
		"sweep --param masters=1,3 --masters a:1":                  "--masters",
		"sweep --param masters=1,3 --local 3":                      "exclude each other",
		"sweep --param masters=1,300":                              "--local",
		"sweep --param masters=3,1 --fault stop:2":                 "--param masters=1: --fault",
		"sweep --param rate=1k,2k --impl raw":                      "--rate",
		"sweep --param workers=1 --rounds 0":                       "--rounds",
		"sweep --find-max --slo response.p99<5ms":                  "instead: sweep --param rate=1000..128000x2 --slo",
		"sweep --param rate=1,2 --slo fast":                        "--slo",
		"sweep --param rate=1,2 --slo response.p99<5ms --rounds 1": "--rounds",
		"sweep --param rate=1,2 --slo response.p99<5ms --op hold":  "--rate",
		"sweep --param rate=1,2 --slo handover.p50<5ms":            "--slo",
	})
}

// Package session tries their order.
func TestASweepSumsItsSettingsUp(t *testing.T) {
	doc, stderr := made(t, steady, "sweep --param masters=1,3 --impl noop,redislock --rounds 2 --workers 2 --seed 5")
	require.Contains(t, stderr, "8 runs")
	require.Contains(t, stderr, "masters=3")
	require.Equal(t, []int{1, 3}, []int{doc.Results[0].Masters, doc.Results[2].Masters})
	require.Empty(t, doc.Relative)
	require.Len(t, doc.Config.Masters, 3)
	require.Len(t, doc.Sweep.Points, 4)
	require.Equal(t, [][]int{{0, 7}, {3, 4}}, [][]int{doc.Sweep.Points[0].Results, doc.Sweep.Points[3].Results})
}

func TestASweepOfRatesShowsWhereTheyAreNotMetAndIsNoFailure(t *testing.T) {
	unmet := loads(func(impl string, cfg bench.Config) *bench.Result {
		r := steady(impl, cfg)
		if cfg.Rate > 200 {
			r.Invalidate(bench.ReasonRate, "")
		}
		return r
	})
	stdout, stderr, code := within(t, unmet.open, words("sweep --impl redislock --param rate=200,1M")...)
	require.Zero(t, code, stderr)
	require.Regexp(t, `rate +impl +cycles/s +response p50`, stdout)
	require.Contains(t, stdout, "NOT VALID redislock  rate=1M: rate not met")
	_, stderr, code = within(t, unmet.open, words("run --impl redislock --rate 1M")...)
	require.Equal(t, exitNotValid, code, stderr)
}
