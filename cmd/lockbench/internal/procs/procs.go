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
//	start (workload, when) ------------->
//	                              <------ answers with progress, once a second
//	                              <------ answer with the part of the result
//	end of input ----------------------->  stops early or, when it is done, exits
//
// So a child ends when its parent ends, and the parent ends all children when one fails. All have
// one unlinked file open: the table in which workers see overlaps and hand-overs across processes.
package procs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/engine"
	"muxlock/internal/child"
)

// Process names a child of a Runner, for child.Talk.
const Process = "workers"

const (
	// lead is the time from the start message to the begin of the run. It grows with the names,
	// which each child makes first.
	lead        = 100 * time.Millisecond
	leadPerName = 200 * time.Nanosecond
	closeLimit  = 10 * time.Second // for a child to exit after the end of its input
)

// Messages between parent and child.
type (
	job struct {
		Impl    string
		Options rivals.Options
	}
	start struct {
		Config bench.Config
		Proc   int
		Begin  int64
	}
	answer struct {
		Error    string
		Invalid  bool // Error matches engine.ErrInvalid
		Progress *bench.Progress
		Part     *bench.Part
	}
)

// Runner has the processes of one implementation, connected. The caller must Close it.
type Runner struct {
	name  string
	table *os.File
	procs []*process
}

// process is one child. The Runner owns it.
type process struct {
	*child.Talker
	dec *json.Decoder
}

// Open starts the processes. It returns when all have opened their locker, or with the error of
// the first that cannot. Their standard error goes to log.
func Open(ctx context.Context, name string, o rivals.Options, procs int, log *os.File) (_ *Runner, err error) {
	r := &Runner{name: name}
	defer func() {
		if err != nil {
			r.kill()
			err = errors.Join(err, r.Close())
		}
	}()
	if r.table, err = os.CreateTemp("", "lockbench-"); err != nil {
		return nil, err
	}
	if err := os.Remove(r.table.Name()); err != nil {
		return nil, err
	}
	for range procs {
		t, err := child.Talk(log, []*os.File{r.table}, Process)
		if err != nil {
			return nil, err
		}
		r.procs = append(r.procs, &process{t, json.NewDecoder(t.Out)})
	}
	defer context.AfterFunc(ctx, r.kill)() // a child that opens does not read its input
	var g errgroup.Group
	for i, p := range r.procs {
		g.Go(func() error {
			if err := json.NewEncoder(p.In).Encode(job{name, o}); err != nil {
				return p.failed(i, err)
			}
			_, err := p.next(i)
			return err
		})
	}
	return r, g.Wait()
}

// Run follows the rules of bench.Run. When a process dies, Run ends the others and returns no
// result.
func (r *Runner) Run(ctx context.Context, cfg bench.Config) (*bench.Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := r.table.Truncate(bench.TableSize(cfg)); err != nil {
		return nil, err
	}
	if cfg.KeyPrefix == "" {
		cfg.KeyPrefix = bench.RandomKeyPrefix()
	}
	ahead := lead + time.Duration(bench.TableSize(cfg)/64)*leadPerName
	begin := bench.Monotonic() + int64(ahead)
	if cfg.Begin != nil {
		cfg.Begin(time.Now().Add(ahead))
	}
	g, gctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(gctx, r.endInput)
	defer stop()
	progress := newProgress(r.name, len(r.procs), cfg.Progress)
	parts := make([]*bench.Part, len(r.procs))
	for i, p := range r.procs {
		g.Go(func() (err error) {
			if err := json.NewEncoder(p.In).Encode(start{cfg, i, begin}); err != nil && ctx.Err() == nil {
				return p.failed(i, err)
			}
			parts[i], err = p.part(i, progress)
			return err
		})
	}
	err := g.Wait()
	for _, p := range parts {
		if p == nil {
			return nil, err
		}
	}
	res := bench.Merge(r.name, cfg, parts)
	progress.finish(cfg, res)
	return res, err
}

// Close ends the processes and waits until they are gone.
func (r *Runner) Close() error {
	r.endInput()
	timer := time.AfterFunc(closeLimit, r.kill)
	defer timer.Stop()
	for _, p := range r.procs {
		<-p.Done
		p.Out.Close()
	}
	if r.table == nil {
		return nil
	}
	return r.table.Close()
}

func (r *Runner) endInput() {
	for _, p := range r.procs {
		p.In.Close()
	}
}

func (r *Runner) kill() {
	for _, p := range r.procs {
		_ = p.Process.Kill()
	}
}

// next reads one answer.
func (p *process) next(number int) (a answer, err error) {
	if err := p.dec.Decode(&a); err != nil {
		return a, p.failed(number, err)
	}
	if a.Error != "" {
		err = fmt.Errorf("process %d: %w", number+1, reported{a.Error, a.Invalid})
	}
	return a, err
}

// part reads answers up to the last. A panic of the locker comes with its part.
func (p *process) part(number int, progress *progress) (*bench.Part, error) {
	for {
		a, err := p.next(number)
		if err != nil || a.Part != nil {
			return a.Part, err
		}
		progress.add(*a.Progress)
	}
}

// failed returns an error that says how a silent process ended.
func (p *process) failed(number int, err error) error {
	select {
	case <-p.Done:
		return fmt.Errorf("process %d ended: %s", number+1, p.ProcessState)
	case <-time.After(time.Second):
		return fmt.Errorf("process %d: %w", number+1, err)
	}
}

// reported is an error that happened in a child.
type reported struct {
	text    string
	invalid bool
}

func (e reported) Error() string        { return e.text }
func (e reported) Is(target error) bool { return e.invalid && target == engine.ErrInvalid }
