package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
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
	load plan.Flags     // of the measurement
	run  *pflag.FlagSet // flags of load; advise offers only a few of them
	from string         // a file of engine.Measurements
	hold bench.Span
	ask  sizing.Ask
}

// measuredBy are the flags that describe a measurement.
var measuredBy = []string{"masters", "local", "new-masters", "duration"}

func adviseCommand() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise [RESULT.json]",
		Short: "Say how to set TTL, MaxTTL and MasterTimeout, and what may still be lost",
		Long: `Say how to set TTL, MaxTTL and MasterTimeout of the engine, and why. The TTL is as long as
--rto allows. The measurement says how long it must be at least.

Advise needs to know how long you hold locks. The best source is a process of your own
(--from: engine.Config.Measure, and engine.Engine.Measured as JSON). Other sources are a result
of an earlier run of any load with holds (-o json), or --hold.

Exit codes: 3 --rto allows less than is needed, 5 the measurement is not valid or too short.`,
		Example: `  curl -s invoices:8080/debug/locks >process.json && lockbench advise --from process.json --rto 10s
  lockbench run --masters a:6379,b:6379,c:6379 --rate 200 --hold exp:20ms --duration 20s -o json --out load.json && lockbench advise load.json
  lockbench advise --masters a:6379,b:6379,c:6379 --hold exp:50ms --rto 10s
  lockbench advise --local 3 --hold file:holds.txt`,
		Args: usage.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.execute(cmd, args) },
	}
	f.run = pflag.NewFlagSet("", pflag.ContinueOnError)
	f.load.Declare(f.run, adviseImpl, 1, few...)
	plan.Preset(f.run, map[string]string{
		"workers": "8", "think": "exp:15ms", "hold": "1ms", "warmup": "1s", "duration": "20s",
		"probe-every": "10ms", // 20 s make as many rows as a result keeps
	})
	plan.Borrow(cmd.Flags(), f.run, measuredBy...)
	plan.Declare(cmd.Flags(), plan.OfAdvice, func(fs *pflag.FlagSet) {
		fs.StringVar(&f.from, "from", "", "size from this file, the JSON of engine.Engine.Measured")
		fs.Var(plan.Span{Span: &f.hold}, "hold", "how long you hold a lock: 200ms, exp:50ms, lognormal:50ms,1, file:PATH with a duration on each line (default: as measured)")
		fs.Lookup("hold").DefValue = "" // not even 0s
		fs.DurationVar(&f.ask.RTO, "rto", 0, "how long a crashed holder may block others: the TTL is as long as that allows (default: the TTL is 10s, or what is needed)")
		fs.Lookup("rto").DefValue = ""
		fs.DurationVar(&f.ask.Pause, "pause", 0, "a pause of the holder to survive, even if none so long was seen")
	})
	plan.Borrow(cmd.Flags(), f.run, "output")
	return cmd
}

func (f *adviseFlags) execute(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("from") || len(args) == 1 {
		from := cmp.Or(f.from, strings.Join(args, ""))
		if from == "" {
			return usage.Errorf("the name of the file to size from is empty")
		}
		return f.read(cmd, from, len(args) == 1)
	}
	p, err := f.load.Plan(cmd.Name(), f.run)
	if err != nil {
		return err
	}
	if p.Load.Duration < adviseLeast || p.Load.Duration > longestWatch {
		return usage.Errorf("--duration must be %s to %s, got %s", adviseLeast, longestWatch, p.Load.Duration)
	}
	out, err := open(cmd, f.load.Output, few)
	if err != nil {
		return err
	}
	defer out.close()
	ctx := cmd.Context()
	fmt.Fprintf(cmd.ErrOrStderr(), "advise: a light load on %d masters for %s\n", p.Masters.Count, p.Load.Warmup+p.Load.Duration)
	doc, runErr := session.Measure(ctx, p, cmd.ErrOrStderr(), session.Rounds(p))
	if doc == nil || len(doc.Results) == 0 {
		return interruptedOr(ctx, runErr)
	}
	if judged := judge(ctx, doc.Results, runErr); judged != nil {
		return judged
	}
	m, err := sizing.FromResults(doc.Config.Config, len(doc.Config.Masters), doc.Results)
	if err == nil {
		err = f.size(cmd, doc, m, "")
	}
	if err != nil {
		return tooLittle("", err)
	}
	return worst(missed(doc.Advice), out.document(*doc))
}

