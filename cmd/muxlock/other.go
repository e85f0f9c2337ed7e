//go:build !unix

package main

import (
	"context"
	"os"

	"muxlock/engine"
)

// queue has no queue here: all waiters of a machine contend.
func queue(context.Context, engine.Config, string) (leave func(), err error) {
	return func() {}, nil
}

func inForeground(*os.File) bool { return false }

func readInBackground() {}

func stopKey() <-chan os.Signal { return nil }

func (p *process) stop() {}
