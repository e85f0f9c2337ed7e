package usage

import (
	"errors"
	"fmt"
)

// Exit codes of all programs. Scripts rely on them.
const (
	ExitOK    = 0
	ExitRun   = 1
	ExitUsage = 2
)

// Exit is an error with its exit code. The program prints the text unless it is empty.
type Exit struct {
	Code int
	Text string
}

func (e Exit) Error() string { return e.Text }

// Exitf returns an Exit with that text.
func Exitf(code int, format string, args ...any) error {
	return Exit{code, fmt.Sprintf(format, args...)}
}

// Code returns the exit code of an error, and whether there is nothing to print. The code is mistake for a usage error, and
// failed for an error that is no Exit.
func Code(err error, mistake, failed int) (code int, quiet bool) {
	var e Exit
	switch {
	case err == nil:
		return ExitOK, true
	case errors.As(err, &e):
		return e.Code, e.Text == ""
	case errors.As(err, new(Error)):
		return mistake, false
	}
	return failed, false
}
