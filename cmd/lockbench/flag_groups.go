package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// headings of the help, in its order. A flag is declared once, under one of them: where it
// stands in the help and what a document keeps follow.
const (
	ofTarget    = "Target"
	ofSweep     = "Sweep"
	ofLoad      = "Load"
	ofLock      = "Lock"
	ofAdvice    = "Advice"
	ofFaults    = "Faults"
	ofJudgement = "Judgement"
	ofOutput    = "Output"
	ofNothing   = "Other"
)

var headings = []string{ofTarget, ofSweep, ofLoad, ofLock, ofAdvice, ofFaults, ofJudgement, ofOutput, ofNothing}

// Annotations of a flag.
const (
	headingKey = "heading"
	onceKey    = "once"
)

// declare gives a command the flags that add declares, under a heading.
func declare(cmd *cobra.Command, heading string, add func(*pflag.FlagSet)) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	add(fs)
	cmd.Flags().SortFlags = false
	fs.VisitAll(func(f *pflag.Flag) {
		annotate(fs, f.Name, headingKey, heading)
		cmd.Flags().AddFlag(f)
	})
}

// borrow gives a command flags that are declared for another; their values are the same.
func borrow(cmd, from *cobra.Command, names ...string) {
	cmd.Flags().SortFlags = false
	for _, name := range names {
		cmd.Flags().AddFlag(from.Flags().Lookup(name))
	}
}

// preset changes the default of a flag.
func preset(cmd *cobra.Command, name, value string) {
	f := cmd.Flags().Lookup(name)
	if err := f.Value.Set(value); err != nil {
		panic(err)
	}
	f.DefValue = f.Value.String()
}

// once keeps a flag out of the documents: it may be true now and wrong later, or what it
// stands for is kept by other flags.
func once(fs *pflag.FlagSet, flag string) { annotate(fs, flag, onceKey) }

func annotate(fs *pflag.FlagSet, flag, key string, values ...string) {
	if err := fs.SetAnnotation(flag, key, values); err != nil {
		panic(err) // there is no such flag
	}
}

// headingOf is where a flag stands in the help.
func headingOf(f *pflag.Flag) string {
	switch h := f.Annotations[headingKey]; {
	case len(h) == 1:
		return h[0]
	case f.Name == "help", f.Name == "version":
		return ofOutput
	}
	return ofNothing
}

// arguments is the flags of a command that make its result, each as --name=value and
// every choice written out, but for the masters, which the document has, and those in
// but.
func arguments(cmd *cobra.Command, but ...string) (args []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		h := headingOf(f)
		_, drop := f.Annotations[onceKey]
		if h == ofOutput || h == ofNothing || drop || slices.Contains(targetFlags, f.Name) || slices.Contains(but, f.Name) {
			return
		}
		for _, value := range valuesOf(f) {
			switch {
			case value == "true":
				args = append(args, "--"+f.Name)
			case f.Changed || !slices.Contains([]string{"", "0", "0s", "0%", "false"}, value):
				args = append(args, "--"+f.Name+"="+value)
			}
		}
	})
	return args
}

// valuesOf is a flag as it would be given, several times where that makes a list.
func valuesOf(f *pflag.Flag) []string {
	list, ok := f.Value.(pflag.SliceValue)
	switch {
	case !ok:
		return []string{f.Value.String()}
	case f.Value.Type() == "stringSlice":
		return []string{strings.Join(list.GetSlice(), ",")}
	}
	return list.GetSlice()
}
