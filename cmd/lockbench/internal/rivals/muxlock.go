package rivals

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"muxlock/bench"
	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/oneline"
	"muxlock/internal/redlock"
	"muxlock/internal/wire"
	"muxlock/pipeline"
)

// muxlock is this project's engine with its defaults. An Acquire retries until ctx ends: after 12
// to 37 ms if the lock is held, sooner after a split vote.
type muxlock struct{ *engine.Engine }

func openMuxlock(ctx context.Context, o Options) (bench.Locker, error) {
	var e *engine.Engine
	err := o.patiently(func() (err error) {
		if o.Groups <= 1 {
			e, err = engine.New(ctx, o.engine())
			return err
		}
		several, err := groups.New(ctx, o.groups())
		if err == nil {
			e = several.Engine
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	now, cancel := context.WithTimeout(ctx, 0) // without voting masters there is nothing to measure
	defer cancel()
	if missing, is := errors.AsType[*engine.NotReadyError](e.Ready(now)); is && !o.Joins {
		_ = e.Close()
		return nil, fmt.Errorf("%w (--new-masters, if they have never granted a lock)", missing)
	}
	return muxlock{e}, nil
}

// patiently tries again if the masters were started for this run: a busy machine may keep them from answering in time.
func (o Options) patiently(try func() error) (err error) {
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		if err = try(); err == nil || !o.NewMasters || !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return err
}

// Validate returns the engine's error about the options.
func (o Options) Validate() error {
	if o.Groups <= 1 {
		return o.engine().Validate()
	}
	return o.groups().Validate()
}

// groups splits the masters evenly. The masters keep a note of their groups for each prefix, so every split and SetUp has its own.
func (o Options) groups() groups.Config {
	cfg := groups.Config{Config: o.engine(), Groups: map[string][]string{}}
	cfg.Masters, cfg.Prefix = nil, fmt.Sprintf("lockbench:groups:%08x:", crc32.ChecksumIEEE(fmt.Append(nil, o.Groups, o.Fencing, o.Masters, o.SetUp)))
	for masters := range slices.Chunk(o.Masters, len(o.Masters)/max(o.Groups, 1)) {
		cfg.Groups[strconv.Itoa(len(cfg.Groups)+1)] = masters
	}
	return cfg
}

func (o Options) engine() engine.Config {
	return engine.Config{
		Masters: o.Masters, TTL: o.TTL, MaxTTL: o.MaxTTL, MasterTimeout: o.MasterTimeout, MastersAreNew: o.NewMasters && !o.Fencing,
		RetryHeld: o.RetryHeld, RetrySplit: o.RetrySplit, Fencing: o.Fencing, Client: rueidis.ClientOption{Dialer: o.dialer()},
	}
}

// SetUp makes each group of masters that were started for this run a set, which fencing needs. An earlier round
// may have made them another set, or they may have lost their data. No name outlives a round, so
// SetUp need not wait for leases or keep fences growing.
func SetUp(ctx context.Context, o Options) error {
	// The longest MasterTimeout that this TTL allows; embedded masters take 0.1 s.
	longest := (o.TTL - redlock.DriftAllowance(o.TTL, redlock.DefaultDrift)) * 3 / 4
	o.Fencing, o.MasterTimeout = false, max(o.MasterTimeout, min(longest, 5*time.Second))
	for _, o.Masters = range o.groups().Groups {
		err := o.patiently(func() error {
			return admin.SetUp(ctx, o.engine(), admin.SetUpOptions{MastersAreNew: true, Recover: true})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A single master is not the set that was set up, so these locks have no fencing tokens. If the masters were started for
// this run, it leaves their set; else the engine refuses to start.
func openMuxlockSingle(ctx context.Context, o Options) (bench.Locker, error) {
	if o.SetUp != "" {
		if _, err := wire.Ask(ctx, o.Masters[0], time.Second, "DEL", pipeline.ReservedPrefix+"set"); err != nil {
			return nil, err
		}
	}
	o.Masters, o.Fencing = o.Masters[:1], false
	return openMuxlock(ctx, o)
}

func (l muxlock) Acquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return heldOr[*engine.Lock](ctx, taken)(l.Engine.Acquire(ctx, name, ttl))
}

func (l muxlock) TryAcquire(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return heldOr[*engine.Lock](ctx, taken)(l.Engine.TryAcquire(ctx, name, ttl))
}

func (l muxlock) AcquireShared(ctx context.Context, name string, ttl time.Duration) (bench.Held, error) {
	return heldOr[*engine.Lock](ctx, taken)(l.Engine.AcquireShared(ctx, name, ttl))
}

func (l muxlock) AcquirePermit(ctx context.Context, name string, limit int, ttl time.Duration) (bench.Held, error) {
	return heldOr[*engine.Lock](ctx, taken)(l.Engine.AcquirePermit(ctx, name, limit, ttl))
}

func taken(err error) bool { return errors.Is(err, engine.ErrTaken) }

func (l muxlock) AcquireAll(ctx context.Context, names []string, ttl time.Duration) (bench.Held, error) {
	set, err := l.Engine.AcquireAll(ctx, names, ttl)
	if err != nil {
		return nil, outcome(ctx, err, taken)
	}
	return muxlockSet{set}, nil
}

type muxlockSet struct{ *engine.Set }

func (s muxlockSet) FenceOf(i int) uint64 { return s.Locks()[i].Fence() }

func (l muxlock) AcquireMany(ctx context.Context, names []string, ttl time.Duration) (bench.Held, []int, error) {
	held, got, failed := muxlockMany{l.Engine, nil}, []int(nil), error(nil)
	for i, r := range l.Engine.AcquireMany(ctx, names, ttl) {
		if r.Lock != nil {
			held.locks, got = append(held.locks, r.Lock), append(got, i)
		} else if failed == nil || taken(failed) { // another error says more
			failed = r.Err
		}
	}
	switch {
	case len(got) == 0:
		return nil, nil, outcome(ctx, failed, taken)
	case taken(failed):
		failed = nil
	}
	return held, got, failed
}

// muxlockMany is the locks that one AcquireMany got.
type muxlockMany struct {
	engine *engine.Engine
	locks  []*engine.Lock
}

func (m muxlockMany) FenceOf(i int) uint64 { return m.locks[i].Fence() }

// Until returns when the first of the locks ends.
func (m muxlockMany) Until() time.Time {
	return slices.MinFunc(m.locks, func(a, b *engine.Lock) int { return a.Until().Compare(b.Until()) }).Until()
}

func (m muxlockMany) Release(ctx context.Context) error {
	return oneline.Join(m.engine.ReleaseMany(ctx, m.locks)...)
}

func (l muxlock) Counts() bench.Counts {
	s := l.Stats()
	return bench.Counts{Rounds: s.Rounds, Commands: s.Requests, LateQuorum: s.Expired, FenceSecondTrips: s.FencesRaised}
}

// HotNames returns those that were waited for longest.
func (l muxlock) HotNames() (names []bench.HotName) {
	waited, _ := l.Engine.HotNames()
	for _, n := range waited {
		names = append(names, bench.HotName{Name: n.Name, Acquired: int64(n.Acquires), WaitedNs: int64(n.Waited)})
	}
	return names
}

func (l muxlock) Allowance(ttl time.Duration) time.Duration {
	return redlock.DriftAllowance(ttl, redlock.DefaultDrift)
}
