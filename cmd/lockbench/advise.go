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
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/service"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/cmd/lockbench/internal/sizing"
	"muxlock/internal/usage"
)

const (
	adviseImpl   = "muxlock"
	longestRTO   = 24 * time.Hour
	longestHold  = time.Hour
	adviseLeast  = time.Second
	longestWatch = 10 * time.Minute
)

// adviseFlags is the command line of advise.
type adviseFlags struct {
	load plan.Flags // of the measurement
	from string     // a file of engine.Measurements
	hold bench.Span
	ask  sizing.Ask
	open session.Opener
}

// measuredBy are the flags that describe a measurement.
var measuredBy = []string{"masters", "local", "new-masters", "duration"}

func adviseCommand(f *adviseFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "advise [RESULT.json]",
		Short: "Say how to set TTL, MaxTTL and MasterTimeout, and what may still be lost",
		Long: `Say how to set TTL, MaxTTL and MasterTimeout of the engine, and why. The TTL is as long as
--rto allows. The measurement says how long it must be at least.

Advise needs to know how long you hold locks. The best source is a process of your own
(--from: engine.Config.Measure, and engine.Engine.Measured as JSON). Other sources are a result
of an earlier run of any load with holds (-o json), or --hold.

Exit codes: 3 --rto allows less than is needed, 5 the measurement is not valid or too short.`,
		Example: `  curl -s invoices:8080/debug/muxlock/measured >process.json && lockbench advise --from process.json --rto 10s
  lockbench run --masters a:6379,b:6379,c:6379 --rate 200 --hold exp:20ms --duration 20s -o json --out load.json && lockbench advise load.json
  lockbench advise --masters a:6379,b:6379,c:6379 --hold exp:50ms --rto 10s
  lockbench advise --local 3 --hold file:holds.txt`,
		Args: usage.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.execute(cmd, args) },
	}
	run := pflag.NewFlagSet("", pflag.ContinueOnError) // advise offers only a few of its flags
	f.load.Declare(run, adviseImpl, 1, few...)
	plan.Preset(run, map[string]string{
		"workers": "8", "think": "exp:15ms", "hold": "1ms", "warmup": "1s", "duration": "20s",
		"probe-every": "10ms", // 20 s make as many rows as a result keeps
	})
	plan.Borrow(cmd.Flags(), run, measuredBy...)
	plan.Declare(cmd.Flags(), plan.OfAdvice, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.from, "from", "", "size from this file, the JSON of engine.Engine.Measured")
		fs.Var(plan.Span{Span: &f.hold}, "hold", "how long you hold a lock: 200ms, exp:50ms, lognormal:50ms,1, file:PATH with a duration on each line (default: as measured)")
		fs.Lookup("hold").DefValue = "" // not even 0s
		fs.DurationVar(&f.ask.RTO, "rto", 0, "how long a crashed holder may block others: the TTL is as long as that allows (default: the TTL is 10s, or what is needed)")
		fs.Lookup("rto").DefValue = ""
		fs.DurationVar(&f.ask.Pause, "pause", 0, "a pause of the holder to survive, even if none so long was seen")
	})
	plan.Borrow(cmd.Flags(), run, "output")
	return cmd
}

func (f *adviseFlags) execute(cmd *cobra.Command, args []string) error {
	file := cmp.Or(f.from, strings.Join(args, ""))
	if err := f.check(cmd, args, file); err != nil {
		return err
	}
	out, err := open(cmd, f.load.Output)
	if err != nil {
		return err
	}
	defer out.close()
	doc, m, err := f.measured(cmd, file)
	if err == nil {
		err = f.size(doc, m, file)
	}
	if err != nil {
		return named(file, err)
	}
	return worst(missed(doc.Advice), out.document(*doc))
}

// measured reads the file, or measures if there is none.
func (f *adviseFlags) measured(cmd *cobra.Command, file string) (doc *result.Document, m sizing.Measured, err error) {
	switch {
	case file == "":
		doc, err = f.measure(cmd)
	case f.from != "":
		return fromProcess(file)
	default:
		if doc, err = result.ReadFile(file); err != nil {
			err = usage.Error{Err: err} // it names the file
		}
	}
	switch {
	case err != nil:
	case doc.Sweep != nil:
		err = errors.New("is of a sweep, and advice needs a run at one setting")
	case doc.Config.Groups > 1:
		err = errGroups
	default:
		m, err = sizing.FromResults(doc.Config.Config, len(doc.Config.Masters), doc.Results)
		m.Fencing, m.MaxTTL = doc.Config.Fencing, plan.MaxTTL(doc.Config.Settings)
	}
	return doc, m, err
}

var errGroups = errors.New("is of several groups of masters, and advice needs one")

