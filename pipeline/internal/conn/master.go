package conn

import (
	"github.com/redis/rueidis"

	"muxlock/internal/oneline"
)

// Master says where a master is and how to connect to it.
type Master struct {
	Address string               // for people: errors and statistics
	Option  rueidis.ClientOption // one InitAddress; open overrides what the safety of locks rests on
}

// MasterError says why a master gave no vote.
type MasterError struct {
	Master string // its address as configured, without credentials
	Err    error
}

// Error returns one line, also if user code (a dialler) returned joined errors.
func (e MasterError) Error() string { return e.Master + ": " + oneline.Text(e.Err) }
func (e MasterError) Unwrap() error { return e.Err }
