package membership

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
)

// Replace makes to a member in place of from. When it returns, the others are members of the next
// generation. From then on they refuse clients that are configured with from. Engines that are
// configured with to admit it, like a master that lost its data. Replace is safe only if all
// clients check the set: clients without fencing do not.
func Replace(ctx context.Context, s Setup, from string, to conn.Master) error {
	if n := len(s.Masters); n-1 < quorum.Size(n) {
		return refuse("the others of %d masters are no quorum", n)
	}
	i := slices.IndexFunc(s.Masters, func(m conn.Master) bool { return m.Address == from })
	if i < 0 {
		return refuse("%s is none of the masters", from)
	}
	if slices.ContainsFunc(s.Masters, func(m conn.Master) bool { return m.Address == to.Address }) {
		return refuse("%s is one of the masters already", to.Address)
	}
	var now []string
	for _, m := range s.Masters {
		now = append(now, m.Address)
	}
	visits := s.visit(ctx, append(slices.Delete(slices.Clone(s.Masters), i, i+1), to, s.Masters[i]))
	defer closeAll(visits)
	last := len(visits) - 2
	goes, visits := visits[last+1].Found, visits[:last+1] // it may be down
	if err := distinct(visits); err != nil {
		return err
	}
	all, err := found(visits)
	if err != nil {
		return err
	}
	stay := visits[:last]
	change := fencing.Replacement{From: from, To: to.Address}
	before, after, err := change.Replace(all[:last], all[last], goes, fencing.NewSet("", s.MaxTTL, now))
	if lost := (*fencing.LostError)(nil); errors.As(err, &lost) && lost.Back {
		return putBack(stay, before, after)
	}
	if err != nil {
		return ofOperator(err)
	}
	slices.SortFunc(stay, func(a, b *visit) int { return cmp.Compare(a.Member, b.Member) }) // as Replacement.Replace says
	for _, v := range stay {
		if v.In(before) {
			if err := v.switchTo(after); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack gives the set before to members that were switched and restarted, as Replacement.Replace says.
func putBack(stay []*visit, before, after fencing.Set) error {
	for _, v := range stay {
		if v.Set.Is(after) && !v.Admitted {
			if err := v.change(func(b *conn.Batch) { AddSwitch(b, v.Shown, v.Mark, before.String(), NewMark(v.runID, "")) }); err != nil {
				return err
			}
		}
	}
	return refuse("a replacement was cut, and members that it had switched were restarted. They are of the set before again: engines with the old masters admit them, and muxlock masters repair does; run it again then")
}
