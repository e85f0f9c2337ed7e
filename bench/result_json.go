package bench

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"muxlock/internal/stats"
	"muxlock/internal/wallclock"
)

// Result is one run of one implementation, an element of results in the -o json document.
// Other people's scripts rely on field names: add, never rename. All times are nanoseconds
// unless the name says otherwise. No number is ever NaN or infinite.
type Result struct {
	Impl           string    `json:"impl"`
	Round          int       `json:"round"`   // from 1
	Masters        int       `json:"masters"` // 0: unknown
	Workers        int       `json:"workers"` // in each process
	Procs          int       `json:"procs"`
	Keys           int       `json:"keys"`
	Workload       Workload  `json:"workload"`
	Seed           uint64    `json:"seed"`
	DurationS      float64   `json:"duration_s"` // measured, warm-up left out
	Totals         Totals    `json:"totals"`
	ThroughputPerS float64   `json:"throughput_per_s"` // whole cycles that ended in the measured time: Release returned no error
	AcquiredPerS   float64   `json:"acquired_per_s"`   // locks acquired in the measured time, whenever they were due; 0 with op hold
	Latency        Latencies `json:"latency"`
	Fairness       Fairness  `json:"fairness"`
	Safety         Safety    `json:"safety"`
	Holding        *Holding  `json:"holding,omitempty"`   // op hold only
	Kept           *Kept     `json:"kept,omitempty"`      // only with Config.Kept
	HotNames       []HotName `json:"hot_names,omitempty"` // the hottest first; of shared names, and of lockers that know them
	Client         Client    `json:"client"`
	PerMaster      []Master  `json:"per_master,omitempty"` // in the order of the masters; absent: not probed
	Probe          *Probe    `json:"probe,omitempty"`
	Faults         []Band    `json:"faults,omitempty"` // in the order of their begin
	Series         []Point   `json:"series"`
	Drain          *Point    `json:"drain,omitempty"` // after the measured time; totals and latencies include it
	SLO            []SLO     `json:"slo,omitempty"`
	Valid          Valid     `json:"valid"`
	ErrorSamples   []string  `json:"error_samples"` // first few distinct error texts, warm-up included
	// Setting is the flags that a sweep varied, by name, with their values in this run.
	Setting map[string]string `json:"setting,omitempty"`
	// History has the events of all names with a violation, as far as Config.History kept
	// them, in the order in which the calls began. It goes to a file of its own.
	History []Event `json:"-"`
}

// Workload says whether workers want the same names.
type Workload string

// The workloads.
const (
	Own       Workload = "own"       // each worker has names of its own
	Contended Workload = "contended" // all workers want the same names
)

// Totals counts operations. An open loop counts the operations due in the measured time. A
// closed loop counts the operations that ended in it or were under way at its end. With
// Config.Hold the end of the acquire decides. After the measured time the run drains, see Run;
// operations that end in the drain count as well. Offered is the sum of Finished and Unfinished.
type Totals struct {
	Offered    int64 `json:"offered"`    // due; closed loop: the same as Started
	Started    int64 `json:"started"`    // begun in the measured time; for the rest of Offered no worker was free in time
	Finished   int64 `json:"finished"`   // acquired, refused, timed out, or failed with an error
	Unfinished int64 `json:"unfinished"` // under way or not yet begun when the drain ended
	// Failed counts operations of Offered that never got their lock: refused, timed out,
	// failed with an error, or unfinished. In an open loop their responses are censored. A
	// refused TryAcquire or AcquireMany got its answer and has not failed.
	Failed   int64 `json:"failed"`
	Acquired int64 `json:"acquired"`        // got the lock
	Names    int64 `json:"names,omitempty"` // of Acquired; op many only, in which each name is an attempt
	Refused  int64 `json:"refused"`         // ended with ErrRefused
	Timeouts int64 `json:"timeouts"`        // failed after Config.Wait
	Errors   int64 `json:"errors"`          // any other failure, of an acquire or of a release; op many: also of a name beside others that were got
	Late     int64 `json:"late"`            // of Started, begun more than 1 ms after they were due; open loop only
	// Outlived counts holds that outlived their lease: the validity had ended when Release
	// was called, or when the end of the drain cut the hold off. With op hold it counts the
	// locks that were lost while they were kept alive.
	Outlived     int64 `json:"outlived"`
	LostValidity int64 `json:"lost_validity"` // Outlived and LateQuorum together
	// LateQuorum counts attempts whose quorum came too late to leave any validity. It is 0
	// for lockers that are no Counter.
	LateQuorum int64 `json:"late_quorum"`
	Fenced     int64 `json:"fenced"`           // of Acquired, had a fencing token
	Fences     int64 `json:"fences,omitempty"` // tokens of Fenced; op all and many only
	// FenceSecondTrips counts attempts that needed a second round trip for their fencing
	// token. It is 0 for lockers that are no Counter.
	FenceSecondTrips int64 `json:"fence_second_trips"`
}

