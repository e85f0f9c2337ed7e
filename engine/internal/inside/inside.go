// Package inside shows packages admin and enginetest what the API of package engine does not.
// Package engine sets both functions. They take any, since that package imports this one.
package inside

import (
	"context"
	"time"

	"muxlock/pipeline"
)

// Of returns what is inside an *engine.Engine.
var Of func(engine any) Engine

// Setup returns the set-up of an engine.Config's masters. Errors: engine.ErrInvalid.
var Setup func(cfg any) (pipeline.Setup, error)

// Engine is what is inside an engine.
type Engine struct {
	Pipe
	Durable bool            // Config.MastersAreDurable
	MaxTTL  time.Duration   // Config.MaxTTL
	Closing <-chan struct{} // closed by the first Close
	// Setup is function Setup with the engine's Config.
	Setup func() (pipeline.Setup, error)
	// Key returns the key of a name's lock on the masters. Errors: engine.ErrInvalid.
	Key func(name string) (string, error)
	// Refusal returns the error for the outcome of a release.
	Refusal func(pipeline.Outcome) error
	// Held returns the lock that somebody in the engine's process holds under a name; nil if nobody does.
	Held func(name string) Lock
}

// Pipe is what the packages ask of an engine's pipeline.
type Pipe interface {
	Inspect(ctx context.Context, key string) ([]pipeline.Value, error)
	Start(pipeline.Request, pipeline.Receiver) error
	Stats() pipeline.Stats
	Lines(context.Context) bool
}

// Lock is an *engine.Lock.
type Lock interface {
	Valid() bool
	Extend(ctx context.Context, ttl time.Duration) error
}
