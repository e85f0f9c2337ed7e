// Package conn is one connection to one master: it is dialled and greeted (dial, session), written
// and read (wire), and it carries commands in a server's dialect (request, commands, load, native)
// and brings replies (reply). It knows neither rounds nor when a master may vote.
package conn