// Quorums returns the number of attempts that got a quorum, in time or too late.
func (t *Totals) Quorums() int64 { return cmp.Or(t.Names, t.Acquired) + t.LateQuorum }

// LostShare returns the attempts that lost their validity, of all that got a quorum. A call of op many that outlived its
// lease counts with the names that a call got on average.
func (t *Totals) LostShare() (lost, quorums int64) {
	outlived := t.LostValidity - t.LateQuorum
	if t.Names > 0 {
		outlived = outlived * t.Names / max(t.Acquired, 1)
	}
	return outlived + t.LateQuorum, t.Quorums()
}

// Summary has the figures of one Histogram. All are 0 when Count is 0. Values have 3 digits
// between 1 ns and 1 hour; a longer one counts as 1 hour.
type Summary struct {
	Unit  string           `json:"unit"` // ns
	Count int64            `json:"count"`
	Min   int64            `json:"min"`
	Mean  float64          `json:"mean"`
	Max   int64            `json:"max"`
	P     map[string]int64 `json:"p"` // by the names of stats.Percentiles
	// Censored counts the latencies that are lower bounds. They rank above all others. With
	// any of them, Mean and Max are lower bounds, and so are the percentiles in AtLeast.
	Censored int64    `json:"censored,omitempty"`
	AtLeast  []string `json:"at_least,omitempty"` // keys of P
	// HDR is the histogram of the known latencies in the format of HdrHistogram tools: V2,
	// compressed, base64. CensoredHDR has the censored ones. Absent when empty.
	HDR         string `json:"hdr,omitempty"`
	CensoredHDR string `json:"hdr_censored,omitempty"`
	// Peaks has the longest latencies and when they were. Only of stalls.
	Peaks *Peaks `json:"peaks,omitempty"`
}

// Peaks has the longest of many latencies, with their times: a histogram does not show
// whether they came together. Every latency from FromNs up is in All.
type Peaks struct {
	FromNs int64  `json:"from_ns"`
	All    []Peak `json:"all"` // in the order of their times
}

// Peak is one long latency, such as a stall.
type Peak struct {
	AtNs int64 `json:"at_ns"` // its start, since the measured time began
	Ns   int64 `json:"ns"`
}

// Fairness among workers.
type Fairness struct {
	Jain       float64 `json:"jain"`         // index of acquisitions per worker: 1 if all are equal, 1/n if one of n had all; 0 without any
	MaxWaitNs  int64   `json:"max_wait_ns"`  // longest call of Acquire, including failed and cut-off ones
	MeanWaitNs int64   `json:"mean_wait_ns"` // of the same calls
	PerProc    []int64 `json:"per_proc"`     // acquisitions per process
}

// Safety is the verdict of the audit, warm-up included.
type Safety struct {
	Overlaps        int64 `json:"overlaps"`         // locks acquired while another worker's hold was valid and not yet releasing
	FenceViolations int64 `json:"fence_violations"` // locks whose fence is no larger than that of the previous hold of the name; permits: of the slot
	// Unaudited says that two holders of a name would not have been seen: with op hold nobody else wants it, and a Driver has no locks.
	Unaudited bool `json:"unaudited,omitempty"`
}

// Violated reports whether the audit found anything.
func (s Safety) Violated() bool { return s.Overlaps > 0 || s.FenceViolations > 0 }

