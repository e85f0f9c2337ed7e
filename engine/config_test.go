package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

func TestBadConfigIsRefusedByTheFieldsName(t *testing.T) {
	many := make([]string, limits.Masters+1)
	for i := range many {
		many[i] = fmt.Sprintf("10.0.0.%d:6379", i)
	}
	for _, c := range []struct {
		field  string
		change func(*Config)
	}{
		{"Masters", func(c *Config) { c.Masters = nil }},
		{"Masters", func(c *Config) { c.Masters = []string{} }},
		{"Masters", func(c *Config) { c.Masters = many }},
		{"Masters[1]", func(c *Config) { c.Masters = []string{"a:1", ""} }},
		{"Masters[2]", func(c *Config) { c.Masters = []string{"a:1", "b:1", "a:1"} }},
		{"Masters[0]", func(c *Config) { c.Masters = []string{"no port"} }},
		{"Client.SelectDB", func(c *Config) { c.Client.SelectDB = -1 }},
		{"Client.ClientName", func(c *Config) { c.Client.ClientName = "two words" }},
		{"Client.ClientName", func(c *Config) { c.Client.ClientName = "ä" }},
		{"Masters[0].SelectDB", func(c *Config) { c.Masters = []string{"redis://a:1/-1"} }},
		{"Masters[0].ClientName", func(c *Config) { c.Masters = []string{"redis://a:1?client_name=two+words"} }},
		{"MasterTimeout", func(c *Config) { c.MasterTimeout = -1 }},
		{"MasterTimeout", func(c *Config) { c.MasterTimeout = time.Millisecond - 1 }},
		{"MasterTimeout", func(c *Config) { c.MasterTimeout = time.Minute + 1 }},
		{"MasterTimeout", func(c *Config) { c.MasterTimeout = math.MinInt64 }},
		{"MasterTimeout", func(c *Config) { c.MasterTimeout = math.MaxInt64 }},
		{"Drift", func(c *Config) { c.Drift = -0.01 }},
		{"Drift", func(c *Config) { c.Drift = math.NaN() }},
		{"Drift", func(c *Config) { c.Drift = math.Inf(1) }},
		{"Drift", func(c *Config) { c.Drift = math.Inf(-1) }},
		{"Drift", func(c *Config) { c.Drift = 0.5 }},
		{"MaxTTL", func(c *Config) { c.MaxTTL = -1 }},
		{"MaxTTL", func(c *Config) { c.MaxTTL = 1 }},
		{"MaxTTL", func(c *Config) { c.MaxTTL = math.MaxInt64 }},
		{"MaxTTL", func(c *Config) { c.TTL, c.MaxTTL = math.MaxInt64, math.MaxInt64 }},
		{"MaxTTL", func(c *Config) { c.MaxTTL = limits.TTL + 1 }},
		{"TTL", func(c *Config) { c.MaxTTL = 5 * time.Second }}, // below the default TTL
		{"TTL", func(c *Config) { c.TTL = -1 }},
		{"TTL", func(c *Config) { c.TTL = math.MinInt64 }},
		{"TTL", func(c *Config) { c.TTL = math.MaxInt64 }}, // MaxTTL is not set
		{"TTL", func(c *Config) { c.TTL = limits.TTL + 1 }},
		{"TTL", func(c *Config) { c.TTL = time.Millisecond - 1 }},
		{"TTL", func(c *Config) { c.TTL = 200 * time.Millisecond }}, // MasterTimeout eats it
		{"TTL", func(c *Config) { c.TTL, c.MaxTTL = 10*time.Second, 9*time.Second }},
		{"TTL", func(c *Config) { c.MasterTimeout = 10 * time.Second }},
		{"MaxAttempts", func(c *Config) { c.MaxAttempts = -1 }},
		{"RetryHeld", func(c *Config) { c.RetryHeld = -1 }},
		{"RetryHeld", func(c *Config) { c.RetryHeld = time.Hour }},
		{"RetrySplit", func(c *Config) { c.RetrySplit = -1 }},
		{"RetrySplit", func(c *Config) { c.RetrySplit = math.MaxInt64 }},
		{"Queue", func(c *Config) { c.Queue = -1 }},
	} {
		cfg := Config{Masters: []string{"a:1", "b:1", "c:1"}}
		c.change(&cfg)
		_, err := New(t.Context(), cfg)
		require.ErrorIs(t, err, ErrInvalid, "%s: %+v", c.field, cfg)
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
		require.True(t, strings.EqualFold(c.field, invalid.Field), invalid.Field)
	}
}

