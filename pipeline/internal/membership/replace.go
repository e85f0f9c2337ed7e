package membership

import (
	"cmp"
	"context"
	"slices"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/pipeline/internal/conn"
)

// Replace makes to a member in place of from. When it returns, the others are members of the next
// generation. From then on they refuse clients that are configured with from. Engines that are
// configured with to admit it, like a master that lost its data. Replace is safe only if all
// clients check the set: those without fencing do not.
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
	visits := s.visit(ctx, append(slices.Delete(slices.Clone(s.Masters), i, i+1), to))
	defer closeAll(visits)
	if err := distinct(visits); err != nil {
		return err
	}
	all, err := found(visits)
	if err != nil {
		return err
	}
	last := len(all) - 1
	change := fencing.Replacement{From: from, To: to.Address}
	before, after, err := change.Replace(all[:last], all[last], fencing.NewSet("", s.MaxTTL, now))
	if err != nil {
		return ofOperator(err)
	}
	stay := visits[:last]
	slices.SortFunc(stay, func(a, b *visit) int { return cmp.Compare(a.Member, b.Member) }) // as Replacement.Replace says
	for _, v := range stay {
		if v.Set.Is(before) {
			if err := v.switchTo(after); err != nil {
				return err
			}
		}
	}
	return nil
}
