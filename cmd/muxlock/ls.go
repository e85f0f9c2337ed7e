package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/engine/groups"
	"muxlock/internal/address"
	"muxlock/internal/guard"
	"muxlock/internal/oneline"
	"muxlock/internal/quorum"
	"muxlock/internal/resp"
	"muxlock/internal/usage"
	"muxlock/pipeline"
)

// lsFlags are the flags of ls.
type lsFlags struct {
	*settings
	limit   int
	timeout time.Duration
}

func lsCommand(s *settings) *cobra.Command {
	f := lsFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "ls [BEGINNING]",
		Short: "List the locks and permits whose names start with BEGINNING",
		Long: `Scans all masters side by side: SCAN goes through all their keys, a thousand at a time.
Then it asks about each name found, as status does, and lists what looks like a lock: a
short string that expires, or readers. Permits that are taken follow in a table of their own,
one per line. Keys of other programs may look like locks; BEGINNING and --prefix leave them out.
A lock acquired or released meanwhile may be missing. A user of an ACL needs +scan.

Exit codes: 0 listed, 1 a majority of the masters could not be scanned or asked about some of
the names, which are then missing or unknown, 2 usage.`,
		Example: `  muxlock ls
  muxlock ls jobs/ --limit 20`,
		Args:              usage.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, strings.Join(args, ""))
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 1000, "most locks and permits to find")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the listing may take")
	f.output.declare(cmd)
	return cmd
}

// listing is the result of ls, and its JSON.
type listing struct {
	SchemaVersion int      `json:"schema_version"`
	Locks         []listed `json:"locks"`
	Permits       []listed `json:"permits"`
	Masters       int      `json:"masters"`
	Scanned       int      `json:"scanned"` // number of masters
	More          bool     `json:"more"`    // there are more than --limit
}

// A lockKey is the lock of a name, or one of its permits.
type lockKey struct {
	name string
	slot int // -1: the lock
}

// slotsOf returns the first n permits of a name.
func slotsOf(name string, n int) (permits []lockKey) {
	for slot := range n {
		permits = append(permits, lockKey{name, slot})
	}
	return permits
}

// listed is what the masters have under a lockKey.
type listed struct {
	judged
	Slot *int `json:"slot,omitempty"` // of a permit
	On   int  `json:"on"`             // number of masters that have the majority's value; if there is none, any value
	of   int  // number of masters of its group
}

// heldOf returns how many of what is listed a majority of the masters has.
func heldOf(all []listed) (n int) {
	for _, l := range all {
		if l.Verdict == isHeld {
			n++
		}
	}
	return n
}

func (l listing) text(w io.Writer) {
	table(w, rowsOf(l.Locks, "NAME"))
	writePermits(w, l.Permits)
}

// writePermits writes a table of permits, if there are any.
func writePermits(w io.Writer, permits []listed) {
	if len(permits) > 0 {
		fmt.Fprintln(w)
		table(w, rowsOf(permits, "NAME", "PERMIT"))
	}
}

// rowsOf returns a table of what is listed; its header begins with first.
func rowsOf(all []listed, first ...string) [][]string {
	rows := [][]string{append(first, "STATE", "MASTERS", "LEFT", "HOLDER")}
	for _, n := range all {
		row := []string{n.Name.String()}
		if n.Slot != nil {
			row = append(row, strconv.Itoa(*n.Slot))
		}
		rows = append(rows, append(row, n.Verdict, fmt.Sprintf("%d of %d", n.On, n.of), shownLeft(n.LeftMs), n.by()))
	}
	return rows
}

