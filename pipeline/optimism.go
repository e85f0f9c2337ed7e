package pipeline

import "muxlock/pipeline/internal/conn"

// tryNative finds out what the server has. A connection that breaks off meanwhile may be
// through a proxy that does not pass on what it does not know: it is not tried again before the
// server is another one.
func (m *master) tryNative(name, t string) error {
	var d conn.Dialect
	if !m.p.disableNative && !m.triedInVain {
		trial := conn.NewNativeTrial(name, t)
		m.triedInVain = true
		replies, err := m.ask(&trial)
		if err != nil {
			return err
		}
		m.triedInVain = false
		d = conn.ReadNativeTrial(replies, t)
	}
	m.p.mu.Lock()
	m.dialect = d
	m.p.mu.Unlock()
	return nil
}

// An optimism decides whether many acquires are asked for at once. Where one of the names is
// held, none is taken, and each is asked for singly, a round trip later. After such a refusal
// rounds are asked singly for a while: leastPause of them, twice as many after each refusal
// that follows, up to mostPause, and half as many after each success. So where every batch
// would be refused, one of mostPause rounds is asked for twice.
type optimism struct {
	pause int // rounds of the next pause; below leastPause: that many
	left  int // of this pause
}

const (
	leastPause = 8
	mostPause  = 512
)

// takes reports whether the next round that has a batch of acquires is asked for at once.
func (o *optimism) takes() bool {
	if o.left == 0 {
		return true
	}
	o.left--
	return false
}

func (o *optimism) refused() {
	if o.left == 0 { // else it was on the wire when the pause began
		o.pause = min(max(2*o.pause, leastPause), mostPause)
		o.left = o.pause
	}
}

func (o *optimism) granted() {
	if o.left == 0 {
		o.pause /= 2
	}
}
