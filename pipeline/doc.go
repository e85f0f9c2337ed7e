// Package pipeline carries the calls of many goroutines to N masters in shared
// rounds, and brings back votes. It knows masters, votes and verdicts, not locks.
package pipeline
