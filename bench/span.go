package bench

import (
	"fmt"
	"strings"
	"time"
)

// A Span is a length of time that each operation draws anew. The zero value is no
// time at all.
type Span struct {
	mean time.Duration
	exp  bool // exponential; else always mean
}

// Fixed is the Span that is always d.
func Fixed(d time.Duration) Span { return Span{mean: d} }

// Exp draws exponential times: mostly short ones and a few of many times the mean.
func Exp(mean time.Duration) Span { return Span{mean, true} }

// ParseSpan reads a duration, such as 1ms, or 0, or exp:MEAN.
func ParseSpan(s string) (Span, error) {
	text, exp := strings.CutPrefix(s, "exp:")
	d, err := time.ParseDuration(text)
	if err != nil {
		return Span{}, fmt.Errorf("%w: a span must be a duration such as 1ms, or exp:1ms, got %q", ErrConfig, s)
	}
	if d < 0 {
		return Span{}, fmt.Errorf("%w: a span must not be negative, got %s", ErrConfig, d)
	}
	return Span{d, exp}, nil
}

// Mean is the mean of the draws.
func (s Span) Mean() time.Duration { return s.mean }

func (s Span) String() string {
	if s.exp {
		return "exp:" + s.mean.String()
	}
	return s.mean.String()
}

// MarshalText and UnmarshalText make a Span a JSON string and a flag value.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSpan reads.
func (s *Span) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSpan(string(b))
	return err
}

// draw is the time for one operation.
func (s Span) draw(r *rng) time.Duration {
	if s.exp {
		return time.Duration(float64(s.mean) * r.exp())
	}
	return s.mean
}
