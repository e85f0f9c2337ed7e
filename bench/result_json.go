package bench

import "slices"

// Result is one run of one implementation: R in the -o json document. Field
// names are relied on by other people's scripts: add, never rename. All times
// are nanoseconds unless the name says otherwise; no number is NaN or infinite,
// whatever happened in the run.
type Result struct {
	Impl           string    `json:"impl"`
	Round          int       `json:"round"`   // from 1
	Masters        int       `json:"masters"` // 0: unknown
	Workers        int       `json:"workers"` // in each process
	Procs          int       `json:"procs"`
	Keys           int       `json:"keys"`
	Seed           uint64    `json:"seed"`
	DurationS      float64   `json:"duration_s"` // measured, warm-up left out
	Totals         Totals    `json:"totals"`
	ThroughputPerS float64   `json:"throughput_per_s"` // whole cycles: Release had returned without error
	AcquiredPerS   float64   `json:"acquired_per_s"`   // got the lock in the measured time, whenever they were due; 0 with op hold
	Latency        Latencies `json:"latency"`
	Fairness       Fairness  `json:"fairness"`
	Safety         Safety    `json:"safety"`
	Holding        *Holding  `json:"holding,omitempty"` // op hold only
	Client         Client    `json:"client"`
	PerMaster      []Master  `json:"per_master,omitempty"` // in the order of the masters; absent: nobody looked
	Probe          *Probe    `json:"probe,omitempty"`
	Faults         []Band    `json:"faults,omitempty"` // in the order of their begin
	Series         []Point   `json:"series"`
	Drain          *Point    `json:"drain,omitempty"` // what came after the measured time, and is in the totals and latencies too
	SLO            []SLO     `json:"slo,omitempty"`
	Valid          Valid     `json:"valid"`
	ErrorSamples   []string  `json:"error_samples"` // first few distinct error texts, warm-up included
	// Setting is the flags that a sweep gave a value of their own, by name.
	Setting map[string]string `json:"setting,omitempty"`
	// History is what Config.History kept of the names that two held at once, or whose fence
	// did not grow, in the order of the begins. It is for a file of its own.
	History []Event `json:"-"`
}

// Totals counts operations. In a closed loop one belongs to the run when it ended
// in the measured time, or was still under way at its end; in an open loop when
// it was due in it. After the measured time the run drains, see Run: what was acquired or
// failed then counts as well. Offered is Finished and Unfinished together.
type Totals struct {
	Offered    int64 `json:"offered"`    // due; closed loop: the same as Started
	Started    int64 `json:"started"`    // begun in the measured time; Offered minus Started is what no worker was free for in time
	Finished   int64 `json:"finished"`   // acquired, refused, timed out, or failed with an error
	Unfinished int64 `json:"unfinished"` // still under way, or not even begun, when the drain ended
	// Failed is, of Offered, what never got its lock: refused, timed out, failed with an
	// error, or unfinished. In an open loop the response is censored by as many. A
	// TryAcquire that was refused got its answer and is not among them.
	Failed   int64 `json:"failed"`
	Acquired int64 `json:"acquired"` // got the lock; op extend: extended it
	Refused  int64 `json:"refused"`  // ended with ErrRefused
	Timeouts int64 `json:"timeouts"` // failed when Config.Wait had run out
	Errors   int64 `json:"errors"`   // any other failure, of an acquire or of a release
	Late     int64 `json:"late"`     // of Started, begun more than 1 ms after they were due; open loop only
	// Outlived is the holds that outlived their lease: its validity had run out when Release
	// was called, or when the end of the drain cut the hold off.
	Outlived int64 `json:"outlived"`
	// LostValidity is Outlived and the attempts of LateQuorum, whose quorum came too late
	// to leave any validity.
	LostValidity int64 `json:"lost_validity"`
	LateQuorum   int64 `json:"late_quorum"` // of lockers that are a Counter
	Fenced       int64 `json:"fenced"`      // of Acquired, had a fencing token
	// FenceSecondTrips is the attempts that needed a second round trip for their fencing
	// token; of lockers that are a Counter.
	FenceSecondTrips int64 `json:"fence_second_trips"`
}

// Quorums is the attempts that a majority agreed to: locks, and what came too late.
func (t *Totals) Quorums() int64 { return t.Acquired + t.LateQuorum }

func (t *Totals) add(u Totals) {
	t.Offered += u.Offered
	t.Started += u.Started
	t.Finished += u.Finished
	t.Unfinished += u.Unfinished
	t.Failed += u.Failed
	t.Acquired += u.Acquired
	t.Refused += u.Refused
	t.Timeouts += u.Timeouts
	t.Errors += u.Errors
	t.Late += u.Late
	t.Outlived += u.Outlived
	t.LostValidity += u.LostValidity
	t.LateQuorum += u.LateQuorum
	t.Fenced += u.Fenced
	t.FenceSecondTrips += u.FenceSecondTrips
}

