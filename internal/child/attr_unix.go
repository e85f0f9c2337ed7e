//go:build unix && !linux

package child

import "syscall"

// attr: only Linux can be asked to kill the child with its parent.
func attr(ownGroup bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: ownGroup} }
