package bench

import (
	"strconv"
	"strings"
)

// Dist is the distribution of operations over lock names.
type Dist struct {
	kind distKind
	s    float64 // exponent of zipf
	hot  float64 // hotspot: share of the names that are hot
	heat float64 // hotspot: share of the operations on hot names
}

type distKind uint8

const (
	distOwn distKind = iota
	distUniform
	distZipf
	distHotspot
)

const maxZipf = 20 // a larger exponent draws rank 1 every time

// Uniform draws every name equally often.
func Uniform() Dist { return Dist{kind: distUniform} }

// Zipf draws the name of rank k with a probability proportional to k^-s, for any s above 0.
func Zipf(s float64) Dist { return Dist{kind: distZipf, s: s} }

// Hotspot gives a share of the operations to a share of the names, rounded up to whole
// names. Within both groups every name is drawn equally often. Both shares are above 0 and
// below 1.
func Hotspot(names, operations float64) Dist {
	return Dist{kind: distHotspot, hot: names, heat: operations}
}

// valid reports whether the parameters make sense.
func (d Dist) valid() bool {
	share := func(x float64) bool { return x > 0 && x < 1 }
	switch d.kind {
	case distZipf:
		return d.s > 0 && d.s <= maxZipf
	case distHotspot:
		return share(d.hot) && share(d.heat)
	}
	return true
}

func (d Dist) String() string {
	switch d.kind {
	case distUniform:
		return "uniform"
	case distZipf:
		return "zipf:" + decimal(d.s)
	case distHotspot:
		return "hotspot:" + decimal(d.hot) + "," + decimal(d.heat)
	default:
		return "own"
	}
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// MarshalText and UnmarshalText make a Dist a JSON string and a flag value.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads own, uniform, zipf:S (zipf:0.99) or hotspot:F,P. hotspot:0.01,0.9
// gives nine tenths of the operations to a hundredth of the names.
func (d *Dist) UnmarshalText(b []byte) error {
	name, arg, _ := strings.Cut(string(b), ":")
	switch {
	case string(b) == "own":
		*d = Dist{}
		return nil
	case string(b) == "uniform":
		*d = Uniform()
		return nil
	case name == "zipf":
		s, err := strconv.ParseFloat(arg, 64)
		if *d = Zipf(s); err == nil && d.valid() {
			return nil
		}
	case name == "hotspot":
		names, operations, _ := strings.Cut(arg, ",")
		f, err1 := strconv.ParseFloat(names, 64)
		p, err2 := strconv.ParseFloat(operations, 64)
		if *d = Hotspot(f, p); err1 == nil && err2 == nil && d.valid() {
			return nil
		}
	}
	return wrong("Dist", "dist", "must be own, uniform, zipf:S with S above 0 and at most %d, or hotspot:F,P with both above 0 and below 1, got %q", maxZipf, b)
}
