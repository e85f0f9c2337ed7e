package redisfake

import (
	"maps"
	"syscall"
	"time"
)

// A clock is the clock of a server. The zero value is time.Now.
type clock struct {
	since, at time.Time // the clock showed at when time.Now was since
	faster    float64   // seconds that the clock gains in a second; negative: it loses them
}

func (c *clock) now() time.Time {
	if c.since.IsZero() {
		return time.Now()
	}
	passed := time.Since(c.since)
	return c.at.Add(passed + time.Duration(float64(passed)*c.faster))
}

// Clock steps the server's clock. From now on the clock gains faster seconds in each second; negative: it loses
// them. Clocks of one bubble differ only by such steps and rates.
func (s *Server) Clock(step time.Duration, faster float64) {
	s.change(func() { s.clock = clock{time.Now(), s.clock.now().Add(step), faster} })
}

// A Snapshot is the data of a server at one moment.
type Snapshot map[string]value

// Snapshot returns the present data.
func (s *Server) Snapshot() (data Snapshot) {
	s.change(func() { data = snapshotOf(s.data.values) })
	return data
}

func snapshotOf(values map[string]value) Snapshot {
	data := make(Snapshot, len(values))
	for key, v := range values {
		v.hash, v.sorted = maps.Clone(v.hash), maps.Clone(v.sorted)
		data[key] = v
	}
	return data
}

// RestartWith replaces the server process by a new one that is up, with the given data.
func (s *Server) RestartWith(data Snapshot) {
	s.change(func() { s.restartLocked(snapshotOf(data)) })
}

// RestartDurable replaces the server process by a new one that is up, with the data of the old one.
func (s *Server) RestartDurable() {
	s.change(func() { s.restartLocked(s.data.values) })
}

// Flush is FLUSHALL: the process and its scripts stay.
func (s *Server) Flush() { s.become(nil, func() {}) }

// ReplicaOf makes the server a replica of a master, with the master's data. Promote ends the replication.
func (s *Server) ReplicaOf(master *Server) {
	var data Snapshot
	var id string
	master.change(func() { data, id = snapshotOf(master.data.values), master.replID })
	s.become(data, func() {
		s.replica, s.replID, s.offset = true, id, -1
		s.fed += 1 + len(data)
	})
}

// Promote makes a replica a master, with the data that it has.
func (s *Server) Promote() {
	s.change(func() {
		if s.replica {
			s.replica, s.replID, s.offset = false, randomID(), 1
		}
	})
}

// become replaces the data, and notifies the connections that track a key.
func (s *Server) become(data Snapshot, and func()) {
	s.change(func() {
		s.data.values = snapshotOf(data)
		for key := range s.tracked {
			s.notifyLocked(key)
		}
		and()
	})
}

// RunID returns the identity of the process.
func (s *Server) RunID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runID
}

// Do executes a command as on a connection of its own. It returns a string, an error, a number or nil.
func (s *Server) Do(words ...string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return syscall.ECONNREFUSED
	}
	reply := (&conn{s: s}).executeLocked(words)
	if text, ok := reply.(status); ok {
		return string(text)
	}
	return reply
}
