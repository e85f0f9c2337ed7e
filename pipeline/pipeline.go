package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
	"muxlock/pipeline/internal/membership"
	"muxlock/pipeline/internal/pace"
	"muxlock/pipeline/internal/pending"
	"muxlock/pipeline/internal/wakeup"
)

var (
	// ErrOverloaded is returned when the queue is full; nothing was sent.
	ErrOverloaded = errors.New("muxlock: overloaded")
	// ErrClosed is returned for a call on a pipeline that is closing; nothing was sent.
	ErrClosed = errors.New("muxlock: closed")
)

// Config describes the masters and the bounds.
type Config struct {
	Masters []Master
	// Timeout is how long one master may take for a batch before it is set aside.
	Timeout time.Duration
	// Queue is how many acquires may wait to be sent, patient ones aside. Releases and extends always may: there are never
	// more than a few for each live lock.
	Queue int
	// Wait is how long a restarted master is not asked for new locks: as long as a lease that it forgot may live. 0: the
	// masters forget nothing.
	Wait time.Duration
	// MastersAreDurable asserts that a restart forgets nothing. A master that was a replica meanwhile waits all the same.
	MastersAreDurable bool
	// MastersAreNew asserts that the masters which New connects to never granted a lock.
	MastersAreNew bool
	// Fencing makes every acquire take a fencing token. The masters must have been set up for it (Setup), with the same
	// addresses and MaxTTL.
	Fencing bool
	// MaxTTL is the longest lease that any client may ask for.
	MaxTTL time.Duration
	// ReadOnly lets New succeed where masters are set up otherwise. They cast no votes.
	ReadOnly bool
	// Changed is called when a master is set aside, with the cause; when it is up again but must wait before it votes, with
	// a cause that says how long (ErrRestarted) or what is missing; and when it votes, with none; and with ErrReconnected.
	// It may be nil. When New begins, masters count as voting. Each master's reader makes the calls, in order, also before
	// New returns; calls for different masters run concurrently. No lock is held. While Changed runs, the reader does
	// nothing else. It must not call Close, which waits for it.
	Changed func(master string, up bool, cause error)
}

// Pipeline carries the requests of any number of goroutines to all masters. It is safe for concurrent use.
type Pipeline struct {
	cfg      Config
	masters  []*master // fixed after New
	quorum   int
	ctx      context.Context // ends when Close has waited for calls under way
	cancel   context.CancelFunc
	closing  chan struct{}   // closed by the first Refuse or Close
	known    chan struct{}   // closed and replaced when a master's hearing changes; guarded by mu
	set      *membership.Set // fixed after New; nil without fencing
	running  sync.WaitGroup  // the masters' goroutines and ticks
	calls    sync.Pool       // of Do; per pipeline, like together: a channel must stay in its testing/synctest bubble
	together sync.Pool       // of DoMany

	inspections chan struct{} // one for each inspection under way, at most mostInspections

	acquires   atomic.Int64 // in the queue, or waiting for mu to join it
	overloaded atomic.Uint64
	voted      atomic.Uint64 // how often a master began to vote
	listeners  sync.Map      // by token in line: its listener

	mu      sync.Mutex    // guards the following
	queue   queue         // calls that no round has taken yet
	seq     uint64        // of the last round
	formed  time.Time     // when the last round was formed
	up      int           // masters that are up
	voting  int           // far masters whose votes wake many callers at this moment
	toWrite uint64        // masters with something to write, one bit each
	closed  bool          // Refuse was called: only releases are taken
	drains  bool          // Close was called: it waits for drained
	ended   bool          // no call is taken
	drained chan struct{} // closed when drains is set and nothing is under way
	stats   Stats
	wakeups *wakeup.Wakeups // nil until the first Await
}

