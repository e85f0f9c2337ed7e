package bench

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Span is a distribution of times, from which each operation draws. The zero value always
// draws 0.
type Span struct {
	kind  spanKind
	scale time.Duration // fixed: the time; exp: the mean; lognormal: the median
	sigma float64       // lognormal: deviation of the logarithms
	of    *sampled      // sampled: the times
}

type spanKind uint8

const (
	spanFixed spanKind = iota
	spanExp
	spanLognormal
	spanSampled
)

const (
	maxSigma = 5                    // beyond it one draw in millions makes half of the mean
	maxSpan  = 365 * 24 * time.Hour // no draw is longer
)

// Fixed always draws d.
func Fixed(d time.Duration) Span { return Span{scale: d} }

// Exp draws exponential times: most are short, a few are many times the mean.
func Exp(mean time.Duration) Span { return Span{kind: spanExp, scale: mean} }

// Lognormal draws times whose logarithms are normal with deviation sigma, like the times of
// much real work. A larger sigma makes the tail longer: one time in 44 exceeds
// median * e^(2 sigma).
func Lognormal(median time.Duration, sigma float64) Span {
	return Span{kind: spanLognormal, scale: median, sigma: sigma}
}

// ParseSpan reads a duration (1ms, the same as fixed:1ms, or 0), exp:MEAN, or
// lognormal:MEDIAN,SIGMA. Parentheses may replace the colon: lognormal(5ms,1). It opens no
// file: see Sampled.
func ParseSpan(text string) (Span, error) {
	if list, ok := strings.CutPrefix(text, sampledWord); ok {
		return parseSampled(list)
	}
	name, args := spanWords(text)
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return Span{}, badSpan(text)
	}
	if d < 0 {
		return Span{}, wrong("", "", "a span must not be negative, got %s", d)
	}
	switch {
	case name == "fixed" && len(args) == 1:
		return Fixed(d), nil
	case name == "exp" && len(args) == 1:
		return Exp(d), nil
	case name == "lognormal" && len(args) == 2:
		sigma, err := strconv.ParseFloat(args[1], 64)
		if s := Lognormal(d, sigma); err == nil && s.valid() {
			return s, nil
		}
	}
	return Span{}, badSpan(text)
}

func (s Span) valid() bool { return s.scale >= 0 && s.sigma >= 0 && s.sigma <= maxSigma }

// spanWords splits name:a,b or name(a,b). A bare time is fixed. args is never empty.
func spanWords(text string) (name string, args []string) {
	name, rest, found := strings.Cut(text, ":")
	if inner, closed := strings.CutSuffix(text, ")"); closed && !found {
		name, rest, found = strings.Cut(inner, "(")
	}
	if !found {
		name, rest = "fixed", text
	}
	return name, strings.Split(rest, ",")
}

func badSpan(text string) error {
	return wrong("", "", "a span must be a duration such as 1ms, or exp:1ms, or lognormal:1ms,SIGMA with SIGMA from 0 to %d, got %.80q", maxSigma, text)
}

// Mean returns the mean of the draws.
func (s Span) Mean() time.Duration {
	switch s.kind {
	case spanLognormal:
		return spanOf(float64(s.scale) * math.Exp(s.sigma*s.sigma/2))
	case spanSampled:
		return s.of.mean
	}
	return s.scale
}

func (s Span) String() string {
	switch s.kind {
	case spanExp:
		return "exp:" + s.scale.String()
	case spanLognormal:
		return "lognormal:" + s.scale.String() + "," + decimal(s.sigma)
	case spanSampled:
		return sampledFileWord + s.of.source
	}
	return s.scale.String()
}

// MarshalText and UnmarshalText make a Span a JSON string and a flag value. The text is
// complete: it draws the same times again.
func (s Span) MarshalText() ([]byte, error) {
	if s.kind == spanSampled {
		return []byte(s.of.text()), nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText is ParseSpan.
func (s *Span) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSpan(string(b))
	return err
}

// draw returns the time for one operation.
func (s Span) draw(r *rand.Rand) time.Duration {
	switch s.kind {
	case spanExp:
		return spanOf(float64(s.scale) * r.ExpFloat64())
	case spanLognormal:
		return spanOf(float64(s.scale) * math.Exp(s.sigma*r.NormFloat64()))
	case spanSampled:
		return s.of.sorted[r.IntN(len(s.of.sorted))]
	}
	return s.scale
}

func spanOf(ns float64) time.Duration { return time.Duration(min(ns, float64(maxSpan))) }

// Sampler draws the same times for the same seed and stream. Streams of one seed are
// independent. Not safe for concurrent use.
func (s Span) Sampler(seed, stream uint64) func() time.Duration {
	r := newRNG(seed, stream)
	return func() time.Duration { return s.draw(r) }
}
