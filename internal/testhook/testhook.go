// Package testhook lets package enginetest see what the API of package engine does not show.
package testhook

// Held returns the lock, a *engine.Lock, that somebody holds in an engine, a *engine.Engine,
// under a name; false if nobody does. Package engine sets it.
var Held func(engine any, name string) (lock any, held bool)
