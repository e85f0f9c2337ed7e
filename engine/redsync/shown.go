package redsync

import (
	"maps"
	"sync"

	"muxlock/engine"
)

// shown has the locks of this process whose Value was asked for. A mutex WithValue looks for its lock here
// before it adopts the lock. So its Unlock frees the lock at once for waiters of this process.
type shown struct {
	mu    sync.Mutex              // guards the following
	locks map[string]*engine.Lock // by value
	limit int                     // at this number, locks that have ended are dropped
}

func (s *shown) add(value string, lock *engine.Lock) {
	if value == "" { // it was handed over
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.locks) >= s.limit {
		maps.DeleteFunc(s.locks, func(_ string, l *engine.Lock) bool { return !l.Valid() })
		s.limit = max(64, 2*len(s.locks))
	}
	s.locks[value] = lock
}

// find returns the lock that has this value and name, or nil.
func (s *shown) find(value, name string) *engine.Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lock := s.locks[value]; lock != nil && lock.Name() == name && lock.Valid() {
		return lock
	}
	return nil
}
