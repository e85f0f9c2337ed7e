package bench

import (
	"strconv"
	"strings"
)

// Op is what a worker does in one operation.
type Op uint8

// The operations.
const (
	AcquireRelease Op = iota // Acquire, hold, Release
	Try                      // TryAcquire; when it won: hold, Release
	Extend                   // Extend of one lock, acquired before and released at the end
	Hold                     // Acquire a share of Keys, keep all alive until the run ends
)

var opNames = [...]string{AcquireRelease: "acquire-release", Try: "try", Extend: "extend", Hold: "hold"}

// ParseOp reads acquire-release, try, extend or hold.
func ParseOp(s string) (Op, error) {
	for op, name := range opNames {
		if s == name {
			return Op(op), nil
		}
	}
	return 0, wrong("Op", "op", "must be one of %s, got %q", strings.Join(opNames[:], ", "), s)
}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}

// MarshalText and UnmarshalText make an Op a JSON string and a flag value.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what ParseOp reads.
func (o *Op) UnmarshalText(b []byte) (err error) {
	*o, err = ParseOp(string(b))
	return err
}
