// Package inside shows packages admin and enginetest what the API of package engine does not.
// Package engine sets both functions. They take any, since that package imports this one.
package inside

import (
	"context"
	"time"

	"muxlock/pipeline"
)

// Of returns the inside of an *engine.Engine.
var Of func(engine any) Engine

// Setup returns what an engine.Config says of setting its masters up. Errors: engine.ErrInvalid.
var Setup func(cfg any) (pipeline.Setup, error)

// Engine is the inside of one.
type Engine struct {
	Pipe
	Durable bool            // Config.MastersAreDurable
	MaxTTL  time.Duration   // Config.MaxTTL
	Closing <-chan struct{} // closed by the first Close
	// Setup is function Setup with the engine's Config.
	Setup func() (pipeline.Setup, error)
	// Key returns where the lock of a name is on the masters. Errors: engine.ErrInvalid.
	Key func(name string) (string, error)
	// Refusal returns the error for the outcome of a release.
	Refusal func(pipeline.Outcome) error
	// Held returns the lock that somebody holds under a name; nil if nobody does.
	Held func(name string) Lock
}

// Pipe is what the packages ask of an engine's pipeline.
type Pipe interface {
	Inspect(ctx context.Context, key string) ([]pipeline.Value, error)
	Start(pipeline.Request, pipeline.Receiver) error
	Stats() pipeline.Stats
}

// Lock is an *engine.Lock.
type Lock interface {
	Valid() bool
	Extend(ctx context.Context, ttl time.Duration) error
}
