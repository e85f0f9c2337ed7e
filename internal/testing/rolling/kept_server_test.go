package rolling

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/testing/redistest"
	"muxlock/internal/wire"
)

// The master has the lock within these times after the holder's process sees it vote.
const (
	medianHeal = 100 * time.Millisecond
	worstHeal  = 500 * time.Millisecond
)

// keptSettings are played by TestKeptLockOutlastsTheLossOfEveryMaster.
func keptSettings() (all []setting) {
	for _, stopped := range []bool{false, true} {
		for _, masters := range []int{3, 5} {
			for _, waits := range []int{0, 1, 20} {
				for _, fenced := range []bool{false, true} {
					all = append(all, setting{holder: "lock", masters: masters, waits: waits, fenced: fenced, stopped: stopped})
				}
			}
		}
		all = append(all,
			setting{holder: "lock", masters: 3, tries: 4, stopped: stopped},
			setting{holder: "lock", masters: 3, comes: 4, stopped: stopped})
	}
	for _, waits := range []int{0, 1} {
		all = append(all,
			setting{holder: "Lead", masters: 3, waits: waits, rolls: 10},
			setting{holder: "exec", masters: 3, waits: waits, rolls: 10})
	}
	return all
}

// few are the settings that are played with few rolls, too.
var few = map[setting]bool{
	{holder: "lock", masters: 3, waits: 1, fenced: true}:  true,
	{holder: "lock", masters: 3, waits: 1, stopped: true}: true,
}

func TestKeptLockOutlastsTheLossOfEveryMaster(t *testing.T) {
	t.Parallel()
	var results table
	t.Run("settings", func(t *testing.T) {
		for _, s := range keptSettings() {
			if picked(s.String(), few[s]) {
				t.Run(s.String(), func(t *testing.T) {
					t.Parallel()
					results.add(playKept(t, s))
				})
			}
		}
	})
	results.print(t, "the master has the lock after it votes")
}

// A holder keeps the lock, in this process or in another.
type holder interface {
	votes(m int) bool // as the holder's process sees it
	everywhere() bool // all masters vote and have the lock
	losses() int
	end() // releases the lock
}

func playKept(t *testing.T, s setting) *row {
	r, result := newRoll(t, s), &row{setting: s.String(), began: time.Now(), median: medianHeal, worst: worstHeal}
	var h holder
	if s.holder == "exec" {
		h = r.exec()
		result.median = worstHeal // the time counts from when another process sees the vote
	} else {
		h = r.keep(kept, s.holder == "Lead", r.audit.add)
	}
	waits := r.company()
	time.Sleep(ttl / 2) // they stand in line
	n := s.rolls
	if n == 0 || !many {
		n = rolls
	}
	for result.rolls < n {
		m := result.rolls % s.masters
		began := time.Now()
		r.lose(m)
		r.until("the master's loss is seen", func() bool { return !h.everywhere() })
		result.add(r.regain(h, m), began)
	}
	h.end()
	for _, p := range waits {
		r.until("who waits is served", func() bool { last, _ := p.said(); return last != "" })
	}
	result.lost = h.losses()
	result.check(t, r.audit)
	return result
}

// regain returns how long it takes until all masters have the lock, from when the holder's process sees the master vote.
func (r *roll) regain(h holder, m int) time.Duration {
	var voted time.Time
	r.until("all masters have the lock", func() bool {
		switch votes := h.votes(m); {
		case !votes:
			voted = time.Time{}
		case voted.IsZero():
			voted = time.Now()
		}
		return !voted.IsZero() && h.everywhere()
	})
	took := time.Since(voted)
	values := redistest.Get(r.t, r.masters, kept)
	for _, value := range values {
		require.NotEmpty(r.t, value)
		require.Equal(r.t, values[0], value)
	}
	return took
}

func (k *keeper) losses() int { return int(k.lost.Load()) }

// An execution is a command of muxlock exec. Its masters are seen to vote by another process, which keeps a lock of its own.
type execution struct {
	*keeper
	*process
	r     *roll
	token string
}

// exec starts muxlock exec, and returns when all masters have its lock.
func (r *roll) exec() *execution {
	muxlock := filepath.Join(r.t.TempDir(), "muxlock")
	said, err := exec.CommandContext(r.t.Context(), "go", "build", "-o", muxlock, "muxlock/cmd/muxlock").CombinedOutput()
	require.NoError(r.t, err, "%s", said)
	x := &execution{keeper: r.keep("beside", false, func(report) {}), r: r}
	self, err := os.Executable()
	require.NoError(r.t, err)
	x.process = r.talk(exec.Command(muxlock, "exec", "--masters", strings.Join(redistest.Addrs(r.masters), ","),
		"--max-ttl", ttl.String(), "--ttl", ttl.String(), kept, "--", self), part{Does: "works"})
	r.until("exec has the lock", func() bool {
		values := redistest.Get(r.t, r.masters, kept)
		x.token = values[0]
		for _, v := range values {
			if v == "" || v != x.token {
				return false
			}
		}
		return true
	})
	return x
}

// everywhere asks the masters, for muxlock does not say.
func (x *execution) everywhere() bool {
	for _, m := range x.r.masters {
		ctx, cancel := context.WithTimeout(x.r.t.Context(), time.Second)
		reply, err := wire.Ask(ctx, "redis://"+m.Addr(), time.Second, "GET", kept)
		cancel()
		if err != nil || reply[0].Text != x.token {
			return false
		}
	}
	return true
}

func (x *execution) losses() int {
	if _, lost := x.said(); len(lost) > 0 || !x.ProcessState.Success() {
		x.r.t.Logf("muxlock exec: %v %v", x.ProcessState, lost)
		return 1
	}
	return 0
}

// end ends the command, and so muxlock.
func (x *execution) end() {
	_ = x.In.Close()
	<-x.Done
}
