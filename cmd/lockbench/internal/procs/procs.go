// Package procs runs one implementation in several processes of this machine at once, each with
// its own clients and workers, like services that share locks.
//
// A Runner is the parent. It starts its own program again for each child, which calls Serve. The
// child reads from standard input what to open and when to begin, and writes its findings to
// standard output. Both are JSON values, one after the other:
//
//	parent                                child
//	job (implementation, masters) ------>
//	                              <------ answer: opened, or an error
//	start (workload) ------------------->
//	                              <------ answer: ready, its names are made
//	begin (when) ----------------------->
//	                              <------ answers with progress, once a second
//	                              <------ answer with the part of the result
//	end of input ----------------------->  stops early or, when it is done, exits
//
// So a child ends when its parent ends, and the parent ends all children when one fails. All have
// one unlinked file open: the table in which workers see overlaps and hand-overs across processes.
// The table keeps the holds, events and overlaps of a killed child. Its figures are lost: those of the
// child that replaces it begin when that is ready.
package procs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/child"
	"muxlock/internal/faultproxy"
)

// Process names a child of a Runner, for child.Talk.
const Process = "workers"

const (
	lead       = 100 * time.Millisecond // from the begin message to the start of the run
	closeLimit = 10 * time.Second       // for a child to exit after the end of its input
)

// Messages between parent and child.
type (
	job struct {
		Impl    string
		Options rivals.Options
	}
	start struct {
		Config bench.Config
		Place  bench.Place
	}
	answer struct {
		Error    string
		Invalid  *engine.InvalidError // what is wrong with the job; nil: another Error, or none
		Progress *bench.Progress
		Part     *bench.Part
	}
)

// Runner has the processes of one run, connected. They take its implementations in turn. The
// caller must Close it.
type Runner struct {
	impls   []string
	options rivals.Options
	table   *os.File

	mu      sync.Mutex // guards the following
	procs   []*process
	cfg     bench.Config    // of the run
	beginAt int64           // of the run, on the clock of bench.Monotonic
	ctx     context.Context // of the run; nil before
}

// process is one child. The Runner owns it.
type process struct {
	*child.Talker
	dec    *json.Decoder
	number int // from 0; a process that replaces another has its number
}

// Open starts the processes. It returns when all have opened their locker, or with the error of
// the first that cannot.
func Open(ctx context.Context, impls []string, o rivals.Options, procs int) (_ *Runner, err error) {
	table, err := os.CreateTemp("", "lockbench-")
	if err != nil {
		return nil, err
	}
	r := &Runner{impls: impls, options: o, table: table, procs: make([]*process, procs)}
	defer func() {
		if err != nil {
			r.procs = slices.DeleteFunc(r.procs, func(p *process) bool { return p == nil })
			err = errors.Join(err, r.Close())
		}
	}()
	if err := os.Remove(table.Name()); err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	for number := range r.procs {
		g.Go(func() (err error) {
			r.procs[number], err = r.open(ctx, number, o)
			return err
		})
	}
	return r, g.Wait()
}

// open starts a process. It returns when the process has opened its locker.
func (r *Runner) open(ctx context.Context, number int, o rivals.Options) (*process, error) {
	t, err := child.Talk(os.Stderr, []*os.File{r.table}, Process)
	if err != nil {
		return nil, err
	}
	p := &process{t, json.NewDecoder(t.Out), number}
	defer context.AfterFunc(ctx, func() { _ = p.Process.Kill() })() // a child that opens does not read its input
	if o.From != "" {
		o.From = faultproxy.ClientAddr(number)
	}
	if err := p.ask(job{r.impls[number%len(r.impls)], o}); err != nil {
		p.end(0)
		return nil, err
	}
	return p, nil
}

// Run follows the rules of bench.Run. When a process dies, Run ends the others and returns no
// result.
func (r *Runner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	name := strings.Join(r.impls, ",")
	if err := r.table.Truncate(bench.TableSize(cfg)); err != nil {
		return nil, err
	}
	cfg.KeyPrefix = cmp.Or(cfg.KeyPrefix, bench.RandomKeyPrefix())
	g, gctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(gctx, r.endInput)
	defer stop()
	var ready errgroup.Group
	r.cfg = cfg
	for _, p := range r.procs {
		ready.Go(func() error { return r.ready(p, false) })
	}
	if err := ready.Wait(); err != nil {
		return nil, err
	}
	progress := newProgress(len(r.procs), cfg)
	parts := make([]*bench.Part, len(r.procs))
	r.mu.Lock()
	r.ctx, r.beginAt = gctx, bench.Monotonic()+int64(lead)
	if cfg.Begin != nil {
		cfg.Begin(time.Now().Add(lead))
	}
	for i, p := range r.procs {
		g.Go(func() (err error) {
			if err := r.begin(p); err != nil && ctx.Err() == nil {
				return p.failed(err)
			}
			parts[i], err = r.part(i, progress)
			return err
		})
	}
	r.mu.Unlock()
	err := g.Wait()
	if slices.Contains(parts, nil) {
		return nil, err
	}
	res := bench.Merge(name, cfg, parts)
	if cfg.Progress != nil {
		cfg.Progress(bench.Progress{Impl: name, Round: 1, Elapsed: time.Duration(res.DurationS * 1e9), Total: cfg.Duration, Result: res})
	}
	return res, err
}

// Close ends the processes and waits until they are gone.
func (r *Runner) Close() error {
	r.endInput()
	for _, p := range r.procs {
		p.end(closeLimit)
	}
	return r.table.Close()
}

func (r *Runner) endInput() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.procs {
		p.In.Close()
	}
}

// ask sends a message and waits for the answer.
func (p *process) ask(message any) error {
	if err := json.NewEncoder(p.In).Encode(message); err != nil {
		return p.failed(err)
	}
	_, err := p.next()
	return err
}

// next reads one answer.
func (p *process) next() (a answer, err error) {
	if err := p.dec.Decode(&a); err != nil {
		return a, p.failed(err)
	}
	switch {
	case a.Invalid != nil:
		err = fmt.Errorf("process %d: %w", p.number+1, a.Invalid)
	case a.Error != "":
		err = fmt.Errorf("process %d: %s", p.number+1, a.Error)
	}
	return a, err
}

// part reads the answers of a process, and of those that replace it, up to the last. A panic of
// the locker comes with its part.
func (r *Runner) part(number int, progress *progress) (*bench.Part, error) {
	for {
		p := r.process(number)
		a, err := p.next()
		switch {
		case p != r.process(number): // it was killed meanwhile
		case a.Part != nil || err != nil:
			return a.Part, err
		default:
			progress.add(number, *a.Progress)
		}
	}
}

// failed returns an error that says how a silent process ended.
func (p *process) failed(err error) error {
	select {
	case <-p.Done:
		return fmt.Errorf("process %d ended: %s", p.number+1, p.ProcessState)
	case <-time.After(time.Second):
		return fmt.Errorf("process %d: %w", p.number+1, err)
	}
}
