package groups

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

	"muxlock/engine/internal/inside"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// moved is the pipe of keys that move from one group to another. The lock of such a key is one lease with one token, in
// both groups. An acquire goes to the second group only if the first granted it. It is won if both groups grant it, and
// validity counts from before the earlier request. So one end of validity holds for both, and the engine's rules for
// renewals, losses and releases stay the same. Processes do not stand in line for such a name.
type moved struct {
	inside.Pipe // of the first group
	second      inside.Pipe
}

func (m moved) Lines(context.Context) bool { return false }

func (m moved) Do(ctx context.Context, req pipeline.Request) (out pipeline.Outcome, err error) {
	m.DoMany(ctx, []pipeline.Request{req}, func(_ int, o *pipeline.Outcome, e error) { out, err = *o, e })
	return out, err
}

func (m moved) DoMany(ctx context.Context, reqs []pipeline.Request, each func(i int, out *pipeline.Outcome, err error)) {
	outs, errs := make([]pipeline.Outcome, len(reqs)), make([]error, len(reqs))
	var rest []pipeline.Request
	var at []int
	m.Pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		if outs[i], errs[i] = *out, err; reqs[i].Op.Takes() && (err != nil || out.Verdict != quorum.Won) {
			each(i, out, err)
			return
		}
		rest, at = append(rest, forSecond(reqs[i])), append(at, i)
	})
	m.second.DoMany(ctx, rest, func(j int, out *pipeline.Outcome, err error) {
		i := at[j]
		// The engine undoes decided requests. Of a choice it undoes only requests with grants in the joint outcome.
		if undo := reqs[i]; undo.Op.Takes() && (err != nil || undo.OneOf && out.Verdict != quorum.Won) {
			undo.Op, undo.Joint, undo.OneOf, undo.Origin = pipeline.Release, 0, false, outs[i].Origin
			m.Pipe.Post(undo)
		}
		joined := both(outs[i], *out)
		if reqs[i].Op == pipeline.Intend { // the readers of another step are in one group only
			joined = slices.MaxFunc([]pipeline.Outcome{outs[i], *out}, func(a, b pipeline.Outcome) int {
				return cmp.Compare(a.Tally.Granted, b.Tally.Granted)
			})
		}
		each(i, &joined, cmp.Or(errs[i], err))
	})
}

// Start asks both groups at once, for an extend or a release of a lock that both hold. Unless both take the request, the
// Receiver hears nothing.
func (m moved) Start(req pipeline.Request, to pipeline.Receiver) error {
	j := &joint{to: to, op: req.Op}
	return cmp.Or(m.Pipe.Start(req, j), m.second.Start(forSecond(req), j))
}

func (m moved) Post(req pipeline.Request) {
	m.Pipe.Post(req)
	m.second.Post(forSecond(req))
}

func (m moved) Await(ctx context.Context, key string, poll time.Duration) error {
	return cmp.Or(m.Pipe.Await(ctx, key, poll), m.second.Await(ctx, key, poll))
}

// Inspect asks one group after the other. It returns the values of the group where the name is held or, if neither group
// holds it, of the group with more errors.
func (m moved) Inspect(ctx context.Context, key string) ([]pipeline.Value, error) {
	one, err := m.Pipe.Inspect(ctx, key)
	two, second := m.second.Inspect(ctx, key)
	if taken(two) > taken(one) {
		one = two
	}
	return one, cmp.Or(err, second)
}

// taken weighs how far the masters of a group contradict that a name is free: a quorum with the name most, then a group
// without any answer, then a minority with the name.
func taken(values []pipeline.Value) (weight int) {
	for _, v := range values {
		if v.Token != "" || len(v.Readers) > 0 {
			weight += 2
		} else if v.Err != nil {
			weight++
		}
	}
	return weight
}

// forSecond returns a request for the second group, which does not know the round of the acquire.
func forSecond(req pipeline.Request) pipeline.Request {
	req.Origin = pipeline.OriginForeign
	return req
}

// both returns the outcome of a request in two groups: the second group's, unless the first failed. Only an acquire's
// Origin depends on their order.
func both(one, two pipeline.Outcome) pipeline.Outcome {
	if one.Verdict != quorum.Won && two.Verdict != quorum.Denied { // a lock is lost for good where one denies it
		return one
	}
	if two.Origin = one.Origin; one.Sent.Before(two.Sent) {
		two.Sent = one.Sent
	}
	return two
}

// A joint merges the outcomes of both groups into one, and their counts.
type joint struct {
	to pipeline.Receiver
	op pipeline.Op

	mu     sync.Mutex // guards the following
	outs   []pipeline.Outcome
	counts []uint64
}

func (j *joint) Decided(out pipeline.Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outs = append(j.outs, out); len(j.outs) == 2 {
		j.to.Decided(both(j.outs[0], j.outs[1]))
	}
}

// Counted reports the votes of the group where fewer masters granted an extend, or more a release. It reports no master
// that refused: a key that moves is not healed.
func (j *joint) Counted(granted, _ uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.counts = append(j.counts, granted); len(j.counts) < 2 {
		return
	}
	slices.SortFunc(j.counts, func(a, b uint64) int { return cmp.Compare(bits.OnesCount64(a), bits.OnesCount64(b)) })
	if j.op == pipeline.Release {
		slices.Reverse(j.counts)
	}
	j.to.Counted(j.counts[0], 0)
}

func (j *joint) Over() bool { return j.to.Over() }
