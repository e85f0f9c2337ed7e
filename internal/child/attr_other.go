//go:build !unix

package child

import "syscall"

func attr(bool) *syscall.SysProcAttr { return nil }
