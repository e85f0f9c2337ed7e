// Package redisfake is a Redis master within this process. It executes the engine's commands in the goroutine that writes
// them. Keys expire by time.Now, and so by the bubble's clock in a testing/synctest bubble.
//
// The fake knows only the commands of package pipeline. For each Lua script of package scripts it has a Go function. It
// answers everything else as an unknown command. TestFakeAnswersAsAServerDoes compares the fake with a real server.
package redisfake
