package pipeline

import (
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"muxlock/internal/quorum"
	"muxlock/scripts"
)

// Batches of at least foldFrom requests are folded into calls of the batch
// script, at most foldMax requests each. Below, a plain command costs the server
// less than the script's frame does; above, the script saves it a reply, a
// lookup and a dispatch per request. One call keeps its server busy for about a
// microsecond per request. BenchmarkFold compares.
const (
	foldFrom = 8
	foldMax  = 512
)

// A round is one batch on its way to all masters: encoded once, sent by each
// master's goroutine when that is free, and read reply by reply. It keeps its
// own copy of the requests, because a call belongs to its caller again as soon
// as it is decided, while slower masters are still to be read.
type round struct {
	seq     uint64
	masters []*master           // of the pipeline
	entries []Request           // releases first, then the rest in order of arrival; fixed after seal
	cmds    []rueidis.Completed // fixed after seal; pinned, so every master can send them
	ends    []int               // by command: the end of its entries; fixed after seal
	folded  bool                // the commands are calls of the batch script; fixed after seal

	mu      sync.Mutex // guards the following
	calls   []*call    // by entry; nil once decided
	tallies []quorum.Tally
	unknown []uint64 // by entry: the masters whose vote is unknown, one bit each
	causes  []error  // by master: why it gave no vote to some entry
	told    []MasterError
	toldOf  uint64 // the masters in told
	open    int    // masters that have not been read yet; the last one recycles the round
}

var rounds = sync.Pool{New: func() any { return new(round) }}

// add takes a call into the round. The caller holds Pipeline.mu.
func (r *round) add(c *call) {
	c.round = r.seq
	r.calls = append(r.calls, c)
	r.entries = append(r.entries, c.req)
}

// seal fixes the round's commands. Everything in them is shared and immutable.
func (r *round) seal(b rueidis.Builder) {
	r.folded = len(r.entries) >= foldFrom
	for from := 0; from < len(r.entries); {
		cmd, n := rueidis.Completed{}, 1
		if r.folded {
			cmd, n = fold(b, r.entries[from:])
		} else {
			cmd = plain(b, &r.entries[from])
		}
		from += n
		r.cmds = append(r.cmds, cmd)
		r.ends = append(r.ends, from)
	}
}

func plain(b rueidis.Builder, q *Request) rueidis.Completed {
	switch q.Op {
	case Acquire:
		return b.Arbitrary("SET").Args(q.Name, q.Token, "NX", "PX", millis(q.TTL)).Build().Pin()
	case Extend:
		return b.Arbitrary("EVALSHA").Args(scripts.Extend.SHA1, "1", q.Name, q.Token, millis(q.TTL)).Build().Pin()
	default:
		return b.Arbitrary("EVALSHA").Args(scripts.Release.SHA1, "1", q.Name, q.Token).Build().Pin()
	}
}

// fold makes one call of the batch script from the first entries and returns how
// many: at most foldMax.
func fold(b rueidis.Builder, entries []Request) (rueidis.Completed, int) {
	n := min(len(entries), foldMax)
	args := make([]string, 0, 8+2*n)
	args = append(args, scripts.Batch.SHA1, strconv.Itoa(n))
	for i := range entries[:n] {
		args = append(args, entries[i].Name)
	}
	for i := range entries[:n] {
		args = append(args, entries[i].Token)
	}
	for from, to := 0, 0; from < n; from = to {
		for first := &entries[from]; to < n && entries[to].alike(first); to++ {
		}
		args = append(args, entries[from].what(), strconv.Itoa(to-from))
	}
	return b.Arbitrary("EVALSHA").Args(args...).Build().Pin(), n
}

// alike reports whether the batch script may take two entries in one run.
func (q *Request) alike(other *Request) bool {
	return q.Op == other.Op && (q.Op == Release || q.TTL == other.TTL)
}

// what tells the batch script what to do with an entry.
func (q *Request) what() string {
	switch q.Op {
	case Acquire:
		return millis(q.TTL)
	case Extend:
		return "+" + millis(q.TTL)
	default:
		return "-"
	}
}

func millis(ttl time.Duration) string { return strconv.FormatInt(ttl.Milliseconds(), 10) }

// entriesOf returns the range of entries that command c carries.
func (r *round) entriesOf(c int) (from, to int) {
	if c > 0 {
		from = r.ends[c-1]
	}
	return from, r.ends[c]
}

