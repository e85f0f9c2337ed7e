//go:build !unix

package main

import "os"

func inForeground(*os.File) bool     { return false }
func readInBackground()              {}
func stopKey() <-chan os.Signal      { return nil }
func messages() <-chan os.Signal     { return nil }
func (p *process) message(os.Signal) {}
func (p *process) stop()             {}
func raiseStop()                     {}
func reapOrphans()                   {}
