//go:build !unix

package main

import "os"

func inForeground(*os.File) bool { return false }

func readInBackground() {}

func stopKey() <-chan os.Signal { return nil }

func (p *process) stop() {}

func raiseStop() {}
