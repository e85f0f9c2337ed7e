package groups

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/internal/address"
	"muxlock/pipeline"
)

// Config is read once, by New.
type Config struct {
	// Config applies to each group. Its Masters must be empty. Functions of its Observer may run side by side: each
	// group calls Master by itself.
	engine.Config
	// Groups has the masters of each group, by its id. The id decides which names the group gets, so it must never
	// change. All groups have the same number of masters.
	Groups map[string][]string
	// Next is the map that Groups is being changed to (package comment). An id has the same masters in both.
	Next map[string][]string
}

// Validate returns the ErrInvalid that New would return for c alone. With names, it also returns the one that AcquireAll
// would return for them.
func (c Config) Validate(names ...string) error {
	r := &router{prefix: c.Prefix}
	if err := r.read(c); err != nil {
		return err
	}
	c.Config.Masters = r.all[0].masters
	if err := c.Config.Validate(names...); err != nil {
		return err
	}
	for _, name := range names {
		one, two := r.find(c.Prefix + name)
		if first, second := r.find(c.Prefix + names[0]); one != first || two != second {
			return invalid("names", "are of two groups of masters: %q and %q. Names with the same {tag} are in one", names[0], name)
		}
	}
	return nil
}

// Engine is an engine.Engine over several groups of masters. Stats, Ready and Close cover all groups. Functions of a
// service take the embedded Engine.
type Engine struct {
	*engine.Engine
	r *router
}

// New connects to all groups side by side, each as engine.New does. It fails if one group fails, or if too few masters of
// a group say which map is in use.
//
// Errors: those of engine.New, with the group's id. ErrInvalid names the field. ErrConfigMismatch: the map is neither the
// one in use nor a step from it. Ready and acquires return that if it shows later, once a quorum of each group votes.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	r := &router{prefix: cfg.Prefix}
	if err := r.read(cfg); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	r.stop, r.readOnly = stop, cfg.ReadOnly
	err := r.each(func(g *group) (err error) {
		one := cfg.Config
		one.Masters, one.Measure = g.masters, false
		if g.engine, err = engine.New(ctx, one); err == nil {
			g.pipe = inside.Of(g.engine).Pipe.(*pipeline.Pipeline)
			g.set = g.pipe.SetID()
		}
		return err
	})
	if err == nil {
		r.in, r.own = inside.Of(r.all[0].engine), note{groups: fingerprint(r.now), next: fingerprint(r.next)}
		_, err = r.compare(ctx, false)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	if !cfg.ReadOnly {
		r.keeper.Go(func() { r.keep(running) })
	}
	return &Engine{inside.Front(cfg.Config, r).(*engine.Engine), r}, nil
}

// Groups returns the engine of each group, by its id: for Stats, Ready and metrics of a group, and for package admin.
// Take no locks with these engines: others would not see them.
func (e *Engine) Groups() map[string]*engine.Engine {
	all := make(map[string]*engine.Engine)
	for _, g := range e.r.all {
		all[g.id] = g.engine
	}
	return all
}

// read returns the errors that New finds before it connects.
func (r *router) read(cfg Config) (err error) {
	switch {
	case len(cfg.Masters) > 0:
		return invalid("Masters", "is set; each master belongs to one of Groups")
	case len(cfg.Groups) == 0:
		return invalid("Groups", "is empty")
	case len(cfg.Next) > 0 && cfg.Fencing:
		return invalid("Next", "is not possible with Fencing: a name's fencing tokens would begin again in its next group")
	}
	if r.now, err = r.add(cfg.Config, "Groups", cfg.Groups); err == nil {
		r.next, err = r.add(cfg.Config, "Next", cfg.Next)
	}
	if err == nil && slices.Equal(r.now, r.next) {
		err = invalid("Next", "equals Groups")
	}
	return err
}

// add returns the groups of a map.
func (r *router) add(cfg engine.Config, field string, masters map[string][]string) (groups []*group, err error) {
	for _, id := range slices.Sorted(maps.Keys(masters)) {
		at := fmt.Sprintf("%s[%q]", field, id)
		cfg.Masters = masters[id]
		setup, err := inside.Setup(cfg)
		if err = cmp.Or(cfg.Validate(), err); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		} else if id == "" {
			return nil, invalid(at, "has no id")
		}
		g := &group{id: id, hash: hash(id), masters: cfg.Masters}
		for _, m := range setup.Masters {
			server, database := address.Server(m.Option), ""
			if m.Option.SelectDB != 0 {
				database = fmt.Sprint("/", m.Option.SelectDB)
			}
			g.servers, g.databases = append(g.servers, server), append(g.databases, server+database)
		}
		slices.Sort(g.databases)
		for _, other := range r.all {
			shares := slices.ContainsFunc(g.servers, func(s string) bool { return slices.Contains(other.servers, s) })
			switch {
			case len(other.servers) != len(g.servers):
				return nil, invalid(at, "has %d masters, group %q %d", len(g.servers), other.id, len(other.servers))
			case other.id != id && shares:
				return nil, invalid(at, "has a master of group %q", other.id)
			case other.id == id && !slices.Equal(other.databases, g.databases):
				return nil, invalid(at, "has other masters than in Groups: another set of masters is another group")
			case other.id == id:
				g = other
			}
		}
		if !slices.Contains(r.all, g) {
			r.all = append(r.all, g)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// fingerprint identifies a map: the ids, with the databases of their masters or, with Fencing, the set to which the masters
// belong.
func fingerprint(groups []*group) string {
	var text string
	for _, g := range groups {
		if text += fmt.Sprintf("%q ", g.id); g.set == "" {
			text += fmt.Sprintln(g.databases)
		} else {
			text += fmt.Sprintln(g.set)
		}
	}
	return fmt.Sprintf("%016x", hash(text))
}

func invalid(field, format string, args ...any) error {
	return &engine.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
