package fence

import (
	"errors"
	"fmt"
)

// Max is the largest fence, 2^53-1: Lua, JavaScript and JSON readers count exactly up to there.
const Max uint64 = 1<<53 - 1

// All errors are for errors.Is; StaleError is for errors.As, too.
var (
	// ErrStale is returned when the resource has seen a larger fence: a newer holder has sealed it. Nothing
	// was written. It is final for this lock: acquire again, and read again. A transaction around it goes on,
	// and must be rolled back: Table.InTx does that.
	ErrStale = errors.New("fence: stale")
	// ErrInvalid is returned, before anything is sent or written, when a fence is not a number from 1 to Max.
	// A lock has fence 0 when its engine runs without fencing.
	ErrInvalid = errors.New("fence: invalid")
)

// StaleError is an ErrStale with its numbers: Fence came, but the resource has seen Seen. errors.As finds it
// as a *StaleError.
type StaleError struct{ Fence, Seen uint64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %d came, %d was seen", ErrStale, e.Fence, e.Seen)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

// Check returns nil if a resource may accept fence: if it is no smaller than seen, the largest fence that the
// resource has seen (0: none). The resource then keeps fence, in the same atomic step as its data. Errors:
// ErrInvalid if fence is 0 or above Max, else a StaleError. It is safe for concurrent use. See the package
// comment for the rule.
func Check(seen, fence uint64) error {
	if fence == 0 || fence > Max {
		return fmt.Errorf("%w: %d is not from 1 to 2^53-1", ErrInvalid, fence)
	}
	if fence < seen {
		return &StaleError{fence, seen}
	}
	return nil
}