func TestSettingUpLooksAtTheFieldsThatItUsesAndAtNoOther(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"TTL":           func(c *Config) { c.TTL = -1 },
		"TTL, longer":   func(c *Config) { c.TTL = time.Hour },
		"Prefix":        func(c *Config) { c.Prefix = pipeline.ReservedPrefix },
		"Holder":        func(c *Config) { c.Holder = "\n" },
		"MastersAreNew": func(c *Config) { c.Fencing, c.MastersAreNew = true, true },
		"MaxAttempts":   func(c *Config) { c.MaxAttempts = -1 },
		"RetryHeld":     func(c *Config) { c.RetryHeld = -1 },
		"RetrySplit":    func(c *Config) { c.RetrySplit = -1 },
		"HandOverTime":  func(c *Config) { c.HandOverTime = -1 },
		"Queue":         func(c *Config) { c.Queue = -1 },
	} {
		cfg := Config{Masters: []string{"a:1", "b:1", "c:1"}, MaxTTL: 5 * time.Second}
		change(&cfg)
		s, err := cfg.setup()
		require.NoError(t, err, field)
		require.Equal(t, 5*time.Second, s.MaxTTL, field)
		require.Equal(t, defaultMasterTimeout, s.Timeout, field)
		require.Equal(t, redlock.RestartWait(5*time.Second, redlock.DefaultDrift), s.Wait, field)
	}
	for field, change := range map[string]func(*Config){
		"Masters":       func(c *Config) { c.Masters = nil },
		"Client":        func(c *Config) { c.Client.InitAddress = []string{"a:1"} },
		"MaxTTL":        func(c *Config) { c.MaxTTL = -1 },
		"MasterTimeout": func(c *Config) { c.MasterTimeout = -1 },
		"Drift":         func(c *Config) { c.Drift = -1 },
	} {
		cfg := Config{Masters: []string{"a:1", "b:1", "c:1"}}
		change(&cfg)
		_, err := cfg.setup()
		require.ErrorIs(t, err, ErrInvalid, field)
		require.ErrorContains(t, err, field)
	}
	s, err := Config{Masters: []string{"a:1"}, TTL: time.Minute}.setup()
	require.NoError(t, err)
	require.Equal(t, time.Minute, s.MaxTTL, "as New has it")
}

func TestZeroConfigMeansTheDocumentedDefaults(t *testing.T) {
	cfg := Config{Masters: []string{"a:1"}}.withDefaults()
	require.NoError(t, cfg.validate())
	require.Equal(t, Config{
		Masters: []string{"a:1"}, TTL: 10 * time.Second, MaxTTL: 30 * time.Second, MasterTimeout: 200 * time.Millisecond,
		Drift: 0.01, RetryHeld: 25 * time.Millisecond, RetrySplit: 2 * time.Millisecond, HandOverTime: 20 * time.Millisecond, Queue: 65536,
	}, cfg)
	long := Config{Masters: []string{"a:1"}, TTL: time.Hour}.withDefaults()
	require.NoError(t, long.validate())
	require.Equal(t, time.Hour, long.MaxTTL)
	eager := Config{Masters: []string{"a:1"}, RetryHeld: time.Millisecond}.withDefaults()
	require.NoError(t, eager.validate())
	require.Equal(t, time.Millisecond, eager.RetrySplit)
	require.NoError(t, Config{Masters: []string{"a:1"}, TTL: limits.TTL}.withDefaults().validate())
}

func TestLeaseIsWholeMillisecondsWithValidityLeft(t *testing.T) {
	cfg := Config{}.withDefaults()
	shortest := time.Duration(0)
	for ms := time.Duration(1); ; ms++ {
		if _, err := cfg.lease(ms * time.Millisecond); err == nil {
			shortest = ms * time.Millisecond
			break
		}
	}
	require.Equal(t, 205*time.Millisecond, shortest, "200 for MasterTimeout, 2.05 for drift, 2 for rounding")
	for _, c := range []struct{ ttl, want time.Duration }{
		{0, 10 * time.Second},
		{shortest, shortest},
		{shortest + time.Millisecond - 1, shortest},
		{time.Second + 1, time.Second},
		{30 * time.Second, 30 * time.Second},
		{shortest - 1, 0},
		{1, 0},
		{time.Millisecond - 1, 0},
		{time.Millisecond, 0},
		{-1, 0},
		{-time.Hour, 0},
		{30*time.Second + 1, 0},
		{math.MaxInt64, 0},
		{math.MinInt64, 0},
	} {
		got, err := cfg.lease(c.ttl)
		require.Equal(t, c.want, got, "%v", c.ttl)
		if c.want == 0 {
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "ttl")
			continue
		}
		require.NoError(t, err)
		require.Positive(t, redlock.Validity(got, cfg.MasterTimeout, cfg.Drift))
	}
}

