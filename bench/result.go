package bench

import "slices"

// Result is one run of one implementation: R in the -o json document. Field
// names are relied on by other people's scripts: add, never rename. All times
// are nanoseconds unless the name says otherwise; no number is NaN or infinite,
// whatever happened in the run.
type Result struct {
	Impl           string    `json:"impl"`
	Round          int       `json:"round"`   // from 1
	Masters        int       `json:"masters"` // 0: not told
	Workers        int       `json:"workers"` // in each process
	Procs          int       `json:"procs"`
	Keys           int       `json:"keys"`
	Seed           uint64    `json:"seed"`
	DurationS      float64   `json:"duration_s"` // measured, warm-up left out
	Totals         Totals    `json:"totals"`
	ThroughputPerS float64   `json:"throughput_per_s"` // whole cycles: Release had returned without error
	Latency        Latencies `json:"latency"`
	Fairness       Fairness  `json:"fairness"`
	Safety         Safety    `json:"safety"`
	Holding        *Holding  `json:"holding,omitempty"` // op hold only
	Client         Client    `json:"client"`
	Series         []Point   `json:"series"`
	Valid          Valid     `json:"valid"`
	ErrorSamples   []string  `json:"error_samples"` // first few distinct error texts, warm-up included
}

// Totals counts operations. In a closed loop one belongs to the run when it ended
// in the measured time, or was still under way at its end; in an open loop when
// it was due in it. Offered minus Started is what no worker was free for; Started
// minus all the outcomes is what the end of the run cut off.
type Totals struct {
	Offered  int64 `json:"offered"`  // due; closed loop: the same as Started
	Started  int64 `json:"started"`  // begun
	Acquired int64 `json:"acquired"` // got the lock; op extend: extended it
	Refused  int64 `json:"refused"`  // ended with ErrRefused
	Timeouts int64 `json:"timeouts"` // failed when Config.Wait had run out
	Errors   int64 `json:"errors"`   // any other failure, of an acquire or of a release
}

func (t *Totals) add(u Totals) {
	t.Offered += u.Offered
	t.Started += u.Started
	t.Acquired += u.Acquired
	t.Refused += u.Refused
	t.Timeouts += u.Timeouts
	t.Errors += u.Errors
}

// Latencies of operations that got their lock. An absent one was not measured.
type Latencies struct {
	Response *Summary `json:"response,omitempty"` // intended start to held; open loop only
	Service  *Summary `json:"service"`            // actual start to held
	Acquire  *Summary `json:"acquire"`            // the same as service, under the name of the call
	Release  *Summary `json:"release"`            // Release called to its verdict
	Cycle    *Summary `json:"cycle"`              // acquire and release, without hold and think
	// Handover is Release called by the last holder to the return of an Acquire that
	// had begun before: what the lock itself keeps a waiter waiting. Only where
	// workers share names. HandoverRemote: the last holder was another process.
	Handover       *Summary `json:"handover,omitempty"`
	HandoverRemote *Summary `json:"handover_remote,omitempty"`
	Extend         *Summary `json:"extend,omitempty"` // op extend only, where it is also the cycle
}

// Summary is one histogram in figures. All are 0 when Count is 0. Values are
// kept to 3 digits between 1 ns and 1 minute, longer ones count as 1 minute.
type Summary struct {
	Unit  string           `json:"unit"` // ns
	Count int64            `json:"count"`
	Min   int64            `json:"min"`
	Mean  float64          `json:"mean"`
	Max   int64            `json:"max"`
	P     map[string]int64 `json:"p"` // "50", "90", "99", "99.9", "99.99"
}

// Fairness among workers.
type Fairness struct {
	Jain       float64 `json:"jain"`         // of acquisitions per worker: 1 all equal, 1/n one had all; 0 when there were none
	MaxWaitNs  int64   `json:"max_wait_ns"`  // longest call of Acquire, also one that failed or was cut off
	MeanWaitNs int64   `json:"mean_wait_ns"` // of the same calls
	PerProc    []int64 `json:"per_proc"`     // acquisitions per process
}

// Safety is the verdict of the audit, warm-up included.
type Safety struct {
	Overlaps        int64 `json:"overlaps"` // lock acquired while another worker held it, validly and not yet releasing
	FenceViolations int64 `json:"fence_violations"`
}

// Client is what the load cost its processes in the measured time.
type Client struct {
	CPUNsPerOp  float64 `json:"cpu_ns_per_op"` // user and system time per cycle, generator included; 0 where unknown
	AllocsPerOp float64 `json:"allocs_per_op"` // heap objects per cycle
	GCP99Ns     int64   `json:"gc_p99_ns"`     // p99 of the stop-the-world pauses, upper bound of its bucket; of the worst process
}

// Point is one second of a run.
type Point struct {
	TS       float64 `json:"t_s"` // end of the interval, since the measured time began
	Cycles   int64   `json:"cycles"`
	Acquired int64   `json:"acquired"`
	Refused  int64   `json:"refused"`
	Timeouts int64   `json:"timeouts"`
	Errors   int64   `json:"errors"`
	P50Ns    int64   `json:"p50_ns"` // of response in an open loop, else of cycle
	P99Ns    int64   `json:"p99_ns"`
}

// Add adds the counts of another process's Point; its percentiles cannot be.
func (p *Point) Add(q Point) {
	p.TS = max(p.TS, q.TS)
	p.Cycles += q.Cycles
	p.Acquired += q.Acquired
	p.Refused += q.Refused
	p.Timeouts += q.Timeouts
	p.Errors += q.Errors
}

// Valid says whether the figures mean what they seem to.
type Valid struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"` // empty, never null, when OK
}

// Reasons that begin a text in Valid.Reasons.
const (
	ReasonInterrupted = "interrupted"
	ReasonNothing     = "nothing was acquired"
	ReasonRate        = "rate not met"
	ReasonBacklog     = "backlog grew"
	ReasonPanic       = "the locker panicked"
	ReasonNotHeld     = "not all locks were held"
)

// Invalidate adds a reason why the result is not to be trusted.
func (r *Result) Invalidate(reason string) {
	r.Valid.OK = false
	r.Valid.Reasons = append(r.Valid.Reasons, reason)
}

// Interrupted tells whether the run was cut short.
func (r *Result) Interrupted() bool {
	return slices.Contains(r.Valid.Reasons, ReasonInterrupted)
}

// Headline is the latency that comparisons look at: response in an open loop,
// else cycle.
func (r *Result) Headline() *Summary {
	if r.Latency.Response != nil {
		return r.Latency.Response
	}
	return r.Latency.Cycle
}
