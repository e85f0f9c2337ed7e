package bench

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func good() Config {
	return Config{Workers: 2, Keys: 4, Duration: time.Second, TTL: time.Second}
}

func TestValidateNamesFieldAndFlag(t *testing.T) {
	require.NoError(t, good().Validate())
	for _, c := range []struct {
		field, flag string
		spoil       func(*Config)
	}{
		{"Workers", "--workers", func(c *Config) { c.Workers = 0 }},
		{"Workers", "--workers", func(c *Config) { c.Workers = maxWorkers + 1 }},
		{"Keys", "--keys", func(c *Config) { c.Dist, c.Keys = Uniform(), 0 }},
		{"Keys", "--keys", func(c *Config) { c.Dist, c.Keys = Zipf(1), maxKeys+1 }},
		{"Dist", "--dist", func(c *Config) { c.Dist = Zipf(0) }},
		{"Dist", "--dist", func(c *Config) { c.Dist = Zipf(math.NaN()) }},
		{"Dist", "--dist", func(c *Config) { c.Dist = Hotspot(1, 0.5) }},
		{"Keys", "--keys", func(c *Config) { c.Dist, c.Keys = Hotspot(0.1, 0.9), 0 }},
		{"Hold", "--hold", func(c *Config) { c.Hold = Fixed(-1) }},
		{"Hold", "--hold", func(c *Config) { c.Hold = Lognormal(1, maxSigma+1) }},
		{"Think", "--think", func(c *Config) { c.Think = Fixed(-1) }},
		{"Think", "--think", func(c *Config) { c.Think, c.Rate = Fixed(1), 1 }},
		{"Rate", "--rate", func(c *Config) { c.Rate = -1 }},
		{"Rate", "--rate", func(c *Config) { c.Rate = MaxRate + 1 }},
		{"Rate", "--rate", func(c *Config) { c.Rate = math.NaN() }},
		{"Rate", "--rate", func(c *Config) { c.Rate = math.Nextafter(MinRate, 0) }},
		{"Arrivals", "--arrivals", func(c *Config) { c.Arrivals = "bursty" }},
		{"Duration", "--duration", func(c *Config) { c.Duration = 0 }},
		{"Warmup", "--warmup", func(c *Config) { c.Warmup = -1 }},
		{"TTL", "--ttl", func(c *Config) { c.TTL = minTTL - 1 }},
		{"Wait", "--wait", func(c *Config) { c.Wait = -1 }},
		{"Dist", "--dist", func(c *Config) { c.Op, c.Dist = Hold, Uniform() }},
		{"Hold", "--hold", func(c *Config) { c.Op, c.Hold = Hold, Fixed(1) }},
		{"Think", "--think", func(c *Config) { c.Op, c.Think = Hold, Fixed(1) }},
		{"Keys", "--keys", func(c *Config) { c.Op, c.Keys = Hold, 0 }},
		{"Rate", "--rate", func(c *Config) { c.Op, c.Rate = Hold, 1 }},
		{"Workers", "--workers", func(c *Config) { c.Op, c.Workers = Many(1000), maxKeys/1000+1 }},
		{"Workers", "--workers", func(c *Config) { c.Op, c.Workers, c.Procs = All(1000), maxKeys/2000+1, 2 }},
		{"Keys", "--keys", func(c *Config) { c.Op, c.Dist, c.Keys = Permit(64), Uniform(), maxKeys }},
		{"Keys", "--keys", func(c *Config) { c.History, c.Dist, c.Keys, c.Procs = 1000, Uniform(), spreadNames, 4 }},
		{"Procs", "--procs", func(c *Config) { c.Procs = -1 }},
		{"Procs", "--procs", func(c *Config) { c.Procs = maxProcs + 1 }},
		{"Procs", "--procs", func(c *Config) { c.Procs, c.Workers = 2, maxWorkers/2+1 }},
	} {
		cfg := good()
		c.spoil(&cfg)
		err := cfg.Validate()
		require.ErrorIs(t, err, ErrConfig, c.field)
		require.ErrorContains(t, err, c.flag+" ")
		wrong := (*ConfigError)(nil)
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, c.field, wrong.Field)
	}
}

func TestLimitsThemselvesAreAccepted(t *testing.T) {
	for _, c := range []Config{
		{Dist: Uniform(), Keys: maxKeys, Workers: 1, Rate: MinRate},
		{Op: All(64), Workers: maxWorkers, Rate: MaxRate},
		{Op: Permit(5), Dist: Uniform(), Keys: 10_000_000, Workers: 1},
		{Op: Hold, Workers: maxWorkers / maxProcs, Procs: maxProcs, Keys: 1},
		{History: 1, Dist: Uniform(), Workers: 1, Keys: spreadNames},
	} {
		c.Duration, c.TTL = 1, minTTL
		require.NoError(t, c.Validate())
	}
}

func TestParsersReadWhatTheyPrintAndRefuseTheRest(t *testing.T) {
	for _, s := range []string{"own", "uniform", "zipf:0.99", "zipf:1", "zipf:1.5", "hotspot:0.01,0.9"} {
		var d Dist
		require.NoError(t, d.UnmarshalText([]byte(s)))
		require.Equal(t, s, d.String())
	}
	for _, s := range []string{"", "zipf", "zipf:", "zipf:0", "zipf:-1", "zipf:NaN", "zipf:21", "uniform:1", "hot",
		"hotspot", "hotspot:", "hotspot:0.1", "hotspot:0,0.5", "hotspot:0.1,1", "hotspot:1,0.1", "hotspot:NaN,0.5", "hotspot:0.1,0.9,1", "own:", "zipf,1",
	} {
		require.ErrorIs(t, new(Dist).UnmarshalText([]byte(s)), ErrConfig, s)
	}
}

func TestConfigSurvivesJSON(t *testing.T) {
	cfg := good()
	cfg.Dist, cfg.Hold = Hotspot(0.1, 0.9), Lognormal(time.Millisecond, 0.5)
	cfg.Op = mixOf(t, "mix:try=8,acquire-release=92")
	b, err := json.Marshal(cfg)
	require.NoError(t, err)
	require.Contains(t, string(b), `"dist":"hotspot:0.1,0.9"`)
	require.Contains(t, string(b), `"hold":"lognormal:1ms,0.5"`)
	require.Contains(t, string(b), `"op":"mix:acquire-release=92,try=8"`)
	var back Config
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, cfg, back)
}
