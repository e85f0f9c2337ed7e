package groups

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"muxlock/engine"
	"muxlock/internal/quorum"
	"muxlock/internal/token"
	"muxlock/pipeline"
)

// A note on the masters names the map that all processes use for their locks, and the map after the change. Both names
// are fingerprints.
//
//	A --first process with Groups A, Next B--> A, B --first process with Groups B--> B
//
// Only the second step needs the barrier (doc.go, before step 2): a process before the first step and one after the second
// share no group for a name that moves.
type note struct {
	step         int // 0: there is no note. The highest step is the latest
	groups, next string
}

// none is the fingerprint of no map.
var none = fmt.Sprintf("%016x", hash(""))

// shown formats a fingerprint for errors.
func shown(fingerprint string) string {
	if fingerprint == none {
		return "none"
	}
	return fingerprint
}

// allows reports whether a process may start, and whether its map becomes the note.
func (n note) allows(own note) (ok, step bool) {
	ends := own.groups == n.next && own.next == none
	switch {
	case n.step == 0 || ends:
		return true, true
	case own.groups == n.groups:
		return true, own.next != none && own.next != n.next
	}
	return own.next == n.groups, false
}

// A sighting is what a master has in place of a note.
type sighting struct {
	of   *group
	text string
	note // step 0 if text is none
}

// readNotes asks all masters for their notes. It returns an error if too few masters of a group answer. away: too few vote, or in
// one group (group.away).
func (r *router) readNotes(ctx context.Context) (seen []sighting, away, err error) {
	for _, g := range r.all {
		values, failed := g.pipe.Inspect(ctx, r.noteKey())
		err = cmp.Or(err, g.short(values, failed))
		for i, m := range g.pipe.Stats().Masters { // after the answers: a master that was restarted meanwhile does not vote
			if failed == nil && values[i].Err == nil {
				s := sighting{of: g, text: values[i].Token}
				_, _ = fmt.Sscan(s.text, &s.step, &s.groups, &s.next)
				seen, values[i].Err = append(seen, s), m.Cause
			}
		}
		g.away = g.short(values, failed)
		away = cmp.Or(away, g.away)
	}
	return seen, away, err
}

// judge returns the latest note. step: it is a new one, of this process. It refuses a map that a note of the latest step does
// not allow, or the latest note in one of its Groups, to which all steps were written.
func (r *router) judge(seen []sighting) (latest note, step bool, err error) {
	last, top := make(map[*group]int), 0
	for _, s := range seen {
		last[s.of], top = max(last[s.of], s.step), max(top, s.step)
	}
	for _, s := range seen {
		ok, begins := s.allows(r.own)
		switch {
		case s.step < top && (ok || s.of.away != nil || s.step < last[s.of] || !slices.Contains(r.now, s.of)):
		case !ok:
			return latest, false, fmt.Errorf("%w: map of groups: the masters have Groups %s and Next %s, this process has Groups %s and Next %s: change it in two steps (package groups; muxlock: --groups, --next-groups)",
				engine.ErrConfigMismatch, s.groups, shown(s.next), r.own.groups, shown(r.own.next))
		default:
			latest, step = s.note, step || begins
		}
	}
	if step {
		latest = note{top + 1, r.own.groups, r.own.next}
	}
	return latest, step, nil
}

// compare refuses a map that the notes do not allow. Once a quorum of each group votes, it writes the note where it is missing,
// and reads it back. A new note is written under a lock, so of two processes that start at once, one wins. away: too few vote.
// They need not if no change is under way, and a group that votes has the note of this very map: then no other is in use.
func (r *router) compare(ctx context.Context, locked bool) (away, err error) {
	for wrote := false; !r.agreed.Load(); {
		seen, away, err := r.readNotes(ctx)
		if err != nil {
			return nil, err
		}
		latest, step, err := r.judge(seen)
		known := func(s sighting) bool { return s.of.away == nil && s.note == note{latest.step, r.own.groups, none} }
		switch r.latest = latest; {
		case err != nil:
			return nil, err
		case r.readOnly, away != nil && slices.ContainsFunc(seen, known), away == nil && !step && (wrote || !slices.ContainsFunc(seen, r.lacks)):
			r.agreed.Store(true)
		case away != nil:
			return away, nil
		case step && !locked:
			if away, err = r.alone(ctx); away != nil || err != nil {
				return away, err
			} else if !r.agreed.Load() { // another process has the lock
				time.Sleep(rand.N(50 * time.Millisecond))
			}
		default:
			if err := r.write(ctx, seen); err != nil {
				return nil, err
			}
			wrote = true
		}
	}
	return nil, nil
}

// alone compares under the lock, unless another process has it.
func (r *router) alone(ctx context.Context) (away, err error) {
	req := pipeline.Request{Name: pipeline.ReservedPrefix + "map:" + r.prefix, Token: token.New(), TTL: min(r.in.MaxTTL, 5*time.Second)}
	for _, g := range r.all {
		req.Op = pipeline.Acquire
		out, err := g.pipe.Do(ctx, req)
		req.Op = pipeline.Release
		defer func() { _, _ = g.pipe.Do(ctx, req) }()
		if err != nil || out.Verdict != quorum.Won {
			return nil, nil
		}
	}
	return r.compare(ctx, true)
}

func (r *router) lacks(s sighting) bool { return s.step < r.latest.step }

// write replaces what was seen of earlier steps. So no process overwrites a note that it has not judged, however long it was
// stopped.
func (r *router) write(ctx context.Context, seen []sighting) (err error) {
	text := fmt.Sprintf("%d %s %s", r.latest.step, r.latest.groups, r.latest.next)
	for i, s := range seen {
		if r.lacks(s) && !slices.Contains(seen[:i], s) {
			err = cmp.Or(err, s.of.short(s.of.pipe.Write(ctx, r.noteKey(), s.text, text)))
		}
	}
	return err
}

func (r *router) noteKey() string { return pipeline.ReservedPrefix + "groups:" + r.prefix }

// keep writes the note again where a master lost it in a restart. Such a master does not vote for longer than MaxTTL, and keep
// reads the notes more often. So every voting master has the note for as long as a process runs. keep never copies a foreign note.
func (r *router) keep(ctx context.Context) {
	for told := ""; ; {
		select {
		case <-time.After(r.in.MaxTTL / 3):
		case <-ctx.Done():
			return
		}
		if !r.agreed.Load() {
			continue
		}
		seen, _, _ := r.readNotes(ctx) // a group without a quorum gets the note later
		latest, step, err := r.judge(seen)
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			r.in.Log(slog.LevelError, true, "another map of groups is in use on the same masters: two may hold a lock", "error", err)
		case err == nil && !step && latest.step > r.latest.step:
			r.latest = latest
		}
		_ = r.write(ctx, seen)
	}
}

// short returns an error unless a quorum of masters answered.
func (g *group) short(values []pipeline.Value, err error) error {
	answers := 0
	for _, v := range values {
		if v.Err == nil {
			answers++
		} else {
			err = engine.MasterError{Master: v.Address, Err: v.Err}
		}
	}
	if answers < quorum.Size(len(g.masters)) {
		return fmt.Errorf("group %q: %w: map of groups: %w", g.id, engine.ErrNoQuorum, err)
	}
	return nil
}
