package child

import "syscall"

// attr lets the kernel kill the child when the thread that forked it ends, which run delays until the child is gone:
// what is left is the end of the whole parent.
func attr(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}
