// Package conn is one connection to one master. dial and session open and greet it; wire writes and
// reads it. request, commands, load and native encode requests in the server's dialect; reply
// decodes the answers. The package knows neither rounds nor when a master may vote.
package conn
