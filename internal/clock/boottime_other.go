//go:build !linux

package clock

// Boottime returns 0: there is no such clock, or it cannot be read without cgo. What that means
// for each system is in the package comment.
func Boottime() int64 { return 0 }
