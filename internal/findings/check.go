package findings

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/pipeline"
)

// Check asks all masters at once, and judges their answers beside what an engine has seen of each.
// durable is that the engine relies on their disks. It blocks for about five seconds at most, as far
// as the functions in their options return. The only error is ctx's.
func Check(ctx context.Context, masters []pipeline.Master, seen []pipeline.MasterStats, durable bool) ([]Finding, error) {
	all := make([]facts, len(masters))
	var asking sync.WaitGroup
	for i, m := range masters {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			all[i].address, all[i].seen = m.Address, seen[i]
			all[i].err = resp.WithoutArguments(all[i].ask(ctx, m.Option))
		})
	}
	asking.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	up := 0
	for _, m := range seen {
		if m.Up {
			up++
		}
	}
	var each []Finding
	for i, f := range all {
		found := ofMaster(f)
		if durable && f.err == nil {
			found = append(found, asserted(f))
		}
		for _, g := range found {
			if (g.Check == "reachable" || g.Check == "permissions") && g.Level == Fail && up >= quorum.Size(len(all)) {
				g.Level = Warn
			}
			g.Masters = []int{i + 1}
			each = append(each, g)
		}
	}
	return Grouped(append(ofSet(all), inOrder(Grouped(each))...)), nil
}

// CheckRefused is Check where no engine starts, because of an error of pipeline.New.
func CheckRefused(ctx context.Context, masters []pipeline.Master, refusal error, durable bool) ([]Finding, error) {
	var start *pipeline.StartError
	seen := make([]pipeline.MasterStats, len(masters))
	for i, m := range masters {
		if seen[i].Up = true; !errors.As(refusal, &start) {
			seen[i].Cause = refusal // of all together
			continue
		}
		for _, c := range start.Causes {
			if c.Master == m.Address {
				seen[i] = pipeline.MasterStats{Cause: c.Err}
			}
		}
	}
	found, err := Check(ctx, masters, seen, durable)
	return append([]Finding{{Level: Fail, Check: "start", Text: "no engine starts on these masters", ToDo: "see what else is FAIL or WARN", Masters: []int{}}}, found...), err
}

// away returns why the engine has set a master aside, nil if it has not: it tried each with a
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

// vote is whether a master votes on new locks.
func vote(m pipeline.MasterStats) Finding {
	f := Finding{Level: Warn, Check: "vote"}
	switch {
	case !m.Up:
		f.Text, f.ToDo = "none: it is set aside", "it comes back by itself once it can be reached and admitted"
	case errors.Is(m.Cause, pipeline.ErrConfigMismatch):
		f.Level, f.Text, f.ToDo = Fail, fmt.Sprintf("none: %v", m.Cause), "configure all processes alike"
	case m.Cause != nil:
		f.Text, f.ToDo = fmt.Sprintf("none yet: %v", m.Cause), "wait: Ready"
	default:
		f.Level, f.Text = OK, "it votes on new locks"
	}
	return f
}

// asserted is whether what Config.MastersAreDurable asserts is so.
func asserted(f facts) Finding {
	d := Finding{Level: OK, Check: "durable", Text: "as MastersAreDurable asserts"}
	switch durable, known := f.durable(); {
	case !known:
		d.Level, d.Text = Unknown, "MastersAreDurable is set; whether it is true is not known (CONFIG is not permitted)"
	case !durable:
		d.Level, d.Text, d.ToDo = Fail, "MastersAreDurable is set, but it may forget locks when it restarts, and grant them again", "appendonly yes and appendfsync always, or leave it false"
	}
	return d
}