// Latencies of operations that got their lock, but for Response. An absent one was not measured.
type Latencies struct {
	// Response is intended start to held, of all that were offered: what never got its lock
	// is censored, at least as long as it was waited for. Open loop only.
	Response *Summary `json:"response,omitempty"`
	Wait     *Summary `json:"wait,omitempty"` // intended start to actual start; open loop only
	Service  *Summary `json:"service"`        // actual start to held
	Acquire  *Summary `json:"acquire"`        // the same as service, under the name of the call
	Release  *Summary `json:"release"`        // Release called to its verdict
	Cycle    *Summary `json:"cycle"`          // acquire and release, without hold and think
	// Handover is Release called by the last holder to the return of an Acquire that
	// had begun before: what the lock itself keeps a waiter waiting. Only where
	// workers share names. HandoverRemote: the last holder was another process.
	Handover       *Summary `json:"handover,omitempty"`
	HandoverRemote *Summary `json:"handover_remote,omitempty"`
	Extend         *Summary `json:"extend,omitempty"` // op extend, where it is also the cycle, and mixes with extend, where it is not part of it
	// Hold is how long locks were held, from the return of Acquire to the call of
	// Release, late wake-ups included; what the end of the drain cut off is censored. Absent
	// where locks are not held for a time.
	Hold *Summary `json:"hold,omitempty"`
	// Uncontended is the acquire of a name that nobody else wants, one at a time and
	// now and then, beside the load. Only where workers share names.
	Uncontended *Summary `json:"uncontended,omitempty"`
	// ValidityUsed is how much of its validity a lock had used up when Acquire returned:
	// the time since its winning attempt began, failed ones before it left out. Of lockers
	// that are an Allower.
	ValidityUsed *Summary `json:"validity_used,omitempty"`
	// Lag is how late the generator itself began an operation although a worker stood
	// ready for it. Open loop only; it is part of Wait.
	Lag *Summary `json:"lag,omitempty"`
}

// Summary is one histogram in figures. All are 0 when Count is 0. Values are
// kept to 3 digits between 1 ns and 1 hour, longer ones count as 1 hour.
type Summary struct {
	Unit  string           `json:"unit"` // ns
	Count int64            `json:"count"`
	Min   int64            `json:"min"`
	Mean  float64          `json:"mean"`
	Max   int64            `json:"max"`
	P     map[string]int64 `json:"p"` // "50", "90", "99", "99.9", "99.99"
	// Censored is, of Count, those known only to be at least so long. They rank above all
	// others. Where there are any, Mean and Max are lower bounds, and so are the percentiles
	// that AtLeast names.
	Censored int64    `json:"censored,omitempty"`
	AtLeast  []string `json:"at_least,omitempty"` // keys of P
	// HDR is the whole histogram of what is known, as other HdrHistogram tools read it: V2,
	// compressed, base64; CensoredHDR that of what is censored. Absent when it is empty.
	HDR         string `json:"hdr,omitempty"`
	CensoredHDR string `json:"hdr_censored,omitempty"`
	// Peaks is the longest of them, with their times: of stalls only.
	Peaks *Peaks `json:"peaks,omitempty"`
}

// Peaks is the longest of many times, with when they were: a histogram does not show
// whether they came together. Each of at least FromNs is there.
type Peaks struct {
	FromNs int64  `json:"from_ns"`
	All    []Peak `json:"all"` // in the order of their times
}

// Peak is one of them.
type Peak struct {
	AtNs int64 `json:"at_ns"` // since the measured time began; of a stall its begin
	Ns   int64 `json:"ns"`
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
	Overlaps        int64 `json:"overlaps"`         // lock acquired while another worker held it, validly and not yet releasing
	FenceViolations int64 `json:"fence_violations"` // lock acquired with a fence that is not larger than that of the hold of its name before
}

// Violated reports whether the audit found anything.
func (s Safety) Violated() bool { return s.Overlaps > 0 || s.FenceViolations > 0 }

// Holding is what op hold finds: many locks that are kept alive until the run ends.
type Holding struct {
	Wanted           int64   `json:"wanted"`              // names to hold
	Held             int64   `json:"held"`                // acquired and kept alive
	Lost             int64   `json:"lost"`                // of these, lost before the run ended
	HeapBytesPerLock float64 `json:"heap_bytes_per_lock"` // growth of the live heap, generator included
	GoroutinesBefore int64   `json:"goroutines_before"`   // workers included
	GoroutinesAfter  int64   `json:"goroutines_after"`    // with all locks held
	CommandsPerRound float64 `json:"commands_per_round"`  // per batch to the masters, of the whole run; 0: the implementation does not count them
}

