//go:build !linux

package clock

// Boottime returns 0: there is no such clock, or it cannot be read without cgo.
func Boottime() int64 { return 0 }
