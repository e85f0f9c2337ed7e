package groups

import (
	"context"
	"fmt"
	"slices"

	"muxlock/engine"
	"muxlock/internal/quorum"
	"muxlock/pipeline"
)

// A note on the masters says by which map every process holds its locks, and which map that is being changed to. Maps
// are fingerprints.
//
//	A --first process with Groups A, Next B--> A, B --first process with Groups B--> B
//
// Only the second step needs the barrier: it ends what all processes had in common.
type note struct {
	step         int // 0: there is no note. The highest is the latest
	groups, next string
}

// none is the fingerprint of no map.
var none = fmt.Sprintf("%016x", hash(""))

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

// compare refuses a map that the latest note of all groups does not allow. Else, with write, it has the masters keep
// the note that counts from now on. Two steps at the same moment may miss each other.
func (r *router) compare(ctx context.Context, own note, write bool) error {
	key := pipeline.ReservedPrefix + "groups:" + r.prefix
	var latest note
	var found []note // of all masters that answered
	for _, g := range r.all {
		answers, err := g.answers(g.pipe.Inspect(ctx, key))
		if err != nil {
			return err
		}
		for _, v := range answers {
			var n note
			_, _ = fmt.Sscan(v.Token, &n.step, &n.groups, &n.next) // a flushed master has none
			if found = append(found, n); n.step > latest.step {
				latest = n
			}
		}
	}
	own.step = latest.step + 1
	ok, step := latest.allows(own)
	if !ok {
		return fmt.Errorf("%w: map of groups: the masters have %s, to become %s, and Groups and Next are %s and %s: change it in two steps (package groups)",
			engine.ErrConfigMismatch, latest.groups, latest.next, own.groups, own.next)
	}
	if step {
		latest = own
	}
	if !write || !slices.ContainsFunc(found, func(n note) bool { return n != latest }) {
		return nil
	}
	for _, g := range r.all {
		_, err := g.answers(g.pipe.Write(ctx, key, fmt.Sprintf("%d %s %s", latest.step, latest.groups, latest.next)))
		if err != nil {
			return err
		}
	}
	return nil
}

// answers returns those of values that are no errors, or an error unless a quorum of masters answered.
func (g *group) answers(values []pipeline.Value, err error) (answers []pipeline.Value, _ error) {
	for _, v := range values {
		if v.Err == nil {
			answers = append(answers, v)
		} else {
			err = engine.MasterError{Master: v.Address, Err: v.Err}
		}
	}
	if len(answers) >= quorum.Size(len(g.masters)) {
		return answers, nil
	}
	return nil, fmt.Errorf("group %q: %w: map of groups: %w", g.id, engine.ErrNoQuorum, err)
}
