// Package pending knows which locks may be at a master, and keeps the releases that the master
// still needs: it was not sent them, or has not answered them. It is pure: no clock, no I/O.
package pending
