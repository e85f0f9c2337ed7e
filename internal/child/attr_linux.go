package child

import "syscall"

// attr makes the kernel kill the child when the thread that forked it ends. run keeps that thread until the child is
// gone, so only the end of the whole parent kills the child.
func attr(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}
