package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
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
	"muxlock/pipeline"
)

// lsFlags are the flags of ls.
type lsFlags struct {
	*settings
	output
	limit   int
	timeout time.Duration
}

func lsCommand(s *settings) *cobra.Command {
	f := lsFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "ls [BEGINNING]",
		Short: "List the locks whose names start with BEGINNING",
		Long: `Scans all masters side by side: SCAN goes through all their keys, a thousand at a time.
Then it asks about each name found, as status does, and lists what looks like a lock: a
short string that expires, or readers. Keys of other programs may look the same; BEGINNING and --prefix
leave them out. A lock acquired or released meanwhile may be missing. A user of an ACL
needs +scan.

Exit codes: 0 listed, 1 a majority of the masters could not be scanned, 2 usage.`,
		Example: `  muxlock ls
  muxlock ls jobs/ --limit 20`,
		Args:              usageArgs(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, strings.Join(args, ""))
		},
	}
	cmd.Flags().IntVar(&f.limit, "limit", 1000, "most names to find")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the listing may take")
	f.output.declare(cmd)
	return cmd
}

// listing is the result of ls, and its JSON.
type listing struct {
	SchemaVersion int      `json:"schema_version"`
	Locks         []listed `json:"locks"`
	Masters       int      `json:"masters"`
	Scanned       int      `json:"scanned"` // number of masters
	More          bool     `json:"more"`    // there are more names than --limit
}

type listed struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Readers int    `json:"readers"` // 0: a writer holds it, or nobody
	On      int    `json:"on"`      // number of masters that have a value
	Holder  string `json:"holder"`
	LeftMs  *int64 `json:"left_ms"`
	of      int    // number of masters of its group
}

func (l listing) text(w io.Writer) {
	rows := [][]string{{"NAME", "STATE", "MASTERS", "LEFT", "HOLDER"}}
	for _, n := range l.Locks {
		left := ""
		if n.LeftMs != nil {
			left = duration(time.Duration(*n.LeftMs) * time.Millisecond)
		}
		rows = append(rows, []string{shown(n.Name), n.Verdict, fmt.Sprintf("%d of %d", n.On, n.of), left, state{Readers: n.Readers, Holder: n.Holder}.by()})
	}
	table(w, rows)
}

func (f *lsFlags) run(cmd *cobra.Command, beginning string) error {
	cfg, err := f.groupsConfig()
	switch key := f.prefix + beginning; {
	case err != nil:
		return err
	case f.limit < 1:
		return usagef("--limit must be above 0, got %d", f.limit)
	case f.timeout <= 0:
		return usagef("--timeout must be above 0, got %s", f.timeout)
	case strings.HasPrefix(key, pipeline.ReservedPrefix):
		return usagef("%q: names that begin with %s are the engine's own", key, pipeline.ReservedPrefix)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	locks, err := connect(ctx, cfg)
	if err != nil {
		return inFlags(err)
	}
	defer locks.Close()
	l := listing{SchemaVersion: 1, Locks: []listed{}}
	once := map[string]bool{}
	for _, masters := range setsOf(cfg) {
		found, failed := f.scanAll(ctx, masters, cfg.Client, beginning)
		scanned := len(masters) - len(failed)
		if scanned < quorum.Size(len(masters)) {
			return fmt.Errorf("%w: %d of %d masters were scanned: %w", engine.ErrNoQuorum, scanned, len(masters), oneline.Join(failed...))
		}
		for _, err := range failed {
			say(cmd.ErrOrStderr(), "not scanned: %s", err)
		}
		maps.Copy(once, found)
		l.Masters, l.Scanned = l.Masters+len(masters), l.Scanned+scanned
	}
	names := slices.Sorted(maps.Keys(once))
	if l.More = len(names) > f.limit; l.More {
		names = names[:f.limit]
		say(cmd.ErrOrStderr(), "more than --limit %d strings begin so, locks or not: locks may be missing; say how their names begin, or raise it", f.limit)
	}
	if l.Locks, err = lookAt(ctx, locks, names); err != nil {
		return err
	}
	return f.write(cmd.OutOrStdout(), l)
}

// lookAt inspects each name and returns the names that look like locks.
func lookAt(ctx context.Context, locks *engine.Engine, names []string) ([]listed, error) {
	states := make([]state, len(names))
	var all errgroup.Group
	all.SetLimit(64)
	for n, name := range names {
		all.Go(func() error {
			i, err := admin.Inspect(ctx, locks, name)
			states[n] = stateOf(i, err)
			return ctx.Err()
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	found := []listed{}
	for _, v := range states {
		n := listed{Name: v.Name, Verdict: v.Verdict, Readers: v.Readers, Holder: v.Holder, LeftMs: v.LeftMs, of: len(v.Masters)}
		for _, m := range v.Masters {
			if m.LeftMs != nil { // a lock expires; other keys may not
				n.On++
			}
		}
		if n.On > 0 { // also leaves out reserved names: Inspect refuses them
			found = append(found, n)
		}
	}
	return found, nil
}

// setsOf returns the masters of each group.
func setsOf(cfg groups.Config) [][]string {
	if len(cfg.Groups) == 0 {
		return [][]string{cfg.Masters}
	}
	maps.Copy(cfg.Next, cfg.Groups)
	return slices.Collect(maps.Values(cfg.Next))
}

// scanAll returns the names on the masters, more than --limit if there are more, and the errors of those not scanned.
func (f *lsFlags) scanAll(ctx context.Context, masters []string, client rueidis.ClientOption, beginning string) (names map[string]bool, failed []error) {
	found, errs := make([]map[string]bool, len(masters)), make([]error, len(masters))
	var all sync.WaitGroup
	for n, addr := range masters {
		all.Go(func() { found[n], errs[n] = f.scan(ctx, addr, client, beginning) })
	}
	all.Wait()
	names = map[string]bool{}
	for _, more := range found {
		maps.Copy(names, more)
	}
	return names, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// scan returns the names on one master. It stops once it has more than --limit.
func (f *lsFlags) scan(ctx context.Context, addr string, template rueidis.ClientOption, beginning string) (names map[string]bool, err error) {
	template.ForceSingleClient, template.DisableCache = true, true
	template.DisableRetry = true // or it repeats until the timeout, and no error is shown
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
	names = map[string]bool{}                         // SCAN may name a key twice
	for _, kind := range []string{"string", "zset"} { // a zset has readers
		for cursor, begun := uint64(0), false; !begun || cursor != 0; begun = true {
			page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(literal(f.prefix+beginning)+"*").Count(1000).Type(kind).Build()).AsScanEntry()
			if err != nil {
				return nil, failed(err)
			}
			for _, key := range page.Elements {
				if name, ours := strings.CutPrefix(key, f.prefix); ours && !strings.HasPrefix(key, pipeline.ReservedPrefix) {
					names[name] = true
				}
			}
			if cursor = page.Cursor; len(names) > f.limit {
				return names, nil
			}
		}
	}
	return names, nil
}

// literal escapes text for a pattern of Redis.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
