// Package inside shows packages admin, enginetest, groups and metrics what the API of package engine does not.
// Package engine sets the functions. They take any, since that package imports this one.
package inside

import (
	"context"
	"log/slog"
	"time"

	"muxlock/pipeline"
)

// Of returns what is inside an *engine.Engine.
var Of func(engine any) Engine

// Setup returns the set-up of an engine.Config's masters. Errors: engine.ErrInvalid.
var Setup func(cfg any) (pipeline.Setup, error)

// Front returns an *engine.Engine with an engine.Config, whose locks are wherever a router says.
var Front func(cfg any, r Router) any

// Engine is what is inside an engine.
type Engine struct {
	Pipe
	At      func(key string) Pipe // the one that has a key
	Durable bool                  // Config.MastersAreDurable
	Fencing bool                  // Config.Fencing
	MaxTTL  time.Duration         // Config.MaxTTL
	Drift   float64               // Config.Drift
	Closing <-chan struct{}       // closed by the first Close
	// Setup is function Setup with the engine's Config.
	Setup func() (pipeline.Setup, error)
	Log   func(level slog.Level, required bool, text string, attributes ...any) // does not wait for the Logger
	// Key returns the key of a name's lock on the masters. Errors: engine.ErrInvalid.
	Key func(name string) (string, error)
	// Own returns an engine.Stats without what the engines of groups count, too: their masters and rounds.
	Own func() any
	// Refusal returns the error for the outcome of a release.
	Refusal func(pipeline.Outcome) error
	// Holders returns a holder of each lease that the engine has under a key. Several readers may share one.
	Holders func(key string) []Lock
	// Snapshot returns at most so many leases, and as many names that somebody waits for.
	Snapshot func(most int) Snapshot
}

// Pipe is a *pipeline.Pipeline, or several that package groups makes one of.
type Pipe interface {
	Do(context.Context, pipeline.Request) (pipeline.Outcome, error)
	DoMany(ctx context.Context, reqs []pipeline.Request, each func(i int, out *pipeline.Outcome, err error))
	Start(pipeline.Request, pipeline.Receiver) error
	Post(pipeline.Request)
	Await(ctx context.Context, name string, poll time.Duration) error
	Inspect(ctx context.Context, name string) ([]pipeline.Value, error)
	Lines(context.Context) bool
	Listen(name, token string, to pipeline.Listener)
	Unlisten(token string)
	Ready(context.Context) error
	Full() bool
	Voted() uint64 // how often a master began to vote
	Stats() pipeline.Stats
	Refuse()
	Close()
}

// A Router is a Pipe to several sets of masters.
type Router interface {
	Pipe
	Of(key string) Pipe // the one that has a key; equal for the keys that a Set may have together
	Number() int        // of the masters that have a key
	// Agree returns nil once locks may be taken. wait: it waits for that until ctx ends.
	Agree(ctx context.Context, wait bool) error
}

// Lock is an *engine.Lock.
type Lock interface {
	Valid() bool
	Extend(ctx context.Context, ttl time.Duration) error
}
