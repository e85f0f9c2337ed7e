package engine

import (
	"errors"
	"fmt"
	"strings"

	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// All errors are for errors.Is; AttemptError, InvalidError, StartError and NotReadyError are for errors.As. The error of a ctx that ended
// is joined to them, and never replaces them. Every text is one line. None holds a token.
var (
	// ErrNotAcquired matches ErrTaken, ErrNoQuorum, ErrDenied, ErrConfigMismatch and ErrExpired of an acquire.
	ErrNotAcquired = errors.New("muxlock: lock not acquired")
	// ErrTaken is returned when refusals alone make a quorum impossible: somebody holds the lock, or callers split the votes.
	// Try later; Acquire does so until ctx ends.
	ErrTaken = errors.New("muxlock: lock is taken")
	// ErrNoQuorum is returned when too few masters answered to decide: look at the masters. From Release: the deletion is not
	// confirmed and goes on being sent in the background.
	ErrNoQuorum = errors.New("muxlock: no quorum of masters")
	// ErrExpired is returned when the quorum came too late to leave any validity: ask for a longer ttl. It is part of ErrLost
	// when validity ran out.
	ErrExpired = errors.New("muxlock: validity has run out")
	// ErrNotHeld is returned by Release when the lock was gone or another's: the work may have run unprotected. It is also
	// returned by every call on a Lock that was released, and part of ErrLost when a majority answered that the key is gone or
	// another's.
	ErrNotHeld = errors.New("muxlock: lock is not held")
	// ErrLost is returned once validity has run out, the masters answered that the lock is no longer ours, or the engine was
	// closed. It is final: stop the work. Its cause is ErrExpired, ErrNotHeld or ErrClosed.
	ErrLost = errors.New("muxlock: lock was lost")
	// ErrInvalid is returned as an InvalidError, before anything is sent; by New also with a StartError, if the masters cannot
	// be used as configured.
	ErrInvalid = errors.New("muxlock: invalid")
	// ErrOverloaded is returned by an acquire when Config.Queue calls wait already; nothing was sent. Slow down.
	ErrOverloaded = pipeline.ErrOverloaded
	// ErrDenied is returned when too few masters could decide and the ACL of one does not allow the name; its cause has the
	// server's text. Correct the name, or the ACL (engine/README.md, Rights).
	ErrDenied = pipeline.ErrDenied
	// ErrRestarted is matched by an AttemptError when one of its masters was started too recently to vote
	// (Config.MastersAreDurable). Wait: its cause has the time that is left.
	ErrRestarted = pipeline.ErrRestarted
	// ErrConfigMismatch is returned when masters of another set, which have it as their cause, leave no quorum; with
	// Config.Fencing also when the masters are not set up, or for another MaxTTL or other masters. It names each field that
	// differs. Package groups returns it for another map of groups.
	ErrConfigMismatch = pipeline.ErrConfigMismatch
	// ErrRegister is matched by an AttemptError, with Config.Fencing, when a master has no usable number where the fence of
	// the name should be: it is used up, or another client wrote it. The name was not locked there. cmd/muxlock/RUNBOOK.md has
	// the remedies.
	ErrRegister = pipeline.ErrRegister
	// ErrClosed is returned after Close; nothing was sent.
	ErrClosed = pipeline.ErrClosed
)

// MasterError says why one master gave no vote. It is a value, for errors.As with a *MasterError.
//
//	type MasterError struct {
//		Master string // its address as configured, without credentials
//		Err    error  // the reason; errors.Is and errors.As see it
//	}
type MasterError = pipeline.MasterError

// InvalidError says which field or argument ErrInvalid is about. errors.As finds it as an *InvalidError.
type InvalidError struct {
	Field  string // a field of Config, such as MaxTTL or Masters[2], or an argument, such as ttl or names[0]
	Reason string // what is wrong with it: "is empty"
}

func (e *InvalidError) Error() string { return ErrInvalid.Error() + ": " + e.Field + " " + e.Reason }

// Is makes it match ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// StartError says why New failed. errors.As finds it as a *StartError, and its causes.
//
//	type StartError struct {
//		Admitted, Quorum, Masters int
//		Misconfigured             bool          // waiting does not help: New returned ErrInvalid
//		Causes                    []MasterError // of masters that were not admitted
//	}
type StartError = pipeline.StartError

// NotReadyError says what Ready waits for. errors.As finds it as a *NotReadyError, and its causes.
//
//	type NotReadyError struct {
//		Voting, Quorum, Masters int
//		Left                    time.Duration // until a quorum votes if nothing else happens; 0: not known, too many are away
//		Causes                  []MasterError // of masters that do not vote
//	}
type NotReadyError = pipeline.NotReadyError

// AttemptError has the votes of the last attempt at an acquire, extend or release, at the moment of the decision.
type AttemptError struct {
	Kind                      error         // ErrTaken, ErrNoQuorum, ErrDenied, ErrConfigMismatch, ErrExpired or ErrNotHeld
	Masters                   int           // all; a master that had not answered yet has no vote
	Granted, Refused, Unknown int           // votes; unknown: neither yes nor no came back
	Causes                    []MasterError // why votes are unknown

	// Holder is the Config.Holder of who was last seen to have the name, or "", and InLine how many stood in line before the
	// caller. Only an acquire that waits learns of them, with ErrTaken: as it stands in line, or looks whether another library
	// has the name.
	Holder string
	InLine int

	op operation
}

// An operation is an attempted call, with the words for its votes in an error text.
type operation struct{ granted, refused string }

var (
	anAcquire = operation{"granted", "refused"}
	anExtend  = operation{"extended it", "had it no more"}
	aRelease  = operation{"deleted it", "had it no more"}
)

func newAttemptError(kind error, op operation, masters int, out pipeline.Outcome) *AttemptError {
	return &AttemptError{
		Kind: kind, op: op, Masters: masters,
		Granted: int(out.Tally.Granted), Refused: int(out.Tally.Refused), Unknown: int(out.Tally.Unknown),
		Causes: out.Causes,
	}
}

// kindOf returns the error for a verdict: denied if refusals decided it.
func kindOf(v quorum.Verdict, denied error) error {
	if v == quorum.Denied {
		return denied
	}
	return ErrNoQuorum
}

func (e *AttemptError) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.Error())
	if e.Holder != "" {
		b.WriteString(" by " + e.Holder)
	}
	if e.InLine > 0 {
		fmt.Fprintf(&b, ", and %d in line before this one", e.InLine)
	}
	fmt.Fprintf(&b, ": of %d masters %d %s, %d %s, %d unknown", e.Masters, e.Granted, e.op.granted, e.Refused, e.op.refused, e.Unknown)
	if late := e.Masters - e.Granted - e.Refused - e.Unknown; late > 0 {
		fmt.Fprintf(&b, ", %d not waited for", late)
	}
	for i, c := range e.Causes {
		b.WriteString([]string{" (", "; "}[min(i, 1)])
		b.WriteString(c.Error())
	}
	if len(e.Causes) > 0 {
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap shows the kind and every master's cause to errors.Is and errors.As.
func (e *AttemptError) Unwrap() []error {
	errs := []error{e.Kind}
	if e.op == anAcquire {
		errs = append(errs, ErrNotAcquired)
	}
	for _, c := range e.Causes {
		errs = append(errs, c)
	}
	return errs
}

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

func ofName(name string, err error) error { return fmt.Errorf("%q: %w", name, err) }
