package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"muxlock/internal/limits"
)

// Op is what a worker does in one operation, or a mix from which each operation draws. The
// zero value is AcquireRelease.
type Op struct {
	kind    opKind
	number  int         // of a numbered operation
	weights [opHold]int // of opMix and opReadWrite, by the kind that is drawn for each operation
}

// opKind says what one operation does.
type opKind uint8

const (
	opAcquireRelease opKind = iota
	opTry
	opExtend // acquire, extend half way through the hold, release; only in a mix
	opRead   // only in opReadWrite, beside opAcquireRelease
	opHold
	opMix
	opAll
	opMany
	opReadWrite
	opPermit
)

// The operations other than mixes.
var (
	AcquireRelease = Op{kind: opAcquireRelease} // Acquire, hold, Release
	Try            = Op{kind: opTry}            // TryAcquire; if it succeeds: hold, Release; if it is refused: see Config.Think
	Hold           = Op{kind: opHold}           // Acquire a share of Keys, keep all alive until the run ends
)

var opNames = [...]string{opAcquireRelease: "acquire-release", opTry: "try", opExtend: "extend", opRead: "", opHold: "hold"}

const (
	mixPrefix = "mix:"
	maxWeight = 1_000_000
)

// numbered are the operations with a number, by what stands before it.
var numbered = map[string]struct {
	kind        opKind
	of          string // what the number counts
	least, most int
}{
	"all:":        {opAll, "names", 1, limits.SetNames},                // all or none: AcquireAll, hold, Release
	"many:":       {opMany, "names", 1, limits.SetNames},               // what is free: AcquireMany, hold, Release; if all are refused: see Config.Think
	"read-write:": {opReadWrite, "reads among 100 operations", 0, 100}, // AcquireShared, hold, Release; else Acquire, hold, Release
	"permit:":     {opPermit, "holders at once", 1, limits.Permits},    // AcquirePermit, hold, Release
}

// Extends reports whether op needs an Extender.
func (o Op) Extends() bool { return o.has(opExtend) }

// TakesSeveral reports whether op needs a SeveralLocker.
func (o Op) TakesSeveral() bool { return o.TakesAll() || o.kind == opMany }

// TakesAll reports whether op takes all its names or none.
func (o Op) TakesAll() bool { return o.kind == opAll }

// Tries reports whether op has operations for which a refusal is an answer, not a failure.
func (o Op) Tries() bool { return o.has(opTry) || o.kind == opMany }

// Shares reports whether op has readers, which need a SharedLocker.
func (o Op) Shares() bool { return o.kind == opReadWrite }

// Permits reports whether op takes permits, which need a SharedLocker.
func (o Op) Permits() bool { return o.kind == opPermit }

// names returns how many names an operation takes.
func (o Op) names() int {
	if o.TakesSeveral() {
		return o.number
	}
	return 1
}

// has reports whether o has operations of that kind, which may be one of a mix.
func (o Op) has(kind opKind) bool { return o.kind == kind || o.weights[kind] > 0 }

// waits reports whether an operation waits for one holder, who hands over to it. A permit comes from any of several
// holders, so an operation of permits does not.
func (o Op) waits() bool {
	return o.has(opAcquireRelease) || o.has(opExtend) || o.kind == opAll
}

// draw returns the kind of the next operation.
func (o *Op) draw(r *rand.Rand) opKind {
	if o.kind != opMix && o.kind != opReadWrite {
		return o.kind
	}
	sum := 0
	for _, w := range o.weights {
		sum += w
	}
	at := r.IntN(sum)
	for kind, w := range o.weights {
		if at -= w; at < 0 {
			return opKind(kind)
		}
	}
	panic("bench: a draw beyond the weights") // at < sum
}

func (o Op) String() string {
	for prefix, n := range numbered {
		if o.kind == n.kind {
			return prefix + strconv.Itoa(o.number)
		}
	}
	if o.kind != opMix {
		return opNames[o.kind]
	}
	var parts []string
	for kind, w := range o.weights {
		if w > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", opNames[kind], w))
		}
	}
	return mixPrefix + strings.Join(parts, ",")
}

// MarshalText and UnmarshalText make an Op a JSON string and a flag value.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads acquire-release, try, hold, all:N, many:N, read-write:READS, permit:K, or a mix by weight:
// mix:acquire-release=90,try=8,extend=2. Its extend acquires, extends once half way through the hold, and releases.
func (o *Op) UnmarshalText(b []byte) error {
	if parts, mix := strings.CutPrefix(string(b), mixPrefix); mix {
		return o.readMix(parts)
	}
	for prefix, n := range numbered {
		text, is := strings.CutPrefix(string(b), prefix)
		if !is {
			continue
		}
		number, err := strconv.Atoi(text)
		if err != nil || number < n.least || number > n.most {
			return wrong("Op", "op", "needs a number of %s from %d to %d, such as %s4, got %q", n.of, n.least, n.most, prefix, b)
		}
		*o = numberedOp(n.kind, number)
		return nil
	}
	kind := slices.Index(opNames[:], string(b))
	if kind < 0 || kind == int(opExtend) || kind == int(opRead) {
		return wrong("Op", "op", "must be acquire-release, try, hold, all:N, many:N, read-write:READS or permit:K, or a mix such as mix:acquire-release=90,try=8,extend=2, got %q", b)
	}
	*o = Op{kind: opKind(kind)}
	return nil
}

func numberedOp(kind opKind, number int) Op {
	o := Op{kind: kind, number: number}
	if kind == opReadWrite {
		o.weights[opRead], o.weights[opAcquireRelease] = number, 100-number
	}
	return o
}

func (o *Op) readMix(parts string) error {
	*o = Op{kind: opMix}
	for part := range strings.SplitSeq(parts, ",") {
		name, number, _ := strings.Cut(part, "=")
		kind := slices.Index(opNames[:opRead], name)
		if kind < 0 {
			return wrong("Op", "op", "can mix %s, not %q", strings.Join(opNames[:opRead], ", "), name)
		}
		weight, err := strconv.Atoi(number)
		if err != nil || weight < 1 || weight > maxWeight {
			return wrong("Op", "op", "needs a whole weight from 1 to %d for each operation of a mix, such as %s=90, got %q", maxWeight, name, part)
		}
		if o.weights[kind] > 0 {
			return wrong("Op", "op", "names %s twice in a mix", name)
		}
		o.weights[kind] = weight
	}
	return nil
}
