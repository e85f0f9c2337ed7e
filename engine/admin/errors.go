package admin

import (
	"errors"

	"muxlock/pipeline"
)

// All errors are for errors.Is, beside those of package engine.
var (
	// ErrRefused is returned by SetUp and ReplaceMaster when the masters are not in the
	// state for it; nothing was changed.
	ErrRefused = pipeline.ErrRefused
	// ErrMembersLost is part of ErrRefused from SetUp when some of the masters, which are set up
	// already, have been restarted or have lost their data: engines admit a minority again
	// by themselves, SetUpOptions.Recover is for a majority.
	ErrMembersLost = pipeline.ErrMembersLost
	// ErrUnfit is matched by Report.Err when no lock should rely on the masters.
	ErrUnfit = errors.New("muxlock: masters are not fit to lock on")
	// ErrNotALock is matched by what Inspect returns of a name whose key holds what no lock has as
	// its value: another type, an empty string or one of more than 512 bytes.
	ErrNotALock = pipeline.ErrNotALock
)
