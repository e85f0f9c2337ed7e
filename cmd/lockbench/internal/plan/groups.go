package plan

import "github.com/spf13/pflag"

// Headings of the help, in its order. A flag is declared once, under one of them. The heading
// decides where the help shows the flag, and whether a document keeps it.
const (
	OfTarget    = "Target"
	OfSweep     = "Sweep"
	OfLoad      = "Load"
	OfLock      = "Lock"
	OfAdvice    = "Advice"
	OfFaults    = "Faults"
	OfJudgement = "Judgement"
	OfOutput    = "Output"
)

var Headings = []string{OfTarget, OfSweep, OfLoad, OfLock, OfAdvice, OfFaults, OfJudgement, OfOutput}

// headingKey is the key of a flag's annotation with its heading.
const headingKey = "heading"

// Declare gives a command the flags that add declares, under one heading.
func Declare(to *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags, to.SortFlags = false, false
	add(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{headingKey: {heading}}
		to.AddFlag(f)
	})
}

// Borrow gives a command flags of another flag set. Both share the values.
func Borrow(to, from *pflag.FlagSet, names ...string) {
	to.SortFlags = false
	for _, name := range names {
		to.AddFlag(from.Lookup(name))
	}
}

// Preset changes the defaults of flags.
func Preset(fs *pflag.FlagSet, values map[string]string) {
	for name, value := range values {
		f := fs.Lookup(name)
		if err := f.Value.Set(value); err != nil {
			panic(err)
		}
		f.DefValue = f.Value.String()
	}
}

// HeadingOf returns the heading of a flag. Cobra's own, help and version, are under OfOutput.
func HeadingOf(f *pflag.Flag) string {
	if h := f.Annotations[headingKey]; len(h) == 1 {
		return h[0]
	}
	return OfOutput
}
