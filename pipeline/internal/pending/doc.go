// Package pending knows what may be at a master of the locks that were asked for. It keeps the
// releases that the master was not sent, or has not answered. It is pure.
package pending
