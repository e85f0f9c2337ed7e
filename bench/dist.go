package bench

import (
	"strconv"
	"strings"
)

// Dist is the distribution of operations over lock names.
type Dist struct {
	kind distKind
	s    float64 // exponent of zipf
}

type distKind uint8

const (
	distOwn distKind = iota
	distUniform
	distZipf
)

const maxZipf = 20 // beyond it every draw is rank 1

// Uniform draws every name equally often.
func Uniform() Dist { return Dist{kind: distUniform} }

// Zipf draws the name of rank k with a probability proportional to k^-s; any s
// above 0 is good.
func Zipf(s float64) Dist { return Dist{kind: distZipf, s: s} }

// ParseDist reads own, uniform or zipf:S, for example zipf:0.99.
func ParseDist(text string) (Dist, error) {
	name, arg, found := strings.Cut(text, ":")
	switch {
	case text == "own":
		return Dist{}, nil
	case text == "uniform":
		return Uniform(), nil
	case name == "zipf" && found:
		s, err := strconv.ParseFloat(arg, 64)
		if err == nil && s > 0 && s <= maxZipf {
			return Zipf(s), nil
		}
	}
	return Dist{}, wrong("Dist", "dist", "must be own, uniform or zipf:S with S above 0 and at most %d, got %q", maxZipf, text)
}

func (d Dist) String() string {
	switch d.kind {
	case distUniform:
		return "uniform"
	case distZipf:
		return "zipf:" + strconv.FormatFloat(d.s, 'g', -1, 64)
	default:
		return "own"
	}
}

// MarshalText and UnmarshalText make a Dist a JSON string and a flag value.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDist reads.
func (d *Dist) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDist(string(b))
	return err
}
