//go:build !unix

package child

import "syscall"

func attr() *syscall.SysProcAttr { return nil }
