package rolling

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/quorum"
	"muxlock/internal/wire"
)

// The next process holds within these times after a quorum of a killed holder's keys has expired.
const (
	medianNext = 20 * time.Millisecond
	worstNext  = 1100 * time.Millisecond
)

func killedSettings() (all []setting) {
	for _, masters := range []int{3, 5} {
		for _, waits := range []int{1, 20} {
			for _, fenced := range []bool{false, true} {
				all = append(all, setting{holder: "killed", masters: masters, waits: waits, fenced: fenced})
			}
			all = append(all, setting{holder: "killed", masters: masters, waits: waits, stopped: true})
		}
	}
	return all
}

func TestNextHolderFollowsOneThatWasKilled(t *testing.T) {
	t.Parallel()
	var results table
	t.Run("settings", func(t *testing.T) {
		for _, s := range killedSettings() {
			if picked(s.String(), s == setting{holder: "killed", masters: 3, waits: 1}) {
				t.Run(s.String(), func(t *testing.T) {
					t.Parallel()
					results.add(playKilled(t, s))
				})
			}
		}
	})
	results.print(t, "the next holds after a quorum of the keys has expired")
}

// playKilled has a process keep the lock, and others wait to keep it. In each roll the holder is killed, and another process
// joins the others.
func playKilled(t *testing.T, s setting) *row {
	r, result := newRoll(t, s), &row{setting: s.String(), began: time.Now(), median: medianNext, worst: worstNext}
	beside := r.keep("beside", false, func(report) {}) // sees which masters vote
	var all []*process
	for range s.waits + 1 {
		all = append(all, r.start("keeps", ""))
	}
	steady := func() bool { return beside.everywhere() && r.audit.newest().all }
	r.until("a process has the lock", steady)
	for result.rolls < rolls {
		m := result.rolls % s.masters
		holder := slices.IndexFunc(all, func(p *process) bool { last, _ := p.said(); return last == r.audit.newest().hold })
		began := time.Now()
		voted, killed := make(chan struct{}), make(chan death, 1)
		go func() { killed <- r.kill(all[holder], voted) }()
		r.lose(m)
		r.until("the master's loss is seen", func() bool { return !beside.everywhere() })
		r.until("the master votes", func() bool { return beside.votes(m) })
		again := monotonic()
		close(voted)
		dead := <-killed
		r.until("another process holds", func() bool { return r.audit.newest().hold != dead.hold })
		next := r.audit.newest()
		if free := dead.freeAt(m, again); free > 0 {
			result.add(next.first-free, began)
		}
		all[holder] = r.start("keeps", "")
		r.until("all masters have the next one's lock", func() bool {
			n := r.audit.newest()
			return n.last > again+ttl/2 && steady() // its renewals have seen the master
		})
	}
	for _, p := range all {
		_, lost := p.said()
		result.lost += len(lost)
		for _, why := range lost {
			t.Logf("%s: %s", s, why)
		}
	}
	result.check(t, r.audit)
	return result
}

// A death is the end of a holder's process, and until when each master has its key.
type death struct {
	hold    string
	expires []time.Duration // 0: it does not have the key
}

// kill kills a process at any moment of a roll: often just after the master votes, when it is healed.
func (r *roll) kill(p *process, voted <-chan struct{}) death {
	within := 3500 * time.Millisecond
	if r.s.stopped {
		within += outage
	}
	if rand.N(3) == 0 {
		<-voted
		within = 150 * time.Millisecond
	}
	time.Sleep(rand.N(within)) // the moment is drawn
	_ = p.Process.Kill()
	<-p.Done
	hold, _ := p.said()
	d := death{hold: hold, expires: make([]time.Duration, len(r.masters))}
	values := make([]string, len(r.masters))
	var all sync.WaitGroup
	for i, m := range r.masters {
		all.Go(func() {
			// A master that is away is awaited for a while, and does not have the key.
			value, err := wire.Ask(r.t.Context(), "redis://"+m.Addr(), time.Second, "GET", kept)
			left, failed := wire.Ask(r.t.Context(), "redis://"+m.Addr(), time.Second, "PTTL", kept)
			if err == nil && failed == nil && left[0].Number > 0 {
				values[i], d.expires[i] = value[0].Text, monotonic()+time.Duration(left[0].Number)*time.Millisecond
			}
		})
	}
	all.Wait()
	votes := make(map[string]int)
	for _, value := range values {
		votes[value]++
	}
	for i, value := range values {
		if votes[value] < quorum.Size(len(values)) {
			d.expires[i] = 0 // a stray's
		}
	}
	return d
}

// freeAt returns when the keys have expired at a quorum of the masters that vote. Master m votes again since again.
func (d death) freeAt(m int, again time.Duration) time.Duration {
	free := slices.Clone(d.expires)
	free[m] = max(free[m], again)
	slices.Sort(free)
	return free[quorum.Size(len(free))-1] // 0: it is not known, since the masters did not answer in time
}

func TestNameIsFreeOnceAQuorumThatVotesHasNoKey(t *testing.T) {
	require.EqualValues(t, 20, death{expires: []time.Duration{10, 20, 30}}.freeAt(0, 5))
	require.EqualValues(t, 30, death{expires: []time.Duration{10, 20, 30}}.freeAt(1, 40))
	require.EqualValues(t, 20, death{expires: []time.Duration{10, 0, 30}}.freeAt(1, 20), "it lost the key, and waited")
}
