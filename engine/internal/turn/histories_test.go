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

// The kinds of callers that a history has.
var (
	exclusive = &Kind{TakesOver: true, HandsOver: true}
	ofSet     = &Kind{HandsOver: true}
	leader    = &Kind{TakesOver: true}
	reader    = &Kind{Shared: true}
	adopted   = &Kind{}
)

var letters = map[*Kind]string{exclusive: "x", ofSet: "s", leader: "l", reader: "r", adopted: "a"}

const (
	longest   = 20 * time.Millisecond
	newcomers = 10 * time.Millisecond
	ttl       = time.Minute
)

var bounds = Bounds{Longest: longest, Newcomers: newcomers}

// A lease is a fake of the engine's.
type lease struct {
	kind    *Kind
	term    Term
	short   bool // too little validity is left for the next
	holders []int
}

func (l *lease) Kind() *Kind                             { return l.kind }
func (l *lease) Term() *Term                             { return &l.term }
func (l *lease) Lasts(time.Duration, clock.Instant) bool { return !l.short }

type (
	queue  = Queue[*lease, int]
	waiter = Waiter[int]
)

// A world is the callers of one process who want one name, by number. A fault is a rule that is left out.
type world struct {
	q       queue
	fault   string
	now     clock.Instant
	callers int       // so far
	asks    int       // the caller who asks the masters; -1: none
	extends *lease    // what asks extends first; nil: it asks for a lease of its own
	deletes bool      // asks is one who released, and whose lease is being deleted
	waits   []*waiter // in order of arrival
	kinds   []*Kind   // by caller
	old     []*lease  // that stand apart
	wrong   string    // what must not be
}

func newWorld(fault string) *world { return &world{fault: fault, now: clock.Now(), asks: -1} }

// An event reports whether it changed anything.

// come is a caller who wants the name.
func (w *world) come(k *Kind, waits bool) bool {
	who := w.callers
	w.callers++
	w.kinds = append(w.kinds, k)
	had, shared := w.q.Lease, len(w.waits) == 0
	switch w.q.Join(k, ttl, waits, longest, w.now) {
	case Asks:
		if had != nil {
			w.check(shared, "a reader passes one who waits")
			w.setApart(had)
		}
		w.asksNow(who)
	case Joins:
		w.check(shared, "a reader passes one who waits")
		w.joins(who)
	case Waits:
		w.check(waits, "one who does not wait is queued")
		one := &waiter{Kind: k, TTL: ttl, Since: w.now, Of: who}
		if w.fault == "last in, first out" {
			w.q.WaitFirst(one)
		} else {
			w.q.Wait(one)
		}
		w.waits = append(w.waits, one)
	case Refused:
		w.check(!waits, "one who waits is refused")
		w.check(w.q.Lease != nil || w.asks >= 0 || w.deletes || w.q.First() != nil, "one is refused who could ask")
	}
	return true
}

// win is the end of an attempt that was granted, and lose of one that was not.
func (w *world) win() bool {
	if w.asks < 0 || w.deletes {
		return false
	}
	l := w.extends
	if l == nil {
		l = &lease{term: Term{Since: w.now}}
	}
	l.kind, l.short, l.holders = w.kinds[w.asks], false, []int{w.asks}
	w.asks, w.extends = -1, nil
	w.q.Take(l)
	w.letIn()
	return true
}

func (w *world) lose() bool {
	if w.asks < 0 {
		return false
	}
	w.asks, w.extends, w.deletes = -1, nil, false
	w.next()
	return true
}

// letIn serves the readers at the head of the queue.
func (w *world) letIn() {
	for {
		had := w.q.Lease
		one, joins := w.q.NextReader(longest, w.now)
		if one == nil {
			w.check(w.fault != "" || len(w.waits) == 0 || !w.waits[0].Kind.Shared || had == nil || !had.kind.Shared, "a reader waits beside readers")
			return
		}
		w.served(one)
		if joins {
			w.joins(one.Of)
		} else {
			w.setApart(had)
			w.asksNow(one.Of)
		}
		if w.fault == "one reader at a time" {
			return
		}
	}
}

func (w *world) joins(who int) {
	l := w.q.Lease
	w.check(l.kind.Shared && w.kinds[who].Shared, "a lease is shared by others than readers")
	w.check(w.now.Sub(l.term.Since) < longest && !l.short, "a reader joins an old lease")
	l.holders = append(l.holders, who)
}

func (w *world) setApart(l *lease) {
	w.check(l.kind.Shared, "a lease stands apart that is no reader's")
	w.check(slices.Contains(w.q.Apart, l), "a lease that stands apart is forgotten")
	w.old = append(w.old, l)
}

