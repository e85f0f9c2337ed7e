package result

import (
	"fmt"
	"strings"
	"time"

	"muxlock/bench"
)

// Settings are the choices of a command line. Each flag is declared into its field, and a document keeps the fields, with
// what lockbench chose itself, such as the seed. So they are both what --config reads and what the command that repeats
// a run is made from.
type Settings struct {
	bench.Config
	Engine
	Impls      []string      `json:"impls"`             // a further entry of one implementation has a number: muxlock#2
	Programs   []string      `json:"servers,omitempty"` // of local masters
	ProbeEvery time.Duration `json:"probe_every_ns"`    // 0: no prober ran
	Params     []string      `json:"params,omitempty"`
	Faults     []string      `json:"faults"`
	FaultKinds []string      `json:"fault_kinds,omitempty"`  // chaos drew Faults from these
	History    string        `json:"history_file,omitempty"` // chaos: file of the events around a violation
	SLO        []string      `json:"slo"`
}

// Engine has the settings of muxlock's engine, beside the lease. A time of 0 is the engine's default.
type Engine struct {
	Groups        int           `json:"groups"` // that the masters are split into evenly; 0 is 1
	MaxTTL        time.Duration `json:"max_ttl_ns"`
	MasterTimeout time.Duration `json:"master_timeout_ns"`
	RetryHeld     time.Duration `json:"retry_held_ns"`
	RetrySplit    time.Duration `json:"retry_split_ns"`
	Fencing       bool          `json:"fencing"` // locks have fencing tokens, if the implementation has them
}

// Target is the origin of masters.
type Target string

// The targets.
const (
	Given    Target = "given"    // the user's own
	Local    Target = "local"    // processes on this machine, started for the run
	Embedded Target = "embedded" // in this process; their speed means nothing
)

// Client describes the client libraries of an implementation, for comparisons.
type Client struct {
	Versions []string `json:"versions"`            // "redsync v4.18.0"; of the build that ran
	Pool     int      `json:"pool_size,omitempty"` // most connections to each master
	// Retries is how often the client library repeats a failed command, within one try of the
	// implementation.
	Retries int `json:"retries,omitempty"`
}

// String writes a Client in one line; empty without foreign libraries.
func (c Client) String() string {
	parts := append([]string{}, c.Versions...)
	if c.Pool > 0 {
		parts = append(parts, fmt.Sprintf("pool of %d to each master", c.Pool))
	}
	if c.Retries > 0 {
		parts = append(parts, fmt.Sprintf("the client repeats a failed command up to %d times", c.Retries))
	}
	return strings.Join(parts, ", ")
}