func (f *lsFlags) run(cmd *cobra.Command, beginning string) (err error) {
	cfg, err := f.groupsConfig()
	cfg.ReadOnly = true
	switch key := f.cfg.Prefix + beginning; {
	case err != nil:
		return err
	case f.limit < 1:
		return usage.Errorf("--limit must be above 0, got %d", f.limit)
	case f.timeout <= 0:
		return usage.Errorf("--timeout must be above 0, got %s", f.timeout)
	case strings.HasPrefix(key, pipeline.ReservedPrefix):
		return usage.Errorf("%q: names that begin with %s are the engine's own", key, pipeline.ReservedPrefix)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("--timeout %s is over: %w", f.timeout, err)
		}
	}()
	locks, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer locks.Close()
	l := listing{SchemaVersion: 1}
	once := map[lockKey]bool{}
	for _, masters := range setsOf(cfg) {
		found := make([]map[lockKey]bool, len(masters))
		failed := sideBySide(len(masters), func(n int) (err error) {
			found[n], err = f.scan(ctx, masters[n], cfg.Client, beginning)
			return err
		})
		scanned := len(masters) - len(failed)
		if scanned < quorum.Size(len(masters)) {
			return fmt.Errorf("%w: %d of %d masters were scanned: %w", engine.ErrNoQuorum, scanned, len(masters), oneline.Join(failed...))
		}
		for _, err := range failed {
			say(cmd.ErrOrStderr(), "not scanned: %s", err)
		}
		for _, keys := range found {
			maps.Copy(once, keys)
		}
		l.Masters, l.Scanned = l.Masters+len(masters), l.Scanned+scanned
	}
	keys := slices.SortedFunc(maps.Keys(once), func(a, b lockKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.slot, b.slot))
	})
	if l.More = len(keys) > f.limit; l.More {
		keys = keys[:f.limit]
		say(cmd.ErrOrStderr(), "more than --limit %d keys match, locks or not: locks may be missing; give a longer BEGINNING, or raise --limit", f.limit)
	}
	found, unknown := lookAt(ctx, locks, keys)
	l.Permits = slices.DeleteFunc(slices.Clone(found), func(n listed) bool { return n.Slot == nil })
	l.Locks = slices.DeleteFunc(found, func(n listed) bool { return n.Slot != nil })
	unknown = slices.DeleteFunc(unknown, func(err error) bool { // what may not be asked for is no lock
		return !errors.Is(err, engine.ErrNoQuorum) && (errors.Is(err, engine.ErrDenied) || errors.Is(err, admin.ErrNotALock) || errors.Is(err, engine.ErrInvalid))
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.write(cmd.OutOrStdout(), l); err != nil || len(unknown) == 0 {
		return err
	}
	return fmt.Errorf("%d of %d locks and permits could not be looked at, and may be missing: %w", len(unknown), len(keys), unknown[0])
}

// lookAt inspects each key and returns those that look like locks or permits, never nil, and the errors of inspections.
func lookAt(ctx context.Context, e *engine.Engine, keys []lockKey) (found []listed, unknown []error) {
	found = make([]listed, len(keys))
	unknown = sideBySide(len(keys), func(n int) error {
		key := keys[n]
		i, err := admin.InspectPermit(ctx, e, key.name, key.slot)
		v, l := stateOf(i, err), &found[n]
		if l.judged, l.of = v.judged, len(i.Masters); key.slot >= 0 {
			l.Slot = &key.slot
		}
		for n, m := range i.Masters {
			if m.Value != "" && m.Left != admin.NoExpiry && !v.Masters[n].Lacks { // a lock expires; other keys may not
				l.On++
			}
		}
		return err
	})
	return slices.DeleteFunc(found, func(l listed) bool { return l.On == 0 }), unknown // also a reserved name: Inspect refuses it
}

// sideBySide calls do with each number below n, with 64 at once at most, and returns its errors.
func sideBySide(n int, do func(int) error) []error {
	errs := make([]error, n)
	var all errgroup.Group
	all.SetLimit(64)
	for i := range n {
		all.Go(func() error { errs[i] = do(i); return nil })
	}
	_ = all.Wait() // errs has the errors
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// setsOf returns the masters of each group.
func setsOf(cfg groups.Config) [][]string {
	if len(cfg.Groups) == 0 {
		return [][]string{cfg.Masters}
	}
	maps.Copy(cfg.Next, cfg.Groups)
	return slices.Collect(maps.Values(cfg.Next))
}

// scan returns the keys on one master. It stops once it has more than --limit.
func (f *lsFlags) scan(ctx context.Context, addr string, template rueidis.ClientOption, beginning string) (keys map[lockKey]bool, err error) {
	template.ForceSingleClient, template.DisableCache = true, true
	template.DisableRetry = true // or it repeats until the timeout, and no error is shown
	template.Dialer.Timeout = min(f.timeout/2, max(time.Second, 2*f.cfg.MasterTimeout))
	option, err := address.Parse(addr, template)
	if err != nil {
		return nil, err
	}
	failed := func(err error) error {
		return engine.MasterError{Master: option.InitAddress[0], Err: resp.WithoutArguments(err)}
	}
	client, err := rueidis.NewClient(guard.Option(option))
	if err != nil {
		return nil, failed(err)
	}
	defer client.Close()
	keys = map[lockKey]bool{} // SCAN may name a key twice
	for _, of := range []struct{ kind, before string }{
		{"string", ""}, {"zset", ""}, // a zset has readers
		{"string", pipeline.ReservedPrefix + "*"}, // permits
	} {
		for cursor, begun := uint64(0), false; !begun || cursor != 0; begun = true {
			page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(of.before+literal(f.cfg.Prefix+beginning)+"*").Count(1000).Type(of.kind).Build()).AsScanEntry()
			if err != nil {
				return nil, failed(err)
			}
			for _, key := range page.Elements {
				slot, key := admin.SlotOf(key)
				name, ours := strings.CutPrefix(key, f.cfg.Prefix)
				if ours && strings.HasPrefix(name, beginning) && !strings.HasPrefix(key, pipeline.ReservedPrefix) {
					keys[lockKey{name, slot}] = true
				}
			}
			if cursor = page.Cursor; len(keys) > f.limit {
				return keys, nil
			}
		}
	}
	return keys, nil
}

// literal escapes text for a pattern of Redis.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