// Client is what the load cost its processes in the measured time.
type Client struct {
	CPUNsPerOp  float64 `json:"cpu_ns_per_op"` // user and system time per cycle, generator included; 0 where unknown
	AllocsPerOp float64 `json:"allocs_per_op"` // heap objects per cycle
	GCP99Ns     int64   `json:"gc_p99_ns"`     // p99 of the stop-the-world pauses, upper bound of its bucket; of the worst process
	SchedP99Ns  int64   `json:"sched_p99_ns"`  // p99 of how long goroutines stood ready to run, likewise
	// Stall is how much too late a thread that sleeps 10 ms at a time woke, a long stall
	// counted once for every 10 ms of it: what the machine, the scheduler and the garbage
	// collector took from a holder at any moment.
	Stall *Summary `json:"stall,omitempty"`
	// CPUShare is the processor time of all processes over that of the machine.
	CPUShare float64 `json:"cpu_share"`
}

// Master is what one master was like beside the load, as a prober with a connection
// of its own saw it.
type Master struct {
	Addr string   `json:"addr"`       // without any password
	RTT  *Summary `json:"rtt"`        // of its answers
	Lost int64    `json:"lost"`       // probes that it did not answer in time
	Down float64  `json:"down_share"` // part of the measured time between an unanswered probe and the next answer
	// Clock is its wall clock against the monotonic clock here. Absent: too few answers.
	Clock *Clock `json:"clock,omitempty"`
}

// Clock is what TIME reported of a master's clock.
type Clock struct {
	PPM       float64 `json:"ppm"`        // it gains that many us a second between steps; below 0: it loses
	PPMError  float64 `json:"ppm_error"`  // less than this cannot be seen
	JumpNs    int64   `json:"jump_ns"`    // largest step between two answers, beyond what explains it
	OffsetNs  int64   `json:"offset_ns"`  // ahead of the wall clock here, at the begin
	WatchedNs int64   `json:"watched_ns"` // between the first answer and the last
}

// Probe is the joint round trips: in each row one probe of every master, all sent at
// the same moment, in ns; -1 is no answer in time. Rows are spread over the run.
type Probe struct {
	TimeoutNs int64     `json:"timeout_ns"`
	Rows      [][]int64 `json:"rows"`
	AtNs      []int64   `json:"at_ns,omitempty"` // when each row began, since the measured time did
}

// Band is one fault while it was in force, on the clock of Series.
type Band struct {
	Spec   string  `json:"spec"`   // as given to --fault
	Kind   string  `json:"kind"`   // delay, stop, kill, restart, flush
	Master int     `json:"master"` // from 1
	FromS  float64 `json:"from_s"`
	ToS    float64 `json:"to_s"` // equal to FromS: an event without length
}

// SLO is one objective and how the run stood to it.
type SLO struct {
	Text   string  `json:"text"`  // acquire.response.p99<5ms
	Unit   string  `json:"unit"`  // of value and limit: ns, share (0 to 1), or empty: a number
	Value  float64 `json:"value"` // what was measured; 0 when it could not be judged
	Limit  float64 `json:"limit"`
	Pass   bool    `json:"pass"`
	Reason string  `json:"reason,omitempty"` // why it could not be judged; Pass is then false
	// AtLeast: Value is a lower bound, which meets no upper limit.
	AtLeast bool `json:"at_least,omitempty"`
}

// Units of SLO.
const (
	UnitNs    = "ns"
	UnitShare = "share" // 0 to 1
	UnitCount = ""
)

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
	// Unfinished is what was cut off: of Drain only.
	Unfinished int64 `json:"unfinished,omitempty"`
	P50AtLeast bool  `json:"p50_at_least,omitempty"` // P50Ns is a lower bound: of what is censored
	P99AtLeast bool  `json:"p99_at_least,omitempty"`
	// MasterNs is the median round trip to each master in this interval, in the order
	// of PerMaster; -1: none was answered.
	MasterNs []int64 `json:"master_ns,omitempty"`
}

// Add adds the counts of another process's Point; its percentiles cannot be.
func (p *Point) Add(q Point) {
	p.TS = max(p.TS, q.TS)
	p.Cycles += q.Cycles
	p.Acquired += q.Acquired
	p.Refused += q.Refused
	p.Timeouts += q.Timeouts
	p.Errors += q.Errors
	p.Unfinished += q.Unfinished
}

// Valid is whether the figures mean what they seem to.
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
	ReasonGenerator   = "the generator could not keep up"
	ReasonFew         = "too few operations"
	ReasonOutage      = "nothing was acquired for a time"
)

// Invalidate adds a reason why the result is not to be trusted.
func (r *Result) Invalidate(reason string) {
	r.Valid.OK = false
	r.Valid.Reasons = append(r.Valid.Reasons, reason)
}

// Interrupted reports whether the run was cut short.
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
