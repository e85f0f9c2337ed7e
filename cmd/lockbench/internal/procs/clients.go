package procs

import (
	"encoding/json"
	"os"
	"time"

	"muxlock/bench"
	"muxlock/internal/child"
)

// retryPause is the time between two tries to open a locker. Each starts a process.
const retryPause = 500 * time.Millisecond

// Pause stops a process. Resume lets it go on. They and Replace make a Runner a faults.Clients.
func (r *Runner) Pause(number int) error { return r.signal(number, child.Pause) }

// Resume ends a Pause.
func (r *Runner) Resume(number int) error { return r.signal(number, child.Resume) }

func (r *Runner) signal(number int, signal func(*os.Process) error) error {
	if err := signal(r.process(number).Process); r.ctx.Err() == nil {
		return err
	}
	return nil // a long Replace delays the faults after it: the run may be over, and the process gone
}

// Replace kills a process, and a new one takes its place. The new one opens its locker and makes its
// names before. While it cannot, as without a master, Replace tries again, until the run is over.
func (r *Runner) Replace(number int) error {
	o := r.options
	o.NewMasters, o.Joins = false, true // the masters have granted locks
	for r.ctx.Err() == nil {
		p, err := r.open(r.ctx, number, o)
		if err == nil && r.ready(p, true) != nil {
			p.end(0)
			p = nil
		}
		if p == nil {
			time.Sleep(retryPause)
			continue
		}
		r.mu.Lock()
		if r.ctx.Err() == nil {
			p, r.procs[number] = r.procs[number], p
			err = r.begin(r.procs[number])
		}
		r.mu.Unlock()
		p.end(0)
		return err
	}
	return nil
}

// ready sends a process the run, and returns when the process has made its names.
func (r *Runner) ready(p *process, joins bool) error {
	return p.ask(start{r.cfg, bench.Place{Proc: p.number, Joins: joins}})
}

// begin tells a process that is ready when to begin.
func (r *Runner) begin(p *process) error {
	return json.NewEncoder(p.In).Encode(r.beginAt)
}

func (r *Runner) process(number int) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.procs[number]
}

// end waits until a process is gone, and kills it if it is not by then.
func (p *process) end(limit time.Duration) {
	p.In.Close()
	defer time.AfterFunc(limit, func() { _ = p.Process.Kill() }).Stop()
	<-p.Done
	p.Out.Close()
}
