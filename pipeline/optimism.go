package pipeline

import "muxlock/pipeline/internal/conn"

// tryNative finds out which native commands the server has. If the connection breaks off during the
// trial, a proxy may have refused an unknown command. Then there is no other trial until the server
// is another one.
func (m *master) tryNative(name, t string) error {
	var d conn.Dialect
	if !m.p.takesFew() && !m.triedInVain {
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
	m.dialect, m.noReaders = d, nil
	m.p.mu.Unlock()
	return nil
}

// An optimism decides whether many acquires are asked for at once. If one of the names is held, the
// master takes none, and each is asked for singly, a round trip later. After such a refusal acquires
// are sent singly for a pause: leastPause rounds, twice as many after each further refusal, at most
// mostPause, and half as many after each success. So if every batch would be refused, the acquires
// of one round in mostPause are sent twice.
type optimism struct {
	pause  int // the next pause, in rounds; less than leastPause counts as leastPause
	rounds int // of this pause, still to come
}

const (
	leastPause = 8
	mostPause  = 512
)

// takes reports whether the next batch of acquires is asked for at once.
func (o *optimism) takes() bool {
	if o.rounds == 0 {
		return true
	}
	o.rounds--
	return false
}

func (o *optimism) refused() {
	if o.rounds == 0 { // else the batch was on the wire when the pause began
		o.pause = min(max(2*o.pause, leastPause), mostPause)
		o.rounds = o.pause
	}
}

func (o *optimism) granted() {
	if o.rounds == 0 {
		o.pause /= 2
	}
}