// New connects to all masters concurrently and returns once each has been admitted or has failed. A majority suffices; the
// other masters are probed from then on. With fewer, or if ctx ends first, New returns the errors of all masters that
// failed. Masters that must wait before they vote are admitted like others: New does not wait for them.
// StartError.Misconfigured is set if one server is given twice, if a database is missing, or if masters that are ruled out
// (refusal) leave no quorum.
func New(ctx context.Context, cfg Config) (*Pipeline, error) {
	p := &Pipeline{
		cfg:         cfg,
		quorum:      quorum.Size(len(cfg.Masters)),
		closing:     make(chan struct{}),
		known:       make(chan struct{}),
		drained:     make(chan struct{}),
		calls:       sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }},
		together:    sync.Pool{New: func() any { return &together{done: make(chan struct{}, 1)} }},
		inspections: make(chan struct{}, mostInspections),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for i, c := range cfg.Masters {
		p.masters = append(p.masters, &master{
			p:       p,
			target:  target{index: i, address: c.Address, option: conn.Limited(c.Option)},
			status:  status{reported: standing{up: true, votes: true}, stats: MasterStats{Since: time.Now()}},
			speed:   speed{pace: pace.New(cfg.Timeout)},
			writer:  writer{stuck: make(chan struct{}, 1), written: sync.Cond{L: &p.mu}},
			reader:  reader{wanted: make(chan struct{}, 1)},
			pending: pending.New(time.Second + 2*cfg.Timeout),
			server:  membership.Server{Wait: cfg.Wait, Durable: cfg.MastersAreDurable, Trusted: cfg.MastersAreNew},
		})
	}
	errs := make([]error, len(p.masters))
	var dials sync.WaitGroup
	for i, m := range p.masters {
		dials.Go(func() { errs[i] = m.dialAndAdmit(ctx, 0) })
	}
	dials.Wait()
	err := p.checkStart(ctx, errs)
	if err == nil {
		if err = p.adopt(); cfg.ReadOnly {
			err = nil
		}
	}
	if err != nil {
		p.cancel()
		for _, m := range p.masters {
			if m.session != nil {
				m.session.Close()
			}
		}
		return nil, err
	}
	for i, m := range p.masters {
		m.cause = errs[i]
		m.server.Trusted = false // a master that is met later may have been restarted meanwhile
		name := "master " + strconv.Itoa(i)
		p.running.Go(func() {
			pprof.Do(p.ctx, pprof.Labels("muxlock", name), func(context.Context) { m.run() })
		})
		p.running.Go(func() {
			pprof.Do(p.ctx, pprof.Labels("muxlock", name+" writer"), func(context.Context) { m.writeWhatIsStuck() })
		})
	}
	p.running.Go(p.ticks)
	p.mu.Lock()
	for _, m := range p.masters {
		if m.up {
			m.nextLocked(time.Now())
		}
	}
	p.unlockAndWrite()
	return p, nil
}

// StartError is returned by New, with the cause of each master that was not admitted.
type StartError struct {
	Admitted, Quorum, Masters int
	Misconfigured             bool // waiting does not help: see New
	Causes                    []MasterError
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("%d of %d masters were admitted, %d are needed", e.Admitted, e.Masters, e.Quorum)
	if e.Misconfigured {
		text = "a master cannot be used as configured"
	}
	for _, c := range e.Causes {
		text += "; " + c.Error()
	}
	return text
}

// Unwrap makes the masters' errors visible to errors.Is and errors.As.
func (e *StartError) Unwrap() []error { return errorsOf(e.Causes) }

func errorsOf(causes []MasterError) (errs []error) {
	for _, c := range causes {
		errs = append(errs, c)
	}
	return errs
}

// checkStart refuses to start without a majority, and with a configuration that waiting cannot mend.
func (p *Pipeline) checkStart(ctx context.Context, errs []error) error {
	e := &StartError{Admitted: p.up, Quorum: p.quorum, Masters: len(p.masters)}
	usable := len(p.masters)
	for i, err := range errs {
		if err != nil {
			e.Causes = append(e.Causes, MasterError{Master: p.masters[i].address, Err: err})
			e.Misconfigured = e.Misconfigured || errors.Is(err, errSameServer) || strings.Contains(err.Error(), noDatabase)
			if errors.As(err, new(refusal)) {
				usable--
			}
		}
	}
	e.Misconfigured = e.Misconfigured || usable < p.quorum
	if e.Misconfigured || p.up < p.quorum {
		return oneline.Join(e, ctx.Err())
	}
	return nil
}

// Do asks all masters and returns the verdict as soon as their votes decide it, within about twice Config.Timeout after the
// request was sent. Up to Config.Queue acquires wait to be sent, each until its ctx ends. If more calls wait than a round
// takes, an acquire or extend is not sent if no answer could meet its ctx's deadline. When ctx ends first, Do returns ctx's
// error at once. An acquire that was sent is then released, a queued acquire or extend is dropped, and a release goes on
// without its caller.
func (p *Pipeline) Do(ctx context.Context, req Request) (Outcome, error) {
	c := p.calls.Get().(*call)
	c.req = req
	if c.until = (time.Time{}); ctx.Done() != nil {
		c.until, _ = ctx.Deadline()
	}
	c.state.Store(waiting)
	if err := p.push(c); err != nil {
		p.calls.Put(c)
		return Outcome{}, err
	}
	if ctx.Done() == nil {
		<-c.done
	} else {
		select {
		case <-c.done:
		case <-ctx.Done():
			if c.state.CompareAndSwap(waiting, abandoned) {
				p.abandon(c)
				return Outcome{}, ctx.Err()
			}
			<-c.done // decided at the same moment: the verdict counts
		}
	}
	out := c.out
	c.out, c.req = Outcome{}, Request{}
	p.calls.Put(c)
	return out, nil
}

// Start asks all masters like Do, but does not wait: the pipeline notifies the Receiver. Start returns ErrOverloaded or
// ErrClosed if it does not take the request.
func (p *Pipeline) Start(req Request, to Receiver) error {
	return p.push(&call{req: req, to: to})
}

// Post sends a Release, Pass or Intend without waiting for its outcome. After Close nothing is sent, and the lease runs out.
func (p *Pipeline) Post(req Request) {
	_ = p.push(&call{req: req})
}

