package pipeline

import (
	"context"
	"fmt"
	"slices"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/scripts"
)

// Replace makes to a member in the place of from. The others are members of the next
// generation when it returns: clients that are configured with from are refused from then
// on, and engines that have to instead admit it, as a master that lost its data. It is safe
// only if all clients check: those without fencing do not.
func Replace(ctx context.Context, s Setup, from string, to Master) error {
	if n := len(s.Masters); n-1 < quorum.Size(n) {
		return refuse("the others of %d masters are no quorum", n)
	}
	i := slices.IndexFunc(s.Masters, func(m Master) bool { return m.Address == from })
	if i < 0 {
		return refuse("%s is none of the masters", from)
	}
	if slices.ContainsFunc(s.Masters, func(m Master) bool { return m.Address == to.Address }) {
		return refuse("%s is one of the masters already", to.Address)
	}
	others := slices.Delete(slices.Clone(s.Masters), i, i+1)
	visits := s.visit(ctx, append(slices.Clone(others), to))
	defer closeAll(visits)
	if err := distinct(visits); err != nil {
		return err
	}
	now, next := make([]string, 0, len(s.Masters)), make([]string, 0, len(s.Masters))
	for _, m := range s.Masters {
		now = append(now, m.Address)
	}
	for _, v := range visits {
		next = append(next, v.address)
	}
	joins, stay := visits[len(visits)-1], visits[:len(visits)-1]
	set, err := s.present(stay, now, next)
	if err != nil {
		return err
	}
	after := set.Next(next)
	if joins.shown != "" && joins.shown != after.String() {
		return refuse("%s is a member of a set", joins.address)
	}
	return switchAll(stay, set, after)
}

// present returns the set of the masters that stay, as it is before the exchange.
func (s *Setup) present(stay []*visit, now, next []string) (set fencing.Set, err error) {
	for _, v := range stay {
		switch {
		case v.shown == "" || v.set.Generation == 0:
			return set, refuse("%s is not set up", v.address)
		case !v.admitted():
			return set, refuse("%s was restarted and is not admitted yet", v.address)
		}
		switched := v.set.Matches(s.MaxTTL, next) == nil
		if err := v.set.Matches(s.MaxTTL, now); err != nil && !switched {
			return set, fmt.Errorf("%w: %w", ErrConfigMismatch, MasterError{v.address, err})
		}
		before := v.set
		if switched { // this one was before it was cut
			before.Generation, before.Members = before.Generation-1, slices.Sorted(slices.Values(now))
		}
		if set.ID != "" && set.String() != before.String() {
			return set, fmt.Errorf("%w: %s is a member of another set", ErrConfigMismatch, v.address)
		}
		set = before
	}
	return set, nil
}

func (b *batch) switchSet(from, to string) {
	b.begin(6)
	b.add("EVALSHA", scripts.Switch.SHA1, "1", setKey, from, to)
}