// Holding has the figures of op hold, which keeps many locks alive until the run ends.
type Holding struct {
	Wanted           int64   `json:"wanted"`              // names to hold
	Held             int64   `json:"held"`                // acquired and kept alive
	Lost             int64   `json:"lost"`                // of these, lost before the run ended
	HeapBytesPerLock float64 `json:"heap_bytes_per_lock"` // growth of the live heap, generator included
	GoroutinesBefore int64   `json:"goroutines_before"`   // workers included
	GoroutinesAfter  int64   `json:"goroutines_after"`    // with all locks held
	CommandsPerRound float64 `json:"commands_per_round"`  // per batch to the masters, over the whole run; 0: the implementation does not count them
}

// Client has the resources that the load's processes used in the measured time.
type Client struct {
	CPUNsPerOp  float64 `json:"cpu_ns_per_op"` // user and system time per cycle, generator included; 0 where unknown
	AllocsPerOp float64 `json:"allocs_per_op"` // heap objects per cycle
	GCP99Ns     int64   `json:"gc_p99_ns"`     // p99 of the stop-the-world pauses, upper bound of its bucket; of the worst process
	SchedP99Ns  int64   `json:"sched_p99_ns"`  // p99 of the times that goroutines stood ready to run, likewise
	// Stall is how late a thread woke that sleeps 10 ms at a time, or in each of P processes
	// P times as long, up to 1 s. A longer stall counts once for each such time. It shows what
	// the machine, the scheduler and the garbage collector may take from a holder.
	Stall *Summary `json:"stall,omitempty"`
	// CPUShare is the processor time of all processes over that of the machine.
	CPUShare float64 `json:"cpu_share"`
}

// Master describes one master during the run. A prober measures it on its own connection.
type Master struct {
	Addr string   `json:"addr"`       // without any password
	RTT  *Summary `json:"rtt"`        // of its answers
	Lost int64    `json:"lost"`       // probes without an answer in time
	Down float64  `json:"down_share"` // share of the measured time between an unanswered probe and the next answer
	// Clock compares its wall clock with the monotonic clock here. Absent: too few answers.
	Clock *Clock `json:"clock,omitempty"`
}

// SlowMaster reports whether the median round trip to master i is more than twice that of the others.
func SlowMaster(masters []Master, i int) bool {
	var others []float64
	for j, m := range masters {
		if j != i && m.RTT != nil && m.RTT.Count > 0 {
			others = append(others, float64(m.RTT.P["50"]))
		}
	}
	return len(others) > 0 && masters[i].RTT != nil && float64(masters[i].RTT.P["50"]) > 2*stats.Median(others)
}

// Clock describes a master's clock, from its answers to TIME.
type Clock = wallclock.Clock

// Probe has joint round trips in ns. Each row has one probe of every master, all sent at the
// same moment; -1 is no answer in time. Rows are spread over the run. Slow lists the probes, of
// the whole run, whose quorum took longest, from 50 ms on. A time below 0 says that no quorum
// answered; without its sign, it is the time until the next probe began.
type Probe struct {
	TimeoutNs int64             `json:"timeout_ns"`
	Rows      [][]time.Duration `json:"rows"`
	AtNs      []int64           `json:"at_ns,omitempty"` // start of each row, since the measured time began
	Slow      []Peak            `json:"slow,omitempty"`
}

// Band is one fault while it was in force, on the clock of Series.
type Band struct {
	Spec   string  `json:"spec"`   // as given to --fault
	Kind   string  `json:"kind"`   // delay, stop, kill, ...
	Master int     `json:"master"` // from 1; 0: a fault of a client process
	FromS  float64 `json:"from_s"`
	ToS    float64 `json:"to_s"` // FromS for an event without length
}

// Crash is the Kind of a Band that kills a process: what that did is not counted.
const Crash = "crash"

