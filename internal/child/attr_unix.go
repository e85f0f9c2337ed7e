//go:build unix && !linux

package child

import "syscall"

// attr: only Linux can be asked to kill the child with its parent.
func attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const sigStop, sigCont = syscall.SIGSTOP, syscall.SIGCONT