// Refuse refuses all calls but releases from now on, and ends all waits in Await and Ready. Calls under way go on, so that
// callers can release their locks before they Close.
func (p *Pipeline) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.closing)
	}
}

// Close refuses new calls, waits for those under way, at most twice Config.Timeout, and ends all connections and goroutines.
// It drops pending releases: their leases run out. A second Close waits for the first.
func (p *Pipeline) Close() {
	p.Refuse()
	p.mu.Lock()
	p.drains = true
	p.checkDrainedLocked()
	p.mu.Unlock()
	select {
	case <-p.drained:
	case <-time.After(2 * p.cfg.Timeout):
	}
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
	p.mu.Lock()
	p.formLocked() // decides the remaining calls at once: no master is up
	u := p.wakeups
	p.unlockAndWrite()
	if u != nil {
		u.Wait()
	}
}

// takesFew reports whether so few acquires may wait that no load can build up. Then New's measurements and trials for loads
// would cost more than they gain.
func (p *Pipeline) takesFew() bool { return p.cfg.Queue < conn.FoldFrom }

// Voted returns how often a master began to vote since New. It takes no mutex.
func (p *Pipeline) Voted() uint64 { return p.voted.Load() }

// Full reports whether an acquire would be refused with ErrOverloaded now. It takes no mutex.
func (p *Pipeline) Full() bool { return p.acquires.Load() >= int64(p.cfg.Queue) }

// push queues a call, and forms a round if there is room.
func (p *Pipeline) push(c *call) error {
	if err := p.count(&c.req, 1); err != nil {
		return err
	}
	p.mu.Lock()
	err := p.queueLocked(c)
	p.formForCallerLocked()
	p.unlockAndWrite()
	return err
}

// count counts an acquire, or the n acquires of a joint request, before its caller waits for the mutex. Otherwise callers
// beyond the limit would wait there without a bound, in competition with the goroutines that serve calls.
func (p *Pipeline) count(req *Request, n int) error {
	if n > 1 && !req.Patient && p.acquires.Load()+int64(n) > int64(p.cfg.Queue) { // calls that do fit must not find these n counted meanwhile
		p.overloaded.Add(1)
		return ErrOverloaded
	}
	if req.IsNew() && p.acquires.Add(int64(n)) > int64(p.cfg.Queue) && !req.Patient {
		p.acquires.Add(int64(-n))
		p.overloaded.Add(1)
		return ErrOverloaded
	}
	return nil
}

func (p *Pipeline) queueLocked(c *call) error {
	if p.ended || p.closed && !c.req.Op.Ends() {
		if c.req.IsNew() {
			p.acquires.Add(-1)
		}
		return ErrClosed
	}
	c.round = 0
	p.queue.push(c)
	return nil
}

func (p *Pipeline) formForCallerLocked() {
	if p.voting == 0 { // else the reader that votes forms the round
		p.formLocked()
	}
}

// ticks calls tickLocked of all masters every tickPeriod, and when a master's wait ends, until p.ctx ends. With fencing the
// processes do not look at that moment: one of them admits the master, and if all did, they would read all registers at
// once.
func (p *Pipeline) ticks() {
	timer := time.NewTimer(tickPeriod)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.ctx.Done():
			return
		}
		p.mu.Lock()
		now := time.Now()
		next := tickPeriod
		for _, m := range p.masters {
			m.tickLocked(now)
			if left := m.reported.from.Sub(now); left > 0 && p.set == nil {
				next = min(next, left)
			}
		}
		timer.Reset(next)
		p.formLocked() // for releases that releaseSurplus queued
		p.unlockAndWrite()
	}
}

// abandon drops a call whose caller has gone away. An acquire that was sent is followed by its release, and a Wait that
// joins a line by its pass. For a Wait that stays in line, the owner sends the pass: it knows the Origin of the join.
func (p *Pipeline) abandon(c *call) {
	p.mu.Lock()
	sent := c.round
	if c.queued && !c.req.Op.Ends() {
		p.dequeueLocked(c)
		p.checkDrainedLocked()
	}
	p.mu.Unlock()
	if sent == 0 || !c.req.Op.Takes() || c.req.Op == Wait && c.req.Line.Stay {
		return
	}
	undo := Request{Op: Release, Name: c.req.Name, Token: c.req.Token, TTL: c.req.TTL, Origin: conn.InRound(sent), Shared: c.req.Shared}
	if c.req.Op == Wait {
		undo.Op = Pass
	}
	p.Post(undo)
}

func (p *Pipeline) dequeueLocked(c *call) {
	p.queue.remove(c)
	if c.req.IsNew() {
		p.acquires.Add(-1)
	}
}

func (p *Pipeline) checkDrainedLocked() {
	if !p.drains || p.queue.len() > 0 {
		return
	}
	for _, m := range p.masters {
		if m.up && (m.onWire > 0 || m.backlog > 0 || m.member.busy) || len(m.leaveAfterWrite) > 0 {
			return
		}
	}
	select {
	case <-p.drained:
	default:
		p.ended = true
		close(p.drained)
	}
}