func TestNamesAreAnyBytesButBoundedAndNotReserved(t *testing.T) {
	for _, name := range []string{
		"x", "\x00", "\r\n", "\xff", "{a}", "}{", strings.Repeat("x", limits.NameBytes), strings.Repeat("\xff", limits.NameBytes),
		"__muxlock__", "__muxlock_:", " " + pipeline.ReservedPrefix,
	} {
		key, err := (&Config{}).key(name)
		require.NoError(t, err, "%q", name)
		require.Equal(t, name, key)
	}
	for _, name := range []string{"", strings.Repeat("x", limits.NameBytes+1), strings.Repeat("x", 1<<20), pipeline.ReservedPrefix, pipeline.ReservedPrefix + "x"} {
		_, err := (&Config{}).key(name)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, "name")
		require.Less(t, len(err.Error()), 200, "a huge name is not repeated")
	}
}

func TestErrorsShowTheirKindAndCauses(t *testing.T) {
	cause := fmt.Errorf("cause")
	for _, kind := range []error{ErrTaken, ErrNoQuorum, ErrExpired} {
		e := &AttemptError{Kind: kind, op: anAcquire, Masters: 5, Granted: 1, Refused: 2, Unknown: 2,
			Causes: []MasterError{{Master: "a:1", Err: cause}, {Master: "b:1", Err: cause}}}
		require.ErrorIs(t, e, kind)
		require.ErrorIs(t, e, ErrNotAcquired)
		require.ErrorIs(t, e, cause)
		require.Equal(t, kind.Error()+": of 5 masters 1 granted, 2 refused, 2 unknown (a:1: cause; b:1: cause)", e.Error())
		for _, other := range slices.DeleteFunc([]error{ErrTaken, ErrNoQuorum, ErrExpired}, func(o error) bool { return errors.Is(o, kind) }) {
			require.NotErrorIs(t, e, other)
		}
	}
	require.NotErrorIs(t, &AttemptError{Kind: ErrLost}, ErrNotAcquired)
	require.EqualError(t, &AttemptError{Kind: ErrNotHeld, op: aRelease, Masters: 5, Granted: 2, Refused: 3},
		"muxlock: lock is not held: of 5 masters 2 deleted it, 3 had it no more, 0 unknown")
	require.EqualError(t, &AttemptError{Kind: ErrNoQuorum, op: anAcquire, Masters: 5, Granted: 1, Unknown: 3},
		"muxlock: no quorum of masters: of 5 masters 1 granted, 0 refused, 3 unknown, 1 not waited for")
}

func TestValidateFindsWhatNewWouldWithoutAskingAnybody(t *testing.T) {
	require.NoError(t, Config{Masters: []string{"nobody.invalid:1"}}.Validate("a", "b"))
	for want, names := range map[string][]string{"too": {"a", "a"}, "reserved prefix": {"a", "lock__:x"}, "has 513 bytes": {strings.Repeat("x", limits.NameBytes-4)}} {
		err := Config{Masters: []string{"nobody.invalid:1"}, Prefix: "__mux"}.Validate(names...)
		require.ErrorIs(t, err, ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	for want, cfg := range map[string]Config{
		"Masters is empty":   {},
		"RetryHeld 2m":       {Masters: []string{"a:1"}, RetryHeld: 2 * time.Minute},
		"leaves no validity": {Masters: []string{"a:1"}, TTL: 100 * time.Millisecond},
		"99999":              {Masters: []string{"a:99999"}},
		"same server":        {Masters: []string{"a:1", "a:1"}},
		"Client":             {Masters: []string{"a:1"}, Client: rueidis.ClientOption{InitAddress: []string{"b:2"}}},
	} {
		err := cfg.Validate()
		require.ErrorIs(t, err, ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
}

func TestHolderIsPrintableAndShort(t *testing.T) {
	for text, bad := range map[string]bool{
		"": false, "web-7/4211 worker": false, "日本": false, strings.Repeat("x", limits.HolderBytes): false,
		strings.Repeat("x", 65): true, "a\nb": true, "a\x1b[31m": true, "\xff": true, "a\u202eb": true, "\u2028": true, "\x00": true,
	} {
		err := Config{Masters: []string{"a:1"}, Holder: text}.withDefaults().validate()
		if bad {
			require.ErrorIs(t, err, ErrInvalid, "%q", text)
			require.ErrorContains(t, err, "Holder")
			continue
		}
		require.NoError(t, err, "%q", text)
	}
}

func TestTheWaitCoversTheLongestLeaseAndTheClocks(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want time.Duration
	}{
		{Config{}, 31302*time.Millisecond + 1},
		{Config{MaxTTL: time.Minute, Drift: 0.1}, 67002*time.Millisecond + 1},
		{Config{TTL: time.Hour}, time.Hour + 36*time.Second + 1002*time.Millisecond + 1},
		{Config{MastersAreNew: true}, 31302*time.Millisecond + 1},
	} {
		cfg := c.cfg.withDefaults()
		require.Equal(t, c.want, cfg.restartWait(), "%+v", c.cfg)
	}
}