func (w *world) asksNow(who int) {
	w.check(w.asks < 0, "two ask")
	w.check(w.q.Lease == nil, "one asks for what the process has")
	w.asks = who
}

// served notes that a waiter has left the queue.
func (w *world) served(one *waiter) {
	w.check(len(w.waits) > 0 && w.waits[0] == one, "one is served before another who came first")
	for i := range w.waits {
		if w.waits[i] == one {
			w.waits = append(w.waits[:i:i], w.waits[i+1:]...)
			return
		}
	}
}

func (w *world) next() {
	if w.fault == "nobody is next" {
		w.q.Asks, w.q.Lease = false, nil
		return
	}
	if one := w.q.Next(); one != nil {
		w.served(one)
		w.asksNow(one.Of)
	}
}

// release is that of a holder of the present lease, or of one that stands apart.
func (w *world) release(l *lease) bool {
	if l == nil || len(l.holders) == 0 {
		return false
	}
	if l.holders = l.holders[1:]; len(l.holders) > 0 {
		return true
	}
	apart, before, age := l != w.q.Lease, l.term, w.now.Sub(l.term.Since)
	first := w.q.First()
	asked := l
	if w.fault == "a lease that stands apart is the present one" && w.q.Lease != nil {
		asked = w.q.Lease
	}
	fate, one := w.q.Release(asked, &w.q, -1, bounds, w.now)
	w.check(!apart || fate == Deleted && one == nil, "a lease that stands apart is handed over")
	switch fate {
	case Deleted:
		w.check(apart || before.Ended || w.q.Idle(), "the next does not ask")
	case DeletedOwn:
		w.deletes = true
		w.check(first != nil, "somebody waits")
		may := first.Kind.TakesOver && l.kind.HandsOver && !before.Revealed && age < newcomers
		w.check(!may, "a lease is deleted that may be handed over")
	case Extended, HandedOver:
		w.served(one)
		w.check(one.Kind.TakesOver && l.kind.HandsOver && !before.Revealed && !before.Ended, "a lease is handed over that must not be")
		w.check(age < longest, "a lease is handed over for too long")
		w.check(!before.Newcomers || one.Since.Before(before.Since) || age < newcomers, "newcomers have it for too long")
		w.check((fate == Extended) == l.short, "a lease is extended without need, or not in need")
		w.check(l.term.HandOvers == before.HandOvers+1, "a hand-over does not count")
		if fate == Extended {
			w.asksNow(one.Of)
			w.extends = l
		} else {
			w.check(l.term.Newcomers == !one.Since.Before(before.Since), "it is not known who is a newcomer")
			l.kind, l.holders = one.Kind, []int{one.Of}
		}
	}
	return true
}

// deleted is the masters' answer to a release that others wait for.
func (w *world) deleted() bool {
	if !w.deletes {
		return false
	}
	w.deletes, w.asks = false, -1
	w.next()
	return true
}

// leave is a waiter whose ctx ends.
func (w *world) leave(i int) bool {
	if i >= len(w.waits) {
		return false
	}
	w.check(w.q.Leave(w.waits[i]), "one who waits is not queued")
	w.check(!w.q.Leave(w.waits[i]), "one leaves twice")
	w.waits = append(w.waits[:i:i], w.waits[i+1:]...)
	if w.fault != "who leaves lets nobody in" {
		w.letIn()
	}
	return true
}

// perish is the loss of the present lease.
func (w *world) perish() bool {
	l := w.q.Lease
	if l == nil {
		return false
	}
	l.term.Ended, l.holders = true, nil
	w.next()
	return true
}

func (w *world) pass(d time.Duration) bool {
	w.now = w.now.Add(d)
	return w.q.Lease != nil
}

func (w *world) present(do func(l *lease)) bool {
	if w.q.Lease == nil {
		return false
	}
	do(w.q.Lease)
	return true
}

func (w *world) check(holds bool, what string) {
	if !holds && w.wrong == "" {
		w.wrong = what
	}
}

// state is all that matters of the world from now on.
func (w *world) state() string {
	var b strings.Builder
	show := func(l *lease) {
		if l != nil {
			age := min(w.now.Sub(l.term.Since), longest)
			fmt.Fprint(&b, letters[l.kind], age, l.term.HandOvers, l.term.Newcomers, l.term.Revealed, l.short, len(l.holders))
		}
		b.WriteByte('|')
	}
	show(w.q.Lease)
	show(w.extends)
	for _, l := range w.old {
		if len(l.holders) > 0 {
			show(l)
		}
	}
	if w.asks >= 0 {
		b.WriteString(letters[w.kinds[w.asks]])
	}
	fmt.Fprint(&b, w.asks >= 0, w.deletes, w.q.Asks)
	for _, one := range w.waits {
		b.WriteString(letters[one.Kind])
		if l := w.q.Lease; l != nil {
			fmt.Fprint(&b, one.Since.Before(l.term.Since))
		}
	}
	return b.String()
}

