//go:build unix

package conn

import "syscall"

// immediately returns the function wire.now of a connection; nil if it has no descriptor.
func immediately(c syscall.Conn) func([]byte) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.try = func(fd uintptr) bool {
		for s.sent < len(s.b) {
			n, err := syscall.Write(int(fd), s.b[s.sent:])
			if err == syscall.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				break // full, or ended
			}
			s.sent += n
		}
		return true
	}
	return s.write
}

// A socket writes without waiting. Its fields belong to the goroutine that writes. try is made once: a closure
// for each write would be an allocation for each.
type socket struct {
	raw  syscall.RawConn
	try  func(fd uintptr) bool
	b    []byte
	sent int
}

func (s *socket) write(b []byte) int {
	s.b, s.sent = b, 0
	_ = s.raw.Write(s.try) // the reader notices the end of a connection
	s.b = nil
	return s.sent
}
