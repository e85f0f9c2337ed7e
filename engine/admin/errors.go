package admin

import (
	"errors"

	"muxlock/pipeline"
)

// All errors are for errors.Is, beside those of package engine.
var (
	// ErrRefused is returned by SetUp and ReplaceMaster when the state of the masters does not allow it;
	// nothing was changed, or the text says what.
	ErrRefused = pipeline.ErrRefused
	// ErrMembersLost is part of ErrRefused from SetUp when the masters are set up already, and some of them
	// were restarted or lost their data. Engines admit a minority again by themselves; SetUpOptions.Recover
	// is for a majority.
	ErrMembersLost = pipeline.ErrMembersLost
	// ErrUnfit is matched by Report.Err when no lock should rely on the masters.
	ErrUnfit = errors.New("muxlock: masters are not fit to lock on")
	// ErrNotALock is matched by an error of Inspect when the key of the name holds what is no lock's value:
	// another type, an empty string, one of more than 512 bytes, or a sorted set of others than readers.
	ErrNotALock = pipeline.ErrNotALock
)
