package plan

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// keptElsewhere are flags that a document does not keep as arguments. It keeps the masters
// themselves; that they were new may be wrong later.
var keptElsewhere = append([]string{"new-masters"}, targetFlags...)

// Arguments returns the flags that make a command's result, each as --name=value, defaults
// included. It leaves out the names in but.
func Arguments(fs *pflag.FlagSet, but ...string) (args []string) {
	but = append(but, keptElsewhere...)
	fs.VisitAll(func(f *pflag.Flag) {
		if h := HeadingOf(f); h == OfOutput || h == OfNothing || slices.Contains(but, f.Name) {
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

// valuesOf returns the values of a flag; several if the flag is a list.
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

// TakeConfig sets all flags that the user did not set, from the result file of --config.
func (f *Flags) TakeConfig(fs *pflag.FlagSet) error {
	if f.config == "" {
		return nil
	}
	doc, err := result.ReadFile(f.config)
	if err != nil {
		return usage.Errorf("--config: %w", err)
	}
	settings := withSamples(settingsOf(doc.Config.Args), doc)
	if len(settings) == 0 {
		return usage.Errorf("--config: %s has kept no flags", f.config)
	}
	if len(doc.Config.FaultKinds) > 0 { // chaos drew them
		for _, fault := range doc.Config.Faults {
			settings = append(settings, setting{Flag: "fault", Value: fault})
		}
	}
	if !slices.ContainsFunc(targetFlags, fs.Changed) {
		target, err := targetOf(doc.Config)
		if err != nil {
			return usage.Errorf("--config: %s %w", f.config, err)
		}
		settings = append(settings, target)
	}
	if err := take(fs, settings); err != nil {
		return usage.Errorf("--config: %s is damaged: %w", f.config, err)
	}
	return nil
}

// take sets flags that are not set yet. It skips flags that contradict a set one: keys means
// nothing if every worker has a name of its own. It also skips flags that the command does
// not have, and those that another sweep varied.
func take(fs *pflag.FlagSet, settings []setting) error {
	given := map[string]bool{}
	fs.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	if given["dist"] && fs.Lookup("dist").Value.String() == "own" {
		given["keys"] = true
	}
	for _, s := range settings {
		flag := fs.Lookup(s.Flag)
		if flag == nil || HeadingOf(flag) == OfSweep || given[s.Flag] || s.Flag == "dist" && s.Value == "own" && given["keys"] {
			continue
		}
		if err := fs.Set(s.Flag, s.Value); err != nil {
			return err // names the flag
		}
	}
	return nil
}

// withSamples replaces the name of a sample file by the samples in the document. The file may
// have changed since.
func withSamples(settings []setting, doc *result.Document) []setting {
	kept := []bench.Span{doc.Config.Hold, doc.Config.Think}
	if doc.Advice != nil && doc.Advice.Ask.Hold != nil {
		kept = append(kept, *doc.Advice.Ask.Hold)
	}
	for i, s := range settings {
		for _, span := range kept {
			if text, err := span.MarshalText(); err == nil && span.Samples() != nil && s.Value == span.String() {
				settings[i].Value = string(text)
			}
		}
	}
	return settings
}
