package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/internal/clock"
	"muxlock/internal/line"
)

// The phases of a run. In draining, only operations that were due before may begin. An
// interrupted run goes on to draining and stopped at once.
const (
	warming int32 = iota
	measuring
	draining
	stopped
)

// runner is one run, or one process's part of it. The workers share it. phase, samples, audit,
// history, rec and pacer synchronize themselves; the rest is read-only once the workers run.
type runner struct {
	impl    string
	cfg     Config
	locker  Locker
	names   []string
	zipf    *zipf
	base    time.Time     // origin of now
	pacer   *pacer        // nil: closed loop
	alarms  *clock.Alarms // nil in virtual time
	rec     *recorder
	audit   *audit
	history *history // of Config.History; nil: none
	waits   bool     // Config.Waits
	joins   bool     // of Place
	allowed int64    // allowance for drift of each lease; below 0: unknown

	ctx     context.Context // of acquires; ends with the drain
	cancel  context.CancelFunc
	timed   context.Context // ends with the measured time
	end     context.CancelFunc
	relCtx  context.Context // of releases
	release context.CancelFunc
	workers []*worker
	keepers []*worker      // of Config.Kept
	held    []Held         // op hold: by name; the worker that holds it owns it
	done    sync.WaitGroup // of the goroutines of workers
	stalls  *stallWatch    // once measured
	report  func(Progress) // set by reporter

	failed context.Context         // its cause is the error of the first call of fail
	fail   context.CancelCauseFunc // ends the run

	_       [64]byte // phase is read by every operation
	phase   atomic.Int32
	_       [64]byte
	samples samples
}

// newRunner prepares one process of a run that begins at base, which is called when all is ready: many names and
// workers take seconds. The contexts of calls do not end with ctx: the runner ends them after it has taken the figures.
func newRunner(ctx context.Context, impl string, l Locker, cfg Config, t *table, base func() time.Time) *runner {
	cfg.KeyPrefix = cmp.Or(cfg.KeyPrefix, RandomKeyPrefix())
	r := &runner{
		impl:   impl,
		cfg:    cfg,
		locker: l,
		names:  names(cfg.KeyPrefix, cfg.names()),
		zipf:   newZipf(cfg),
		rec:    newRecorder(cfg),
		audit:  &audit{t},
		waits:  cfg.Waits(),
		alarms: clock.NewAlarms(),

		allowed: allowance(l, cfg.TTL),
	}
	r.history = newHistory(t, r.names, cfg.proc)
	ctx = context.WithoutCancel(ctx)
	r.failed, r.fail = context.WithCancelCause(ctx)
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.timed, r.end = context.WithCancel(r.ctx)
	r.relCtx, r.release = context.WithCancel(ctx)
	if cfg.Rate > 0 {
		r.pacer = newPacer(cfg, r.zipf, r.now, r.alarms, r.timed.Done())
	}
	if cfg.Op == Hold {
		r.held = make([]Held, cfg.keys()) // before the heap is measured
	}
	for i := range cfg.Workers {
		r.workers = append(r.workers, newWorker(r.ctx, r, i))
	}
	for i := range cfg.Kept {
		w := newWorker(r.timed, r, cfg.Workers+i)
		w.number = cfg.Workers*cfg.procs() + cfg.proc*cfg.Kept + i // behind the workers of all processes
		w.keys = []int{cfg.keys() + i}                             // behind their names
		r.keepers = append(r.keepers, w)
	}
	r.base = base()
	return r
}

// used returns the used part of the validity of a lock that was acquired at now and ends at
// until; below 0: unknown, as of a lock that another process may have passed on with a short lease.
func (r *runner) used(now, until int64) int64 {
	if r.allowed < 0 || r.cfg.procs() > 1 && until-now <= int64(line.Passed(r.cfg.TTL)) {
		return -1
	}
	return max(int64(r.cfg.TTL)-r.allowed-(until-now), 0)
}

// RandomKeyPrefix returns a default for Config.KeyPrefix.
func RandomKeyPrefix() string { return "lockbench:" + rand.Text()[:10] + ":" }

// now is the run's clock: monotonic, in ns. time.Now would read a second clock.
func (r *runner) now() int64 { return int64(time.Since(r.base)) }

// caught is deferred by each goroutine that calls the locker. A panic there ends the run.
func (r *runner) caught() {
	if v := recover(); v != nil {
		r.fail(fmt.Errorf("bench: %s: %s: %v\n%s", r.impl, ReasonPanic, v, debug.Stack()))
	}
}
