package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/advice"
	"muxlock/cmd/lockbench/internal/result"
)

const (
	adviseImpl     = "muxlock"
	longestRTO     = 24 * time.Hour
	leastEps       = 1e-12
	longestHold    = time.Hour
	adviseLeast    = time.Second
	longestWatch   = 10 * time.Minute
	mostContenders = 1_000_000
)

// adviseFlags is the command line of advise.
type adviseFlags struct {
	load flags  // of the measurement
	from string // a file of engine.Measurements
	run  *cobra.Command
	hold bench.Span
	want advice.Ask // but for its hold
}

// measuredBy is the flags that say what a measurement is of.
var measuredBy = append(slices.Clone(targetFlags), "server", "new-masters", "prefix", "duration", "fencing", "fault")

func adviseCommand() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise [RESULT.json]",
		Short: "Say how to choose TTL, timeouts, delays and masters, from a measurement",
		Long: `Say how to choose TTL, timeouts and delays of the engine, and how often they will
still be wrong; how many masters to have and where, what the hottest name bears, and
what locks cost. It rests on a result of an earlier run (-o json), or on a short and
light load of the masters that it makes itself: 15 s, and again within a minute where the answer
might as well have been another one by more than half. Or, with --from, on what a process of
your own has seen: engine.Config.Measure, and engine.Engine.Measured as JSON.

Exit code 3: no TTL can be short enough for --rto.`,
		Example: `  lockbench advise --masters a:6379,b:6379,c:6379 --hold exp:50ms
  curl -s invoices:8080/debug/locks >process.json && lockbench advise --from process.json
  lockbench advise --local 3 --fault delay:1:1ms --fault delay:2:2ms --fault delay:3:20ms --hold 200ms
  lockbench advise --masters a:6379,b:6379,c:6379,d:6379,e:6379 --zones a,a,b,b,c --hold file:holds.txt --rate 20
  lockbench run -o json --out result.json && lockbench advise result.json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.execute(cmd, args) },
	}
	f.run = f.load.others(cmd.Name())
	f.want = advice.Ask{Budgets: advice.DefaultBudgets, MasterUp: advice.DefaultMasterUp, ZoneUp: advice.DefaultZoneUp}
	for name, value := range map[string]string{
		// An open loop, which also asks while nobody answers; enough workers for all that is
		// due in an outage of a second.
		"rate": "500", "workers": "512", "hold": "1ms", "warmup": "1s", "duration": "15s",
		"probe-every": "10ms", // 15 s fill most of the rows that a result keeps
	} {
		preset(f.run, name, value)
	}
	borrow(cmd, f.run, measuredBy...)
	declare(cmd, ofAdvice, func(fs *pflag.FlagSet) {
		fs.Var(span{&f.hold}, "hold", "how long you hold a lock: 200ms, exp:50ms, file:PATH with a duration on each line (default: as in the result)")
		fs.Float64Var(&f.want.Eps, "eps", 1e-6, "the part of acquisitions that may lose validity")
		fs.DurationVar(&f.want.RTO, "rto", 30*time.Second, "how long a crashed holder may block others")
		fs.StringVar(&f.from, "from", "", "a file with the JSON of engine.Engine.Measured, to rest on instead")
		fs.Var((*rate)(&f.want.Rate), "rate", "acquisitions a second of your busiest name: adds how long is waited for it")
		fs.DurationVar(&f.want.Budgets.Collector, "pause-collector", f.want.Budgets.Collector, "pauses to survive that are rarer than can be measured, of the holder: its garbage collector")
		fs.DurationVar(&f.want.Budgets.PageCache, "pause-page-cache", f.want.Budgets.PageCache, "likewise: a page that must be read from a busy disk")
		fs.DurationVar(&f.want.Budgets.Migration, "pause-migration", f.want.Budgets.Migration, "likewise: its virtual machine moves to another host")
		fs.DurationVar(&f.want.Budgets.Fork, "pause-fork", f.want.Budgets.Fork, "likewise, of a master that no quorum can do without: it forks for a snapshot")
		fs.Var((*share)(&f.want.MasterUp), "master-availability", "part of the time in which a master is up and votes, for how often there is no quorum")
		fs.Var((*share)(&f.want.ZoneUp), "zone-availability", "likewise of a zone, with which all its masters are down")
		fs.StringSliceVar(&f.want.Zones, "zones", nil, "zone of each master, in their order: a,a,b,b,c")
		fs.IntVar(&f.want.Waiters, "waiters", 0, "processes that may want one name at once (default: those of the result, at least 2)")
	})
	borrow(cmd, f.run, "output", "out", "html")
	return cmd
}

func (f *adviseFlags) execute(cmd *cobra.Command, args []string) error {
	ask, err := f.ask(cmd)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("from") {
		return f.adviseProcess(cmd, args, ask)
	}
	var p *plan
	var doc *result.Document
	if len(args) == 1 {
		doc, err = f.read(cmd, args[0])
	} else {
		if p, err = f.plan(cmd); err == nil {
			err = zoned(ask, p.count)
		}
	}
	if err != nil {
		return err
	}
	out, err := f.load.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	if doc != nil {
		if err := give(doc, ask, arguments(cmd, measuredBy...)); err != nil {
			return usagef("%s: %w", args[0], err)
		}
		return errors.Join(out.document(*doc), missed(doc.Advice))
	}

	ctx := cmd.Context()
	fmt.Fprintf(cmd.ErrOrStderr(), "advise: a light load on %d masters for %s\n", p.count, p.cfg.Warmup+p.cfg.Duration)
	doc, runErr := f.measure(cmd, p, ask)
	if doc == nil || len(doc.Results) == 0 {
		return interruptedOr(ctx, runErr)
	}
	judged := judge(ctx, doc.Results, runErr)
	if err := give(doc, ask, arguments(cmd)); err != nil {
		return errors.Join(judged, err)
	}
	return worst(cmp.Or(judged, missed(doc.Advice)), out.document(*doc))
}

// longestMeasure bounds how long advise measures by itself: that the answer comes within a
// minute wins over how exact it is.
const longestMeasure = 55 * time.Second

// measure loads the masters, and again while the answer is not narrow, unless the user said
// for how long.
func (f *adviseFlags) measure(cmd *cobra.Command, p *plan, ask advice.Ask) (all *result.Document, err error) {
	ctx, began := cmd.Context(), time.Now()
	for n := 1; ; n++ {
		doc, err := measure(ctx, p, cmd.ErrOrStderr())
		if doc != nil {
			for _, r := range doc.Results {
				r.Latency.Hold = nil // of a moment only, to see how others come and go
				r.Round = n
			}
			if all != nil {
				doc.Results = append(all.Results, doc.Results...)
			}
			all = doc
		}
		if err != nil || ctx.Err() != nil || cmd.Flags().Changed("duration") {
			return all, err
		}
		if give(all, ask, nil) != nil || all.Advice.Spread.Width() < advice.Narrow {
			return all, nil
		}
		if next := time.Duration(n + 1); time.Since(began)/time.Duration(n)*next > longestMeasure {
			return all, nil
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "advise: the ends of an interval are %.1f times apart, measuring again\n", all.Advice.Spread.Width())
	}
}

// missed is an answer that is longer than was asked for.
func missed(a *advice.Advice) error {
	if a.Missed == "" {
		return nil
	}
	return verdict{exitMissed, "missed: " + a.Missed}
}

// give puts the advice into the document, and the arguments that ask for it.
func give(doc *result.Document, ask advice.Ask, args []string) error {
	m, err := advice.Measure(adviseImpl, doc.Config.RunConfig, doc.Results)
	if err == nil {
		err = zoned(ask, m.Masters)
	}
	if err == nil {
		m.Target, m.Fencing = targetFlagsOf(doc.Config), doc.Config.Fencing
		if doc.Config.Command != "advise" {
			m.Load = doc.Config.Args
		}
		doc.Advice = advice.Make(m, ask)
		doc.Advice.Args = args
	}
	return err
}

// zoned checks that each master has a zone, or none.
func zoned(ask advice.Ask, masters int) error {
	if n := len(ask.Zones); n != 0 && n != masters {
		return usagef("--zones names the zones of %d masters, there are %d", n, masters)
	}
	return nil
}

// targetFlagsOf is the masters and their faults as flags; passwords are not kept.
func targetFlagsOf(c result.Config) []string {
	target := targetShown(c)
	args := []string{"--" + target.flag, target.values[0]}
	for _, fault := range c.Faults {
		args = append(args, "--fault", fault)
	}
	return args
}

// ask checks what the user wants.
func (f *adviseFlags) ask(cmd *cobra.Command) (advice.Ask, error) {
	set, ask := cmd.Flags().Changed, f.want
	switch {
	case !(ask.Eps >= leastEps && ask.Eps < 1):
		return ask, usagef("--eps must be from %g to below 1, got %v", leastEps, ask.Eps)
	case ask.RTO < time.Millisecond || ask.RTO > longestRTO:
		return ask, usagef("--rto must be 1ms to %s, got %s", longestRTO, ask.RTO)
	case ask.Waiters < 0 || set("waiters") && ask.Waiters < 1 || ask.Waiters > mostContenders:
		return ask, usagef("--waiters must be 1 to %d, got %d", mostContenders, ask.Waiters)
	case min(ask.Budgets.Collector, ask.Budgets.PageCache, ask.Budgets.Migration, ask.Budgets.Fork) < 0 || ask.Budgets.Longest() > longestHold:
		return ask, usagef("--pause-... must be 0s to %s, got %s", longestHold, ask.Budgets)
	case ask.MasterUp == 0 || ask.ZoneUp == 0:
		return ask, usagef("--master-availability and --zone-availability must be above 0%%")
	case slices.Contains(ask.Zones, ""):
		return ask, usagef("--zones has a zone without a name: %s", strings.Join(ask.Zones, ","))
	case set("hold") && (f.hold.Mean() <= 0 || f.hold.Mean() > longestHold):
		return ask, usagef("--hold must be above 0 and at most %s, got %s", longestHold, f.hold)
	}
	if err := f.load.outputs.check(few); err != nil {
		return ask, err
	}
	if set("hold") {
		law, err := advice.HoldLaw(f.hold)
		if err != nil {
			return ask, usagef("--hold: %w", err)
		}
		ask.Hold, ask.HoldText = law, f.hold.String()
		if f.hold.Samples() != nil {
			ask.Samples = &f.hold
		}
	}
	return ask, nil
}

// plan is a run of the engine: a name for each worker, so that nobody waits for a lock,
// and few enough at once that masters in use bear it.
func (f *adviseFlags) plan(cmd *cobra.Command) (*plan, error) {
	if f.load.cfg.Duration < adviseLeast || f.load.cfg.Duration > longestWatch {
		return nil, usagef("--duration must be %s to %s, got %s", adviseLeast, longestWatch, f.load.cfg.Duration)
	}
	return f.load.plan(f.run)
}

// read is for a result of an earlier run. Figures of several settings cannot be put together.
func (f *adviseFlags) read(cmd *cobra.Command, name string) (*result.Document, error) {
	if err := f.measuresNothing(cmd, name); err != nil {
		return nil, err
	}
	doc, err := result.ReadFile(name)
	if err != nil {
		return nil, usageError{err}
	}
	if doc.Sweep != nil {
		return nil, usagef("%s is of a sweep, and advice needs a run at one setting", name)
	}
	return doc, nil
}

// measuresNothing checks that no flag is of a measurement where a file has one.
func (f *adviseFlags) measuresNothing(cmd *cobra.Command, name string) error {
	for _, flag := range measuredBy {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s measures anew, %s was measured already: give one of them", flag, name)
		}
	}
	return nil
}
