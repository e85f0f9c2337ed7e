package pipeline

import (
	"sync"

	"github.com/redis/rueidis"

	"muxlock/internal/quorum"
)

// A round is one batch on its way to all masters: encoded once, sent by each
// master's goroutine when that is free, and read reply by reply. It keeps its
// own copy of the requests, because a call belongs to its caller again as soon
// as it is decided, while slower masters are still to be read.
type round struct {
	seq     uint64
	masters []*master // of the pipeline
	entries []Request // releases first, then the rest in order of arrival; fixed after seal
	batch   batch     // fixed after seal
	ends    []int     // by command: the end of its entries; fixed after seal
	folded  bool      // the commands are calls of the batch script; fixed after seal

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

// seal encodes the round. Everything in it is shared by the masters from now on.
func (r *round) seal() {
	r.folded = len(r.entries) >= foldFrom
	for from := 0; from < len(r.entries); {
		if r.folded {
			from += r.batch.fold(r.entries[from:])
		} else {
			r.batch.plain(&r.entries[from])
			from++
		}
		r.ends = append(r.ends, from)
	}
}

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
	for c := range r.ends {
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
	clear(r.calls)
	r.batch.reset()
	clear(r.causes)
	*r = round{entries: r.entries[:0], batch: r.batch, ends: r.ends[:0], calls: r.calls[:0], tallies: r.tallies[:0], unknown: r.unknown[:0], causes: r.causes[:0]}
	rounds.Put(r)
}
