package inside

import (
	"strconv"
	"strings"
	"time"

	"muxlock/internal/token"
)

// Shown returns a name as people can read it, and Prometheus: no two names are the same.
func Shown(name string) string {
	if token.Printable(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.Quote(name)
}

// A Snapshot is what a process holds, wants and has lost, as package lockdebug shows it.
type Snapshot struct {
	Held    []Held   `json:"held"` // any of them, if there are too many
	HeldAll int      `json:"held_all"`
	Waited  []Waited `json:"waited"` // the same
	WaitAll int      `json:"waited_all"`
	Lost    []Lost   `json:"lost"` // the last ones, in order
}

// Held is a lease of this process.
type Held struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Slot      int       `json:"slot"`    // of a permit; -1: it is none
	Holders   int       `json:"holders"` // readers share a lease
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
	KeptAlive bool      `json:"kept_alive"`
	HeldOn    int       `json:"held_on"`
	Masters   int       `json:"masters"`
	Fence     uint64    `json:"fence,omitempty"`
	HandOvers int       `json:"hand_overs"`
}

// Waited is a name that goroutines of this process wait for.
type Waited struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`         // of who waits longest
	Waiting int       `json:"waiting"`      // behind others of this process
	Since   time.Time `json:"since"`        // when who waits longest began
	Asks    bool      `json:"asks_masters"` // one more asks the masters, or stands in line there
	Here    bool      `json:"held_here"`    // maybe as one of several permits
}

// Lost is a loss.
type Lost struct {
	Name  string        `json:"name"`
	Kind  string        `json:"kind"`
	At    time.Time     `json:"at"`
	Held  time.Duration `json:"held_ns"`
	Cause string        `json:"cause"`
}
