package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/valyala/fastrand"

	"muxlock/engine/internal/inside"
	"muxlock/internal/clock"
	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/redlock"
	"muxlock/pipeline"
)

// masters is how an engine asks its masters.
type masters struct {
	pipe    pipe
	router  inside.Router // pipe, if it is a Router; else nil
	number  int           // of the masters that have a name
	fencing bool
	raised  atomic.Uint64 // attempts that needed a second round trip for their fencing token
	took    atomic.Int64  // how long an attempt takes, smoothed; ns
	joint   atomic.Uint64 // attempts at several names so far
}

// A pipe carries the engine's requests: a Pipeline, or a router of package groups.
type pipe = inside.Pipe

func (m *masters) init(p pipe, cfg *Config) {
	m.pipe, m.number, m.fencing = p, len(cfg.Masters), cfg.Fencing
	if m.router, _ = p.(inside.Router); m.router != nil {
		m.number = m.router.Number()
	}
}

// at returns the pipe of a key.
func (m *masters) at(key string) pipe {
	if m.router != nil {
		return m.router.Of(key)
	}
	return m.pipe
}

// ask asks for a name once. If a quorum grants it, but too few masters store its fencing token, ask raises the token in a
// second round trip; out then covers both. After an error nothing is left to be undone.
func (m *masters) ask(ctx context.Context, req *pipeline.Request) (out pipeline.Outcome, err error) {
	if out, err = m.at(req.Name).Do(ctx, *req); err != nil {
		return out, err
	}
	req.Origin, req.Fence = out.Origin, out.Fence
	if m.isLow(req, &out) {
		return m.raise(ctx, *req, out)
	}
	return out, nil
}

// isLow reports whether a quorum granted req, but too few masters stored its fencing token with their grant. That is rare.
func (m *masters) isLow(req *pipeline.Request, out *pipeline.Outcome) bool {
	return m.fencing && !req.Shared && out.Verdict == quorum.Won && !fencing.Counts(out.Granted, out.Stored, 0, quorum.Size(m.number))
}

// raise raises the fencing token of one name.
func (m *masters) raise(ctx context.Context, req pipeline.Request, out pipeline.Outcome) (pipeline.Outcome, error) {
	outs, errs := []pipeline.Outcome{out}, []error{nil}
	m.raiseLow(ctx, []pipeline.Request{req}, outs, errs)
	return outs[0], errs[0]
}

// askMany asks for many names once, side by side. raiseLow follows.
func (m *masters) askMany(ctx context.Context, reqs []pipeline.Request) (outs []pipeline.Outcome, errs []error) {
	outs, errs = make([]pipeline.Outcome, len(reqs)), make([]error, len(reqs))
	m.pipe.DoMany(ctx, reqs, func(i int, out *pipeline.Outcome, err error) {
		if outs[i], errs[i] = *out, err; err == nil { // else the request may still be under way
			reqs[i].Origin, reqs[i].Fence = out.Origin, out.Fence
		}
	})
	return outs, errs
}

// raiseLow raises the fencing tokens that too few masters store, in a second round trip. outs then cover both round trips.
// If a raise returns an error, raiseLow undoes the attempt.
func (m *masters) raiseLow(ctx context.Context, reqs []pipeline.Request, outs []pipeline.Outcome, errs []error) {
	var low []int
	var raises []pipeline.Request
	for i, req := range reqs {
		if errs[i] == nil && m.isLow(&req, &outs[i]) {
			req.Op, req.Joint, req.OneOf, req.Among = pipeline.Extend, 0, false, outs[i].Granted
			low, raises = append(low, i), append(raises, req)
		}
	}
	m.raised.Add(uint64(len(low)))
	m.pipe.DoMany(ctx, raises, func(k int, second *pipeline.Outcome, err error) {
		i := low[k]
		first := outs[i]
		if outs[i], errs[i] = *second, err; err != nil {
			m.undo(reqs[i])
		}
		outs[i].Origin, outs[i].Sent, outs[i].Fence = first.Origin, first.Sent, first.Fence
	})
}

// undo sends a release that nobody waits for.
func (m *masters) undo(req pipeline.Request) {
	if req.Op != pipeline.Pass {
		req.Op, req.Joint, req.OneOf = pipeline.Release, 0, false
	}
	m.at(req.Name).Post(req)
}

// refusal returns the error for the outcome of an extend or a release.
func (m *masters) refusal(op operation, out pipeline.Outcome) error {
	kind := kindOf(out.Verdict, ErrNotHeld)
	switch {
	case out.Verdict == quorum.Won:
		return nil
	case out.Denied != nil && out.Verdict == quorum.NoQuorum: // else enough masters have answered
		kind = ErrDenied
	}
	return newAttemptError(kind, op, m.number, out)
}

// roundTrip returns how long an attempt takes at the moment, smoothed by noteTook: it follows faster attempts
// at once and slower ones slowly. Otherwise one slow moment would make this process hesitate, and lose to
// others, for long.
func (m *masters) roundTrip() time.Duration { return time.Duration(m.took.Load()) }

// spread is the longest delay of contenders that are woken at once.
func (m *masters) spread() time.Duration { return redlock.WakeSpread(m.roundTrip()) }

// sample notes how long an attempt took that began at start. Without contention, a sample is enough.
func (m *masters) sample(out *pipeline.Outcome, contended bool, start clock.Instant) {
	if out.Verdict != quorum.NoQuorum && (contended || m.roundTrip() == 0 || fastrand.Uint32n(8) == 0) {
		m.noteTook(clock.Now().Sub(start))
	}
}

func (m *masters) noteTook(d time.Duration) {
	old := time.Duration(m.took.Load())
	if old == 0 || d < old {
		old = d
	}
	m.took.Store(int64(old + (d-old)/8))
}
