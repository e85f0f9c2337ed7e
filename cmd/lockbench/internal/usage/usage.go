// Package usage has the error for a mistake in a command line: nothing was started.
package usage

import "fmt"

// Error is a mistake in the command line.
type Error struct{ Err error }

func (e Error) Error() string { return e.Err.Error() }
func (e Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf for an Error.
func Errorf(format string, args ...any) error {
	return Error{fmt.Errorf(format, args...)}
}