// begin sets the votes of the masters that are not asked and says how many are.
// It is called once, before any master can see the round.
func (r *round) begin(asked int) {
	r.open = asked
	unasked := quorum.Tally{Unknown: uint8(len(r.masters) - asked)}
	away := uint64(0)
	for m, err := range r.causes {
		if err != nil {
			away |= 1 << m
		}
	}
	for range r.entries {
		r.tallies = append(r.tallies, unasked)
		r.unknown = append(r.unknown, away)
	}
	if asked < len(r.masters) {
		for i := range r.entries {
			r.settleLocked(i)
		}
	}
}

// voteLocked is the one door through which a master's answer counts.
func (r *round) voteLocked(m *master, i int, v quorum.Vote) {
	r.tallies[i].Add(v)
	if v == quorum.Unknown {
		r.unknown[i] |= 1 << m.index
	}
	r.settleLocked(i)
}

func (r *round) settleLocked(i int) {
	c := r.calls[i]
	if c == nil {
		return
	}
	verdict := r.tallies[i].Verdict(len(r.masters))
	if verdict == quorum.Pending {
		return
	}
	r.calls[i] = nil
	out := Outcome{Verdict: verdict, Tally: r.tallies[i], Round: r.seq}
	if verdict != quorum.Won && out.Tally.Unknown > 0 {
		out.Causes = r.causesLocked(r.unknown[i])
	}
	c.decide(out)
}

// causesLocked lists why the given masters gave no vote; calls that failed by the
// same masters share one slice.
func (r *round) causesLocked(unknown uint64) []MasterError {
	if r.toldOf != unknown {
		r.told, r.toldOf = nil, unknown
		for m, err := range r.causes {
			if unknown&(1<<m) != 0 {
				r.told = append(r.told, MasterError{r.masters[m].address, err})
			}
		}
	}
	return r.told
}

// read turns one master's replies to the commands from first on into votes. It
// returns the commands that a missing script kept from being executed (their
// entries have no vote yet), the releases that failed, and the error with which
// the master said that it is not fit to serve.
func (r *round) read(m *master, first int, replies []rueidis.RedisResult) (missing []int, failed []int, sick error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range replies {
		noScript, f, err := r.readLocked(m, first+i, replies[i])
		if noScript {
			missing = append(missing, first+i)
		}
		failed = append(failed, f...)
		if err != nil {
			sick = err
		}
	}
	return missing, failed, sick
}

func (r *round) readLocked(m *master, c int, reply rueidis.RedisResult) (noScript bool, failed []int, sick error) {
	from, to := r.entriesOf(c)
	unknown := func(i int, err error) {
		r.causes[m.index] = err
		if r.entries[i].Op == Release {
			failed = append(failed, i)
		}
		if isSick(err) {
			sick = err
		}
		r.voteLocked(m, i, quorum.Unknown)
	}
	if !r.folded {
		switch v, err := plainVote(r.entries[from].Op, reply); {
		case isNoScript(err):
			noScript = true
		case err != nil:
			unknown(from, err)
		default:
			r.voteLocked(m, from, v)
		}
		return noScript, failed, sick
	}
	votes, fault, err := batchVotes(reply, to-from)
	if isNoScript(err) {
		return true, nil, nil
	}
	for i := from; i < to; i++ {
		switch {
		case err != nil:
			unknown(i, err)
		case votes[i-from] == '1':
			r.voteLocked(m, i, quorum.Granted)
		case votes[i-from] == '0':
			r.voteLocked(m, i, quorum.Refused)
		default:
			unknown(i, fault)
		}
	}
	return false, failed, sick
}

// fail casts an unknown vote for every entry: the master was not asked, or its
// answer never came.
func (r *round) fail(m *master, err error) {
	for c := range r.cmds {
		r.failCommand(m, c, err)
	}
}

// failCommand casts an unknown vote for the entries of one command, and returns
// the releases among them.
func (r *round) failCommand(m *master, c int, err error) (releases []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.causes[m.index] = err
	from, to := r.entriesOf(c)
	for i := from; i < to; i++ {
		if r.entries[i].Op == Release {
			releases = append(releases, i)
		}
		r.voteLocked(m, i, quorum.Unknown)
	}
	return releases
}

// leave is each asked master's last act on the round.
func (r *round) leave() {
	r.mu.Lock()
	r.open--
	last := r.open == 0
	r.mu.Unlock()
	if last {
		r.recycle()
	}
}

// recycle gives the round back; nobody else holds it.
func (r *round) recycle() {
	clear(r.entries)
	clear(r.cmds)
	clear(r.calls)
	clear(r.causes)
	*r = round{entries: r.entries[:0], cmds: r.cmds[:0], ends: r.ends[:0], calls: r.calls[:0], tallies: r.tallies[:0], unknown: r.unknown[:0], causes: r.causes[:0]}
	rounds.Put(r)
}
