//go:build !linux

package clock

// boottime returns 0: there is no such clock, or it cannot be read without cgo.
func boottime() int64 { return 0 }
