package turn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/internal/clock"
)

var permit = &Kind{TakesOver: true, HandsOver: true}

// A room is the callers of one process who want one of two permits of a name. limits are what they think that there are.
type room struct {
	q      queue
	slots  [2]queue
	now    clock.Instant
	limits []int     // by caller
	beside []int     // callers who ask side by side
	first  int       // the caller who asks for all; -1: none
	atHead *waiter   // first, while it waits for a slot; nil: it does not
	waits  []*waiter // the others, in order
	begun  int       // callers who have entered, and not left
	wrong  string
}

func (r *room) check(holds bool, what string) {
	if !holds && r.wrong == "" {
		r.wrong = what
	}
}

func (r *room) come(limit int) bool {
	who := len(r.limits)
	if who == 5 {
		return false
	}
	r.limits = append(r.limits, limit)
	idle, before := r.q.Idle(), r.begun
	waits := r.q.Enter(limit)
	r.begun++
	r.check(waits == (!idle || before >= limit), "it waits, or not")
	if waits {
		r.wait(who)
	} else {
		r.beside = append(r.beside, who)
	}
	return true
}

func (r *room) wait(who int) {
	switch r.q.Join(permit, ttl, true, longest, r.now) {
	case Asks:
		r.check(r.first < 0, "two ask for all")
		r.first = who
	case Waits:
		w := &waiter{Kind: permit, TTL: ttl, Limit: r.limits[who], Since: r.now, Of: who}
		r.q.Wait(w)
		r.waits = append(r.waits, w)
	default:
		r.check(false, "a permit is joined")
	}
}

// win is a grant of a slot, to one who asks side by side or for all.
func (r *room) win(slot int) bool {
	if r.slots[slot].Lease != nil {
		return false
	}
	switch {
	case len(r.beside) > 0 && r.limits[r.beside[0]] > slot:
		r.hold(slot, r.beside[0])
		r.beside = r.beside[1:]
	case r.first >= 0 && r.atHead == nil && r.limits[r.first] > slot:
		r.hold(slot, r.first)
		r.ended()
	default:
		return false
	}
	r.exit()
	return true
}

func (r *room) hold(slot, who int) {
	r.slots[slot].Take(&lease{kind: permit, term: Term{Since: r.now}, holders: []int{who}})
}

func (r *room) exit() {
	r.begun--
	r.q.Exit()
}

// ended lets the next ask for all.
func (r *room) ended() {
	r.first = -1
	if w := r.q.Next(); w != nil {
		r.check(w == r.waits[0], "the next is not the one who came first")
		r.first, r.waits = w.Of, r.waits[1:]
	}
}

// refused is an attempt of one who asks side by side.
func (r *room) refused() bool {
	if len(r.beside) == 0 {
		return false
	}
	who := r.beside[0]
	r.beside = r.beside[1:]
	r.wait(who)
	return true
}

// pause has the one who asks for all wait for a slot; wake ends that, and giveUp the whole.
func (r *room) pause() bool {
	if r.first < 0 || r.atHead != nil {
		return false
	}
	r.atHead = &waiter{Kind: permit, TTL: ttl, Limit: r.limits[r.first], Since: r.now, Of: r.first}
	r.q.WaitFirst(r.atHead)
	return true
}

func (r *room) wake() bool {
	if r.atHead == nil {
		return false
	}
	r.check(r.q.Leave(r.atHead), "it is not queued")
	r.atHead = nil
	return true
}

func (r *room) giveUp() bool {
	if r.first < 0 || r.atHead != nil {
		return false
	}
	r.ended()
	r.exit()
	return true
}

// leave is the end of the ctx of the one who has waited longest.
func (r *room) leave() bool {
	if len(r.waits) == 0 {
		return false
	}
	r.check(r.q.Leave(r.waits[0]), "who waits is not queued")
	r.check(r.atHead == nil || r.q.First() == r.atHead, "who asks for all is no longer the first")
	r.waits = r.waits[1:]
	r.exit()
	return true
}

func (r *room) release(slot int) bool {
	l := r.slots[slot].Lease
	if l == nil {
		return false
	}
	head := r.q.First()
	fate, w := r.slots[slot].Release(l, &r.q, slot, bounds, r.now)
	may := head != nil && slot < head.Limit && !l.short && r.now.Sub(l.term.Since) < longest
	r.check(may == (fate == HandedOver), "a permit is handed over, or not")
	if fate != HandedOver {
		r.check(fate == Deleted && w == nil && r.slots[slot].Idle(), "a slot is not free that nobody has")
		return true
	}
	r.check(w == head, "it is not the one who came first")
	l.term.Since, l.holders = r.now, []int{w.Of}
	if w == r.atHead {
		r.atHead = nil
		r.ended()
	} else {
		r.waits = r.waits[1:]
	}
	r.exit()
	return true
}

func (r *room) settled() {
	r.check(r.q.Asks == (r.first >= 0), "it is not known whether one asks for all")
	r.check(len(r.waits) == 0 || r.first >= 0, "all wait for nobody")
	r.check(r.q.Unused() == (r.begun == 0), "it is forgotten while one asks, or kept")
	r.check(r.begun == len(r.beside)+len(r.waits)+max(0, min(1, r.first+1)), "callers are lost")
}

func (r *room) state() string {
	var b strings.Builder
	for i := range r.slots {
		if l := r.slots[i].Lease; l != nil {
			fmt.Fprint(&b, min(r.now.Sub(l.term.Since), longest), l.short)
		}
		b.WriteByte('|')
	}
	for _, who := range r.beside {
		fmt.Fprint(&b, r.limits[who])
	}
	fmt.Fprint(&b, "|", r.first >= 0 && r.limits[r.first] > 1, r.first >= 0, r.atHead != nil)
	for _, w := range r.waits {
		fmt.Fprint(&b, w.Limit)
	}
	return fmt.Sprint(b.String(), len(r.limits))
}

func TestAllHistoriesOfPermits(t *testing.T) {
	events := []func(r *room) bool{
		func(r *room) bool { return r.come(1) },
		func(r *room) bool { return r.come(2) },
		func(r *room) bool { return r.win(0) },
		func(r *room) bool { return r.win(1) },
		(*room).refused, (*room).pause, (*room).wake, (*room).giveUp, (*room).leave,
		func(r *room) bool { return r.release(0) },
		func(r *room) bool { return r.release(1) },
		func(r *room) bool {
			if r.slots[0].Lease == nil || r.slots[0].Lease.short {
				return false
			}
			r.slots[0].Lease.short = true
			return true
		},
		func(r *room) bool { r.now = r.now.Add(longest); return r.slots[0].Lease != nil },
	}
	start, seen := clock.Now(), map[string]bool{}
	for now := [][]int{nil}; len(now) > 0 && len(now[0]) < 12; {
		var next [][]int
		for _, path := range now {
			for e := range events {
				longer := append(slices.Clip(path), e)
				r := &room{now: start, first: -1}
				happened := true
				for _, e := range longer {
					r.now = r.now.Add(time.Nanosecond)
					happened = events[e](r)
				}
				if !happened {
					continue
				}
				r.settled()
				require.Empty(t, r.wrong, "%v", longer)
				if s := r.state(); !seen[s] {
					seen[s] = true
					next = append(next, longer)
				}
			}
		}
		now = next
	}
	require.Greater(t, len(seen), 1000)
	t.Logf("%d states", len(seen))
}
