package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/internal/oneline"
	"muxlock/pipeline"
)

// A group is a set of masters with a lasting id.
type group struct {
	id        string
	hash      uint64         // of id
	masters   []string       // as in Config
	servers   []string       // their addresses
	databases []string       // addresses and databases, sorted
	set       string         // the set's id on its masters; "" without Fencing
	engine    *engine.Engine // gives out no locks; nil: New failed
	pipe      *pipeline.Pipeline
	away      error // why no quorum voted when the notes were last read; nil: it did
}

// A router is the pipe of an Engine. It takes each request to the group of its key.
type router struct {
	inside.Pipe        // nil: requests with a key go to Of(key)
	prefix      string // of all keys
	all         []*group
	now, next   []*group // next is empty unless the map changes
	readOnly    bool
	in          inside.Engine // of a group
	own, latest note          // latest: known to this process; owned by keep once agreed
	agreed      atomic.Bool   // the map has been compared
	comparing   sync.Mutex    // one goroutine compares
	keeper      sync.WaitGroup
	stop        context.CancelFunc // ends keep
}

// Of returns the pipe of a key's group, or of both if the key moves.
func (r *router) Of(key string) inside.Pipe {
	one, two := r.find(key)
	if one == two {
		return one.pipe
	}
	return moved{one.pipe, two.pipe}
}

func (r *router) Number() int { return len(r.all[0].masters) }

// find returns a key's groups in both maps, in the order of their ids: all processes take them in one order.
func (r *router) find(key string) (one, two *group) {
	if len(r.all) == 1 {
		return r.all[0], r.all[0]
	}
	_, key = inside.SlotOf(strings.TrimPrefix(key, pipeline.IntentPrefix))
	part := hashed(strings.TrimPrefix(key, r.prefix))
	one = pick(r.now, part)
	if two = one; len(r.next) > 0 {
		two = pick(r.next, part)
	}
	if one.id > two.id {
		return two, one
	}
	return one, two
}

// pick is rendezvous hashing: it returns the group with the largest weight. So a new group takes names from all others, and
// no name moves between the others. Hash and weight may never change, since all processes must agree.
func pick(groups []*group, name string) (best *group) {
	most, h := uint64(0), hash(name)
	for _, g := range groups {
		if w := mix(h ^ g.hash); best == nil || w > most {
			best, most = g, w
		}
	}
	return best
}

// hash is FNV-1a of 64 bits.
func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// hashed returns the part of a name that decides its group: the text between its first { and the next }, as in Redis
// Cluster, or the whole name if there is no such text.
func hashed(name string) string {
	_, rest, _ := strings.Cut(name, "{")
	if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
		return tag
	}
	return name
}

// each calls fn for all groups side by side, and joins their errors, with the ids.
func (r *router) each(fn func(*group) error) error {
	errs := make([]error, len(r.all))
	var all sync.WaitGroup
	for i, g := range r.all {
		all.Go(func() {
			if err := fn(g); err != nil {
				errs[i] = fmt.Errorf("group %q: %w", g.id, err)
			}
		})
	}
	all.Wait()
	return oneline.Join(errs...)
}

// DoMany asks all groups side by side. Like Pipeline.DoMany, it never runs two calls of each at once.
func (r *router) DoMany(ctx context.Context, reqs []pipeline.Request, each func(i int, out *pipeline.Outcome, err error)) {
	parts, at := make(map[inside.Pipe][]pipeline.Request), make(map[inside.Pipe][]int)
	for i := range reqs {
		of := r.Of(reqs[i].Name)
		parts[of], at[of] = append(parts[of], reqs[i]), append(at[of], i)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for of, part := range parts {
		all.Go(func() {
			of.DoMany(ctx, part, func(i int, out *pipeline.Outcome, err error) {
				mu.Lock()
				defer mu.Unlock()
				each(at[of][i], out, err)
			})
		})
	}
	all.Wait()
}

func (r *router) Ready(ctx context.Context) error {
	if err := r.vote(ctx); err != nil {
		return err
	}
	return r.Agree(ctx, true)
}

// vote waits until a quorum of each group votes.
func (r *router) vote(ctx context.Context) error {
	return r.each(func(g *group) error { return g.pipe.Ready(ctx) })
}

// Agree compares the map, unless that is done.
func (r *router) Agree(ctx context.Context, wait bool) (err error) {
	for ; !r.agreed.Load(); time.Sleep(50 * time.Millisecond) {
		if wait {
			err = r.vote(ctx)
		}
		if err == nil {
			r.comparing.Lock()
			err = cmp.Or(r.compare(ctx, false))
			r.comparing.Unlock()
		}
		switch {
		case err == nil, errors.Is(err, engine.ErrConfigMismatch), errors.Is(err, engine.ErrClosed):
			return err
		case !wait, ctx.Err() != nil:
			return fmt.Errorf("%w: %w: %w", engine.ErrNoQuorum, engine.ErrNotAcquired, err)
		}
	}
	return nil
}

func (r *router) Refuse() {
	_ = r.each(func(g *group) error { g.pipe.Refuse(); return nil })
}

func (r *router) Close() {
	r.stop()
	r.keeper.Wait()
	_ = r.each(func(g *group) error {
		if g.engine != nil {
			g.engine.Close()
		}
		return nil
	})
}

func (r *router) Voted() (n uint64) {
	for _, g := range r.all {
		n += g.pipe.Voted()
	}
	return n
}

func (r *router) Stats() (sum pipeline.Stats) {
	for _, g := range r.all {
		s := g.pipe.Stats()
		sum.Rounds += s.Rounds
		sum.Requests += s.Requests
		sum.LargestRound = max(sum.LargestRound, s.LargestRound)
		sum.Overloaded += s.Overloaded
		sum.Queued += s.Queued
		sum.Masters = append(sum.Masters, s.Masters...)
	}
	return sum
}