// settled checks what must hold between two events.
func (w *world) settled() {
	asks := w.asks >= 0 || w.deletes
	w.check(w.q.Asks == asks, "it is not known whether one asks")
	w.check(!asks || w.q.Lease == nil, "one asks for what the process has")
	w.check(len(w.waits) == 0 || asks || w.q.Lease != nil, "all wait for nobody")
	w.check(w.q.Idle() == (!asks && w.q.Lease == nil && len(w.waits) == 0), "idle, or not")
	if l := w.q.Lease; l != nil {
		w.check(len(l.holders) > 0 && !l.term.Ended, "nobody holds what the process has")
		w.check(len(l.holders) == 1 || l.kind.Shared, "two hold what one may")
		w.check(!l.kind.Shared || len(w.waits) == 0 || !w.waits[0].Kind.Shared, "a reader waits beside readers")
	}
	first := w.q.First()
	w.check((first == nil) == (len(w.waits) == 0) && (first == nil || first == w.waits[0]), "who came first is not the first")
}

// events are all that may happen, by name.
var events = []struct {
	name string
	do   func(w *world) bool
}{
	{"exclusive comes", func(w *world) bool { return w.come(exclusive, true) }},
	{"one tries", func(w *world) bool { return w.come(exclusive, false) }},
	{"set comes", func(w *world) bool { return w.come(ofSet, true) }},
	{"leader comes", func(w *world) bool { return w.come(leader, true) }},
	{"reader comes", func(w *world) bool { return w.come(reader, true) }},
	{"reader tries", func(w *world) bool { return w.come(reader, false) }},
	{"won", (*world).win},
	{"given up", (*world).lose},
	{"release", func(w *world) bool { return w.release(w.q.Lease) }},
	{"release of an old one", func(w *world) bool { return len(w.old) > 0 && w.release(w.old[0]) }},
	{"deleted", (*world).deleted},
	{"first leaves", func(w *world) bool { return w.leave(0) }},
	{"second leaves", func(w *world) bool { return w.leave(1) }},
	{"lost", (*world).perish},
	{"time passes", func(w *world) bool { return w.pass(newcomers) }},
	{"little is left", func(w *world) bool { return w.present(func(l *lease) { l.short = true }) }},
	{"revealed", func(w *world) bool { return w.present(func(l *lease) { l.term.Revealed = true }) }},
}

// search plays all histories of up to depth events, each state once. It returns the first that goes wrong.
func search(depth int, fault string) (states int, history []string, wrong string) {
	start := clock.Now()
	replay := func(path []uint8) *world {
		w := newWorld(fault)
		w.now = start
		for _, e := range path {
			w.now = w.now.Add(time.Nanosecond) // no two come at the same instant
			if !events[e].do(w) {
				return nil
			}
		}
		w.settled()
		return w
	}
	seen := map[string]bool{}
	for now := [][]uint8{nil}; len(now) > 0 && len(now[0]) < depth; {
		var next [][]uint8
		for _, path := range now {
			for e := range events {
				longer := append(path[:len(path):len(path)], uint8(e))
				w := replay(longer)
				if w == nil {
					continue
				}
				if w.wrong != "" {
					for _, e := range longer {
						history = append(history, events[e].name)
					}
					return len(seen), history, w.wrong
				}
				if s := w.state(); !seen[s] && len(w.waits) <= 3 {
					seen[s] = true
					next = append(next, longer)
				}
			}
		}
		now = next
	}
	return len(seen), nil, ""
}

func TestAllHistoriesOfAQueue(t *testing.T) {
	depth := 9
	if testing.Short() {
		depth = 6
	}
	states, history, wrong := search(depth, "")
	require.Empty(t, wrong, strings.Join(history, ", "))
	t.Logf("%d states", states)
}

func TestHistoriesFindARuleThatIsLeftOut(t *testing.T) {
	for fault, want := range map[string]string{
		"last in, first out":                           "who came first is not the first",
		"nobody is next":                               "all wait for nobody",
		"who leaves lets nobody in":                    "a reader waits beside readers",
		"one reader at a time":                         "a reader waits beside readers",
		"a lease that stands apart is the present one": "a lease that stands apart is handed over",
	} {
		_, history, wrong := search(9, fault)
		require.Equal(t, want, wrong, "%s: %v", fault, history)
	}
}
