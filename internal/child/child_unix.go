//go:build unix && !linux

package child

import "syscall"

// attr leaves the child alive when its parent is killed: only Linux can kill it.
func attr(ownGroup bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: ownGroup} }

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

// awaitStopped does not wait: it assumes that SIGSTOP has taken effect.
func awaitStopped(int) error { return nil }