// measure runs a light load.
func (f *adviseFlags) measure(cmd *cobra.Command) (*result.Document, error) {
	p, err := f.load.Plan(cmd.Name())
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	fmt.Fprintf(cmd.ErrOrStderr(), "advise: a light load on %d masters for %s\n", p.Masters.Count, p.Warmup+p.Duration)
	doc, err := f.open.Measure(ctx, p, cmd.ErrOrStderr(), nil)
	if doc == nil || len(doc.Results) == 0 {
		return nil, interruptedOr(ctx, err)
	}
	return doc, judge(ctx, p, doc, err)
}

// fromProcess reads what a process measured. Its document has no results and no machine,
// since the process ran elsewhere.
func fromProcess(file string) (*result.Document, sizing.Measured, error) {
	p, err := service.Read(file)
	if err == nil && p.Groups > 1 {
		err = errGroups
	}
	if err != nil {
		return nil, sizing.Measured{}, err
	}
	doc := result.NewDocument(result.Config{
		Settings: result.Settings{Impls: []string{adviseImpl}, Config: bench.Config{Rounds: 1}, Engine: result.Engine{Fencing: p.Fencing}},
		Masters:  p.Masters, Command: "advise", Target: result.Given,
	}, nil)
	doc.Env = result.Env{}
	m, err := service.Measured(p)
	return &doc, m, err
}

// size puts the advice and what was asked into the document.
func (f *adviseFlags) size(doc *result.Document, m sizing.Measured, file string) error {
	if f.ask.Hold == nil && m.Holds.Empty() && m.Renewed.Empty() {
		return fmt.Errorf("%w: give --hold, or measure a load that holds locks (lockbench run --hold) or your process (engine.Config.Measure)", sizing.ErrNoHolds)
	}
	a := &result.Advice{Ask: f.ask, Sizes: sizing.Size(m, f.ask), From: f.from}
	if a.Lacks != "" {
		return fmt.Errorf("%w: %s", sizing.ErrTooLittle, a.Lacks)
	}
	if a.Advised() && (file != "-" || f.ask.Hold != nil) {
		a.Try = plan.Trial(doc.Config, a, file)
	}
	doc.Advice = a
	return nil
}

// named puts the name of the file before an error about it.
func named(file string, err error) error {
	name := file + ": "
	switch {
	case errors.Is(err, sizing.ErrTooLittle):
		return usage.Exitf(exitNotValid, "%s%v", strings.TrimPrefix(name, ": "), err)
	case file == "" || errors.As(err, new(usage.Error)):
		return err
	}
	return usage.Errorf("%s%w", name, err)
}

// missed returns the verdict on sizes that exceed the RTO.
func missed(a *result.Advice) error {
	if !a.Missed {
		return nil
	}
	return usage.Exitf(exitMissed, "missed: --rto %s allows a TTL of %s at most, and %s is needed: --rto %s allows that", a.Ask.RTO, a.Allowed, a.Needed, a.Enough)
}

// check checks f.ask, and where the measurement is from.
func (f *adviseFlags) check(cmd *cobra.Command, args []string, file string) error {
	set, ask := cmd.Flags().Changed, &f.ask
	given := len(args) == 1 || set("from")
	anew := max(slices.IndexFunc(measuredBy, set), 0)
	if set("hold") {
		ask.Hold = &f.hold
	}
	return cmp.Or(
		usage.Refuse(set("rto") && (ask.RTO < time.Millisecond || ask.RTO > longestRTO), "--rto must be 1ms to %s, got %s", longestRTO, ask.RTO),
		usage.Refuse(ask.Pause < 0 || ask.Pause > longestHold, "--pause must be 0s to %s, got %s", longestHold, ask.Pause),
		usage.Refuse(set("hold") && (f.hold.Mean() <= 0 || f.hold.Mean() > longestHold), "--hold must be above 0 and at most %s, got %s", longestHold, f.hold),
		usage.Refuse(f.load.Duration < adviseLeast || f.load.Duration > longestWatch, "--duration must be %s to %s, got %s", adviseLeast, longestWatch, f.load.Duration),
		usage.Refuse(len(args) == 1 && set("from"), "--from reads %s, and %s was given, too: give one of them", f.from, strings.Join(args, "")),
		usage.Refuse(given && file == "", "the name of the file to size from is empty"),
		usage.Refuse(given && set(measuredBy[anew]), "--%s measures anew, %s was measured already: give one of them", measuredBy[anew], file),
		usage.Refuse(!given && !set("hold"), "advise needs to know how long you hold locks: give --hold, or a measurement with holds (RESULT.json of lockbench run --hold, or --from of your process)"),
	)
}