// read sizes from a file: a result, or the measurements of a process.
func (f *adviseFlags) read(cmd *cobra.Command, name string, isResult bool) error {
	if isResult && cmd.Flags().Changed("from") {
		return usage.Errorf("--from reads %s, and %s was given, too: give one of them", f.from, cmd.Flags().Arg(0))
	}
	for _, flag := range measuredBy {
		if cmd.Flags().Changed(flag) {
			return usage.Errorf("--%s measures anew, %s was measured already: give one of them", flag, name)
		}
	}
	from := fromProcess
	if isResult {
		from = fromResult
	}
	doc, m, err := from(name)
	if err == nil {
		err = f.size(cmd, doc, m, name, measuredBy...)
	}
	if err != nil {
		return tooLittle(name+": ", err)
	}
	out, err := open(cmd, f.load.Output, few)
	if err != nil {
		return err
	}
	defer out.close()
	return errors.Join(out.document(*doc), missed(doc.Advice))
}

var errGroups = errors.New("is of several groups of masters, and advice needs one")

// fromResult reads the result of an earlier run. It refuses results of several settings.
func fromResult(name string) (*result.Document, sizing.Measured, error) {
	doc, err := result.ReadFile(name)
	if err != nil {
		return nil, sizing.Measured{}, usage.Error{Err: err} // err names the file
	}
	if doc.Sweep != nil {
		return nil, sizing.Measured{}, errors.New("is of a sweep, and advice needs a run at one setting")
	}
	if doc.Config.Groups > 1 {
		return nil, sizing.Measured{}, errGroups
	}
	m, err := sizing.FromResults(doc.Config.Config, len(doc.Config.Masters), doc.Results)
	m.Fencing, m.MaxTTL = doc.Config.Fencing, plan.MaxTTL(doc.Config)
	return doc, m, err
}

// fromProcess reads what a process measured. Its document has no results and no machine,
// since the process ran elsewhere.
func fromProcess(name string) (*result.Document, sizing.Measured, error) {
	p, err := sizing.ReadProcess(name)
	if err != nil {
		return nil, sizing.Measured{}, err
	}
	if p.Groups > 1 {
		return nil, sizing.Measured{}, errGroups
	}
	doc := result.NewDocument(result.Config{
		Impls: []string{adviseImpl}, Rounds: 1, Masters: p.Masters,
		Command: "advise", Target: masters.Given, Fencing: p.Fencing,
	}, nil)
	doc.Env = result.Env{}
	m, err := sizing.FromProcess(p)
	return &doc, m, err
}

// size puts the advice and its arguments into the document. The measurement is in the file, if it has a name.
func (f *adviseFlags) size(cmd *cobra.Command, doc *result.Document, m sizing.Measured, file string, but ...string) error {
	if f.ask.Hold == nil && m.Holds.Empty() && m.Renewed.Empty() {
		return fmt.Errorf("%w: give --hold, or measure a load that holds locks (lockbench run --hold) or your process (engine.Config.Measure)", sizing.ErrNoHolds)
	}
	a := &result.Advice{Ask: f.ask, Sizes: sizing.Size(m, f.ask), Args: plan.Arguments(cmd.Flags(), but...)}
	if a.Lacks != "" {
		return fmt.Errorf("%w: %s", sizing.ErrTooLittle, a.Lacks)
	}
	if a.Advised() && (file != "-" || f.ask.Hold != nil) {
		a.Try = plan.Trial(doc.Config, a, file)
	}
	doc.Advice = a
	return nil
}

// tooLittle turns an error of reading or sizing a file into the error of the command.
func tooLittle(name string, err error) error {
	switch {
	case errors.Is(err, sizing.ErrTooLittle):
		return usage.Exitf(exitNotValid, "%s%v", name, err)
	case errors.As(err, new(usage.Error)):
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

// check checks f.ask.
func (f *adviseFlags) check(cmd *cobra.Command) error {
	set, ask := cmd.Flags().Changed, &f.ask
	switch {
	case set("rto") && (ask.RTO < time.Millisecond || ask.RTO > longestRTO):
		return usage.Errorf("--rto must be 1ms to %s, got %s", longestRTO, ask.RTO)
	case ask.Pause < 0 || ask.Pause > longestHold:
		return usage.Errorf("--pause must be 0s to %s, got %s", longestHold, ask.Pause)
	case set("hold") && (f.hold.Mean() <= 0 || f.hold.Mean() > longestHold):
		return usage.Errorf("--hold must be above 0 and at most %s, got %s", longestHold, f.hold)
	case !set("hold") && !set("from") && cmd.Flags().NArg() == 0:
		return usage.Errorf("advise needs to know how long you hold locks: give --hold, or a measurement with holds (RESULT.json of lockbench run --hold, or --from of your process)")
	}
	if set("hold") {
		ask.Hold = &f.hold
	}
	return checkFormat(f.load.Output.Format, few)
}