// SLO is one objective and the run's verdict on it.
type SLO struct {
	Text   string  `json:"text"`  // acquire.response.p99<5ms
	Unit   string  `json:"unit"`  // of value and limit: ns, share (0 to 1), or empty: a number
	Value  float64 `json:"value"` // as measured; 0 when it could not be judged
	Limit  float64 `json:"limit"`
	Pass   bool    `json:"pass"`
	Reason string  `json:"reason,omitempty"` // why it could not be judged; Pass is then false
	// AtLeast says that Value is a lower bound. A lower bound meets no upper limit.
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
	// Unfinished counts operations that were cut off. Only of Drain.
	Unfinished int64 `json:"unfinished,omitempty"`
	P50AtLeast bool  `json:"p50_at_least,omitempty"` // P50Ns is a lower bound
	P99AtLeast bool  `json:"p99_at_least,omitempty"` // P99Ns is a lower bound
	// MasterNs is the median round trip to each master in this interval, in the order of
	// PerMaster; -1: no answer.
	MasterNs []int64 `json:"master_ns,omitempty"`
	// Latency is an encoded Histogram, from which Merge makes the percentiles of several processes.
	Latency []byte `json:"latency,omitempty"`
}

func (p *Point) percentiles(h *Histogram) {
	p.P50Ns, p.P50AtLeast = h.Percentile(50), h.AtLeast(50)
	p.P99Ns, p.P99AtLeast = h.Percentile(99), h.AtLeast(99)
}

// Add adds the counts of another process's Point. Percentiles cannot be added.
func (p *Point) Add(q Point) {
	p.TS = max(p.TS, q.TS)
	p.Cycles += q.Cycles
	p.Acquired += q.Acquired
	p.Refused += q.Refused
	p.Timeouts += q.Timeouts
	p.Errors += q.Errors
	p.Unfinished += q.Unfinished
}

// Valid says whether the figures mean what they seem to.
type Valid struct {
	OK      bool     `json:"ok"`
	Reasons []Reason `json:"reasons"` // empty, never null, when OK
}

// Reason says why figures do not mean what they seem to.
type Reason struct {
	Kind   ReasonKind `json:"kind"`
	Detail string     `json:"detail,omitempty"`
}

// String returns the kind, with the detail after a colon.
func (r Reason) String() string {
	if r.Detail == "" {
		return string(r.Kind)
	}
	return string(r.Kind) + ": " + r.Detail
}

// ReasonKind is what is wrong with the figures.
type ReasonKind string

// The kinds; a Runner's caller may have more.
const (
	ReasonInterrupted ReasonKind = "interrupted"
	ReasonNothing     ReasonKind = "nothing was acquired"
	ReasonRate        ReasonKind = "rate not met"
	ReasonBacklog     ReasonKind = "backlog grew"
	ReasonPanic       ReasonKind = "the locker panicked"
	ReasonNotHeld     ReasonKind = "not all locks were held"
	ReasonGenerator   ReasonKind = "the generator could not keep up"
	ReasonFew         ReasonKind = "too few operations"
	ReasonOutage      ReasonKind = "nothing was acquired for a time"
)

// Invalidate adds a reason not to trust the result. The detail may be empty.
func (r *Result) Invalidate(kind ReasonKind, detail string) {
	r.Valid.OK = false
	r.Valid.Reasons = append(r.Valid.Reasons, Reason{kind, detail})
}

// Has reports whether the figures are not valid for a reason of that kind.
func (v Valid) Has(kind ReasonKind) bool {
	return slices.ContainsFunc(v.Reasons, func(r Reason) bool { return r.Kind == kind })
}

// But returns what is left without the reasons of those kinds.
func (v Valid) But(kinds ...ReasonKind) Valid {
	left := slices.DeleteFunc(slices.Clone(v.Reasons), func(r Reason) bool { return slices.Contains(kinds, r.Kind) })
	return Valid{OK: len(left) == 0, Reasons: left}
}

// String returns the reasons, separated by semicolons.
func (v Valid) String() string {
	var texts []string
	for _, r := range v.Reasons {
		texts = append(texts, r.String())
	}
	return strings.Join(texts, "; ")
}

// Interrupted reports whether the run was cut short.
func (r *Result) Interrupted() bool { return r.Valid.Has(ReasonInterrupted) }

// Headline returns the latency that comparisons use: response in an open loop, else cycle.
func (r *Result) Headline() *Summary { return cmp.Or(r.Latency[ResponseTime], r.Latency[CycleTime]) }
