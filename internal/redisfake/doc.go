// Package redisfake is a Redis master in this process: it executes the commands that the
// engine sends, over connections that are net.Pipes. Time is time.Now, so that in a
// testing/synctest bubble keys expire by the bubble's clock.
//
// It is no Redis: it has the commands of package pipeline, and in the place of Lua a Go
// function for each script of package scripts. TestFakeAnswersAsAServerDoes holds it against
// a real one. To everything else it answers as to an unknown command.
package redisfake
