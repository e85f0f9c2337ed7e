package groups

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"muxlock/engine"
	"muxlock/internal/quorum"
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

// after reports whether n supersedes other.
func (n note) after(other note) bool {
	return cmp.Or(cmp.Compare(n.step, other.step), cmp.Compare(n.groups, other.groups), cmp.Compare(n.next, other.next)) > 0
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

// compare refuses a map that the latest note of all groups does not allow. Else, with write, it writes the new note to
// the masters. Two steps at the same moment may miss each other; then one note survives.
func (r *router) compare(ctx context.Context, own note, write bool) error {
	lacking, err := r.look(ctx)
	if err != nil {
		return err
	}
	own.step = r.latest.step + 1
	ok, step := r.latest.allows(own)
	if !ok {
		return fmt.Errorf("%w: map of groups: the masters have Groups %s and Next %s, this process has Groups %s and Next %s: change it in two steps (package groups; muxlock: --groups, --next-groups)",
			engine.ErrConfigMismatch, r.latest.groups, shown(r.latest.next), own.groups, shown(own.next))
	}
	if step {
		r.latest = own
	}
	if !write || !lacking && !step {
		return nil
	}
	return r.write(ctx)
}

// look finds the latest note, and reports whether a master lacks it. It returns an error if too few masters of a group answer.
func (r *router) look(ctx context.Context) (lacking bool, err error) {
	var found []note // of all masters that answered
	for _, g := range r.all {
		answers, short := g.answers(g.pipe.Inspect(ctx, r.noteKey()))
		for _, v := range answers {
			var n note
			_, _ = fmt.Sscan(v.Token, &n.step, &n.groups, &n.next) // a flushed master has none
			if found = append(found, n); n.after(r.latest) {
				r.latest = n
			}
		}
		err = cmp.Or(err, short)
	}
	return slices.ContainsFunc(found, func(n note) bool { return n != r.latest }), err
}

func (r *router) write(ctx context.Context) (err error) {
	text := fmt.Sprintf("%d %s %s", r.latest.step, r.latest.groups, r.latest.next)
	for _, g := range r.all {
		_, short := g.answers(g.pipe.Write(ctx, r.noteKey(), text))
		err = cmp.Or(err, short)
	}
	return err
}

func (r *router) noteKey() string { return pipeline.ReservedPrefix + "groups:" + r.prefix }

// keepNote writes the note again where a master lost it in a restart. Such a master does not vote for longer than MaxTTL,
// and every is shorter. So every voting master has the note for as long as a process runs.
func (r *router) keepNote(ctx context.Context, every time.Duration) {
	for {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
		if lacking, _ := r.look(ctx); lacking { // a group without a quorum gets the note later
			_ = r.write(ctx)
		}
	}
}

// answers returns the values without an error, and an error unless a quorum of masters answered.
func (g *group) answers(values []pipeline.Value, err error) (answers []pipeline.Value, short error) {
	for _, v := range values {
		if v.Err == nil {
			answers = append(answers, v)
		} else {
			err = engine.MasterError{Master: v.Address, Err: v.Err}
		}
	}
	if len(answers) < quorum.Size(len(g.masters)) {
		short = fmt.Errorf("group %q: %w: map of groups: %w", g.id, engine.ErrNoQuorum, err)
	}
	return answers, short
}
