package child

import "os"

// Pause stops a process with SIGSTOP. On Linux it returns once the process, a child of this one, has stopped.
func Pause(p *os.Process) error {
	if err := p.Signal(sigStop); err != nil {
		return err
	}
	return awaitStopped(p.Pid)
}

// Resume continues a paused process with SIGCONT.
func Resume(p *os.Process) error { return p.Signal(sigCont) }
