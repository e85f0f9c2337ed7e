package main

import (
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/view"
)

// traits returns what the views must know of the implementations of a document: above all what each but the engine does not
// promise, and its client libraries.
func traits(c result.Config) map[string]view.Trait {
	m := map[string]view.Trait{}
	for _, name := range c.Impls {
		impl, _ := rivals.Find(name)
		text := impl.Caveat
		if client := c.Clients[name].String(); text != "" && client != "" {
			text += " (" + client + ")"
		}
		m[name] = view.Trait{Ours: impl.Ours, Caveat: text, Polls: impl.Polls, Single: impl.Single, Yardstick: impl.Yardstick}
	}
	return m
}
