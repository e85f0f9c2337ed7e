//go:build !unix

package conn

import "syscall"

func immediately(syscall.Conn) immediate { return nil }
