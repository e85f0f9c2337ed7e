package conn

import (
	"github.com/redis/rueidis"

	"muxlock/internal/oneline"
)

// Master is where one master is and how to connect to it.
type Master struct {
	Address string               // for people: errors and statistics
	Option  rueidis.ClientOption // one InitAddress; open sets what the safety of the lock rests on
}

// MasterError is why a master gave no vote.
type MasterError struct {
	Master string // its address as configured, without credentials
	Err    error
}

// Error is one line, also where user code (a dialer) returned joined errors.
func (e MasterError) Error() string { return e.Master + ": " + oneline.Text(e.Err) }
func (e MasterError) Unwrap() error { return e.Err }
