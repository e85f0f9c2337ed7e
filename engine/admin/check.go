package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/pipeline"
)

// Check looks at all masters for what makes locks on them unsafe or slow: eviction, replicas and Sentinels,
// cluster mode, one server under two addresses, persistence beside Config.MastersAreDurable, permissions,
// versions, slow commands, missing votes. A service can refuse to start on a bad set by Report.Err. A
// minority that is away is a warning. muxlock doctor takes more time and finds more: round trips and clocks.
// CheckRefused is for where no engine starts.
//
// Check opens a connection of its own to each master, changes nothing there, and asks all at once, for about
// 5 s at most. It calls the functions in Config.Client and waits for them. ctx ends it, but a connection that
// is being made may first take its time. What the ACL forbids to look at is LevelUnknown. Errors:
// engine.ErrClosed; engine.ErrInvalid for the engine of several groups; ctx's error.
func Check(ctx context.Context, e *engine.Engine) (Report, error) {
	in := inside.Of(e)
	select {
	case <-in.Closing:
		return Report{}, engine.ErrClosed
	default:
	}
	if _, several := in.Pipe.(inside.Router); several {
		return Report{}, fmt.Errorf("%w: the engine has several groups: check each of its Groups()", engine.ErrInvalid)
	}
	s, err := in.Setup()
	if err != nil {
		return Report{}, err
	}
	return check(ctx, s.Masters, tried(ctx, in), in.Durable, in.Fencing)
}

// tried returns what an engine has seen of its masters. First the engine tries whether processes may stand in line at the
// masters that are up. tried waits for that, for limit at most.
func tried(ctx context.Context, in inside.Engine) []pipeline.MasterStats {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		in.Lines(ctx)
		seen := in.Stats().Masters
		untried := func(m pipeline.MasterStats) bool { return m.Up && !m.Lines && m.NoLine == nil }
		if ctx.Err() != nil || !slices.ContainsFunc(seen, untried) {
			return seen
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// CheckRefused is Check for where no engine starts: refusal is the error of engine.New for cfg. It blocks as
// Check does. Errors: engine.ErrInvalid; ctx's error.
func CheckRefused(ctx context.Context, cfg engine.Config, refusal error) (Report, error) {
	s, err := inside.Setup(cfg)
	if err != nil {
		return Report{}, err
	}
	var start *engine.StartError
	seen := make([]pipeline.MasterStats, len(s.Masters))
	for i, m := range s.Masters {
		if seen[i].Up = true; !errors.As(refusal, &start) {
			seen[i].Cause = refusal // one cause for all
			continue
		}
		for _, c := range start.Causes {
			if c.Master == m.Address {
				seen[i] = pipeline.MasterStats{Cause: c.Err}
			}
		}
	}
	r, err := check(ctx, s.Masters, seen, cfg.MastersAreDurable, cfg.Fencing)
	r.Findings = append([]Finding{{Level: LevelFail, Check: "start", Text: "no engine starts on these masters", ToDo: "see what else is FAIL or WARN", Masters: []int{}}}, r.Findings...)
	return r, err
}

// check asks all masters at once, and judges each answer beside the stats that an engine has of the master.
// durable says that the engine relies on their disks, and fenced that a master which was restarted needs others' registers.
func check(ctx context.Context, masters []pipeline.Master, seen []pipeline.MasterStats, durable, fenced bool) (Report, error) {
	all := make([]facts, len(masters))
	var calls sync.WaitGroup
	for i, m := range masters {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			all[i].address, all[i].seen = m.Address, seen[i]
			all[i].err = resp.WithoutArguments(all[i].ask(ctx, m.Option))
		})
	}
	calls.Wait()
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	up, voting := 0, 0
	for _, m := range seen {
		if m.Up {
			up++
			if m.Cause == nil {
				voting++
			}
		}
	}
	tooFew := fenced && !durable && voting < fencing.Peers(len(all), quorum.Size(len(all)))
	var each []Finding
	for i, f := range all {
		f.stuck = tooFew && errors.Is(f.seen.Cause, engine.ErrRestarted)
		found := ofMaster(f)
		if durable && f.err == nil {
			found = append(found, asserted(f))
		}
		for _, g := range found {
			if (g.Check == "reachable" || g.Check == "permissions") && g.Level == LevelFail && up >= quorum.Size(len(all)) {
				g.Level = LevelWarn
			}
			g.Masters = []int{i + 1}
			each = append(each, g)
		}
	}
	return Report{grouped(append(ofSet(all), inOrder(grouped(each))...)), len(all)}, nil
}

// away returns why the engine has set a master aside; nil if it has not. The engine tried each master with a
// lock when it admitted it.
func away(m pipeline.MasterStats) error {
	switch {
	case m.Up:
		return nil
	case m.Cause == nil:
		return errors.New("it is not connected")
	}
	return m.Cause
}

// vote finds whether a master votes on new locks.
func vote(m pipeline.MasterStats, stuck bool) Finding {
	f := Finding{Level: LevelWarn, Check: "vote"}
	switch {
	case !m.Up:
		f.Text, f.ToDo = "none: it is set aside", "it comes back by itself once it can be reached and admitted"
	case errors.Is(m.Cause, engine.ErrConfigMismatch):
		f.Level, f.Text, f.ToDo = LevelFail, fmt.Sprintf("none: %v", m.Cause), "configure all processes alike"
	case stuck, errors.Is(m.Cause, ErrMembersLost):
		f.Level, f.Text, f.ToDo = LevelFail, fmt.Sprintf("none: %v", m.Cause), "bring back the masters that are away, with their data; if they cannot come back: muxlock masters init --recover"
	case m.Cause != nil:
		f.Text, f.ToDo = fmt.Sprintf("none yet: %v", m.Cause), "wait: Ready"
	default:
		f.Level, f.Text = LevelOK, "it votes on new locks"
	}
	return f
}

// asserted finds whether Config.MastersAreDurable is true of a master.
func asserted(f facts) Finding {
	d := Finding{Level: LevelOK, Check: "durable", Text: "as MastersAreDurable asserts"}
	switch durable, known := f.durable(); {
	case !known:
		d.Level, d.Text = LevelUnknown, "MastersAreDurable is set; whether it is true is not known (CONFIG is not permitted)"
	case !durable:
		d.Level, d.Text, d.ToDo = LevelFail, "MastersAreDurable is set, but it may forget locks when it restarts, and grant them again", "appendonly yes and appendfsync always, or leave it false"
	}
	return d
}
