package bench

import (
	"errors"
	"strconv"
	"strings"
)

// Dist is the distribution of operations over lock names.
type Dist struct {
	kind distKind
	args [2]float64 // as many as distKinds says
}

type distKind uint8

const (
	distOwn distKind = iota
	distUniform
	distZipf    // the exponent
	distHotspot // share of the names that are hot, share of the operations on hot names
)

var distKinds = [...]struct {
	name string
	args int
}{distOwn: {"own", 0}, distUniform: {"uniform", 0}, distZipf: {"zipf", 1}, distHotspot: {"hotspot", 2}}

const maxZipf = 20 // a larger exponent draws rank 1 every time

// Uniform draws every name equally often.
func Uniform() Dist { return Dist{kind: distUniform} }

// Zipf draws the name of rank k with a probability proportional to k^-s, for any s above 0.
func Zipf(s float64) Dist { return Dist{distZipf, [2]float64{s}} }

// valid reports whether the parameters make sense.
func (d Dist) valid() bool {
	for _, x := range d.args[:distKinds[d.kind].args] {
		if !(x > 0 && x <= maxZipf && (x < 1 || d.kind == distZipf)) {
			return false
		}
	}
	return true
}

func (d Dist) String() string {
	var args []string
	for _, x := range d.args[:distKinds[d.kind].args] {
		args = append(args, decimal(x))
	}
	if args == nil {
		return distKinds[d.kind].name
	}
	return distKinds[d.kind].name + ":" + strings.Join(args, ",")
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// MarshalText and UnmarshalText make a Dist a JSON string and a flag value.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads own, uniform, zipf:S (zipf:0.99) or hotspot:F,P. hotspot:0.01,0.9
// gives nine tenths of the operations to a hundredth of the names, rounded up to whole names.
// Within both groups every name is drawn equally often.
func (d *Dist) UnmarshalText(b []byte) error {
	name, list, some := strings.Cut(string(b), ":")
	var args []string
	if some {
		args = strings.Split(list, ",")
	}
	for kind, k := range distKinds {
		if k.name != name || k.args != len(args) {
			continue
		}
		*d = Dist{kind: distKind(kind)}
		var errs [2]error
		for i, arg := range args {
			d.args[i], errs[i] = strconv.ParseFloat(arg, 64)
		}
		if errors.Join(errs[:]...) == nil && d.valid() {
			return nil
		}
	}
	return wrong("Dist", "dist", "must be own, uniform, zipf:S with S above 0 and at most %d, or hotspot:F,P with both above 0 and below 1, got %q", maxZipf, b)
}
