//go:build !linux

package clock

func bootID() string { return "" }
