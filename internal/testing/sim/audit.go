package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"muxlock/internal/quorum"
)

// A hold is the time in which one holder of a name could rely on its lock.
type hold struct {
	name, who string
	token     string // handles to one token do not exclude each other; "": not revealed, so there is one handle
	from, to  time.Time
	fence     uint64 // 0: none
	reads     bool   // beside any number of other readers
	slot      int    // of a permit
	limit     int    // how many have permits of the name; 0: it is a lock
}

// An audit collects what happened in a schedule. It is safe for concurrent use.
type audit struct {
	began time.Time // fixed

	mu      sync.Mutex // guards the following
	holds   []hold
	forced  map[string]time.Time // when a lock was released by force, by the hash of its token
	wrong   []string             // what calls and the audit at rest found
	slowest time.Duration        // call that waits for nobody, in thousandths of a master's timeout
	counts  map[string]int       // calls and locks won by verb, events by kind of fault
	away    []Fault              // of a roll: since all masters last had all kept locks
	healing []time.Duration      // of rolls: from when all masters vote until they have all kept locks
}

func newAudit() *audit {
	return &audit{began: time.Now(), forced: make(map[string]time.Time), counts: make(map[string]int)}
}

// held records a hold that has ended.
func (a *audit) held(h hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holds = append(a.holds, h)
}

// fails records what must not be.
func (a *audit) fails(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong = append(a.wrong, fmt.Sprintf("%8.3fs ", time.Since(a.began).Seconds())+fmt.Sprintf(format, args...))
}

// count adds one to the calls, to the locks won or to the events.
func (a *audit) count(what, of string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[what+" "+of]++
}

// releasedByForce notes that somebody is about to delete the tokens with these hashes. From now on nobody can rely on the
// tokens.
func (a *audit) releasedByForce(hashes []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, hash := range hashes {
		if _, before := a.forced[hash]; !before {
			a.forced[hash] = time.Now()
		}
	}
}

// isAway notes that a fault of a roll begins.
func (a *audit) isAway(f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = append(a.away, f)
}

// nobodyIsAway notes that all masters have all kept locks, and for how long they voted until then.
func (a *audit) nobodyIsAway(after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away, a.healing = nil, append(a.healing, after)
}

// mayLose reports whether an engine may lose a lock that it keeps: it was away itself, or no majority of so many masters was there.
func (a *audit) mayLose(engine, masters int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	away := make(map[int]bool)
	for _, f := range a.away {
		switch {
		case f.kind().rolls != leaving:
			away[f.Master] = true
		case f.Engine == engine:
			return true
		}
	}
	return masters-len(away) < quorum.Size(masters)
}

// hashOf is what an Inspection shows of a token.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:4])
}

// violations returns all that went wrong.
func (a *audit) violations() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	byName := make(map[string][]hold)
	for _, h := range a.holds {
		if at, forced := a.forced[hashOf(h.token)]; forced && h.token != "" && at.Before(h.to) {
			h.to = at
		}
		if h.from.Before(h.to) {
			byName[h.name] = append(byName[h.name], h)
		}
	}
	wrong := slices.Clone(a.wrong)
	for _, holds := range byName {
		wrong = append(wrong, a.unsound(holds)...)
	}
	slices.Sort(wrong)
	return wrong
}

// unsound returns what is wrong with the holds of one name.
func (a *audit) unsound(holds []hold) (wrong []string) {
	slices.SortFunc(holds, func(x, y hold) int {
		if c := x.from.Compare(y.from); c != 0 {
			return c
		}
		return int(x.fence) - int(y.fence)
	})
	var open []hold              // holds that may reach into the next
	fences := make(map[int]hold) // by slot: the hold with the largest fence
	for _, h := range holds {
		fenced := fences[h.slot]
		open = slices.DeleteFunc(open, func(o hold) bool { return !h.from.Before(o.to) })
		for _, o := range open {
			if (o.token == "" || o.token != h.token) && !(o.reads && h.reads) && (h.limit == 0 || o.slot == h.slot) {
				wrong = append(wrong, a.text(o)+" and "+a.text(h)+": two holders")
			}
		}
		if open = append(open, h); h.limit > 0 && len(open) > h.limit {
			wrong = append(wrong, fmt.Sprintf("%s: %d hold permits", a.text(h), len(open)))
		}
		if h.fence == 0 {
			continue
		}
		if h.reads {
			wrong = append(wrong, a.text(h)+": a reader has a fence")
		}
		if h.fence <= fenced.fence {
			wrong = append(wrong, a.text(fenced)+" and "+a.text(h)+": the fence does not grow")
		} else {
			fences[h.slot] = h
		}
	}
	return wrong
}

func (a *audit) text(h hold) string {
	return fmt.Sprintf("%8.3fs to %.3fs %s by %s, fence %d", h.from.Sub(a.began).Seconds(), h.to.Sub(a.began).Seconds(), h.name, h.who, h.fence)
}
