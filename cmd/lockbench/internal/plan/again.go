package plan

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// Again returns the command that makes such a document again. The flags are those of the command, with the values of the
// document; the line has those that differ from their defaults. The user has to add passwords of masters.
func Again(doc result.Document, fs *pflag.FlagSet) string {
	c, but := doc.Config, append(unspoken(doc), append(targetFlags, "new-masters")...)
	said := func(f *pflag.Flag) bool { // a comparison without any flag of the load has several loads
		return c.Command == "compare" && f.Name == ofLoad[0]
	}
	var settings []setting
	fs.VisitAll(func(f *pflag.Flag) {
		if HeadingOf(f) == OfOutput || slices.Contains(but, f.Name) {
			return
		}
		switch list, is := f.Value.(pflag.SliceValue); {
		case is && f.Value.Type() == "stringArray":
			for _, value := range list.GetSlice() {
				settings = append(settings, setting{f.Name, value})
			}
		case !said(f) && (f.Value.String() == f.DefValue || f.Value.String() == "0s" && f.DefValue == ""):
		case is:
			settings = append(settings, setting{f.Name, strings.Join(list.GetSlice(), ",")})
		default:
			settings = append(settings, setting{f.Name, f.Value.String()})
		}
	})
	if doc.Sweeps("masters") && c.Target == result.Local { // the sweep says how many
		c.Masters = nil
	}
	return commandOf(c.Command, &c, settings)
}

// unspoken returns the flags that a document's settings say nothing about: the sweep varied them, or each load of the
// comparison has its own.
func unspoken(doc result.Document) (names []string) {
	if l := doc.Config.Loads; len(l) > 0 {
		first, last := l[0], l[len(l)-1]
		names = slices.Clone(ofLoad)
		if first.Duration != last.Duration { // so none was given
			names = append(names, "duration")
		}
		if first.Warmup != last.Warmup {
			names = append(names, "warmup")
		}
	}
	if doc.Sweep != nil {
		for _, p := range doc.Sweep.Params {
			names = append(names, p.Name)
		}
		if doc.Sweeps("keys") && doc.Config.Dist == bench.Uniform() { // the default with --keys
			names = append(names, "dist")
		}
		if doc.Sweep.Highest != nil { // it makes rounds of its own
			names = append(names, "rounds")
		}
	}
	return names
}

// takeConfig sets the flags that the user did not set, from the result file of --config.
func (f *Flags) takeConfig() error {
	if f.config == "" {
		return nil
	}
	doc, err := result.ReadFile(f.config)
	if err != nil {
		return usage.Errorf("--config: %w", err)
	}
	if c := doc.Config; !slices.ContainsFunc(targetFlags, f.set) {
		if c.Target == result.Given && c.MastersRedacted {
			return usage.Errorf("--config: %s does not keep passwords: name its masters again with --masters (%s)", f.config, strings.Join(c.Masters, ","))
		}
		target := targetOf(c)
		if err := f.flags.Set(target.Flag, target.Value); err != nil {
			return usage.Errorf("--config: %s is damaged: %w", f.config, err)
		}
	}
	f.config = ""
	own := unspoken(*doc)
	if f.Dist == (bench.Dist{}) && f.set("dist") {
		own = append(own, "keys") // mean nothing then
	}
	var again []func() error
	f.flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed || slices.Contains(own, flag.Name) {
			again = append(again, keep(flag.Value))
		} else {
			f.said = append(f.said, flag.Name)
		}
	})
	f.Settings = doc.Config.Settings
	f.Kept, f.Config.History, f.KeyPrefix, f.Params, f.FaultKinds, f.Settings.History = 0, 0, "", nil, nil, "" // no flags of a load
	for _, set := range again {
		err = cmp.Or(err, set())
	}
	return err
}

// keep returns a function that sets the value to what it is now.
func keep(v pflag.Value) func() error {
	if list, is := v.(pflag.SliceValue); is {
		texts := list.GetSlice()
		return func() error { return list.Replace(texts) }
	}
	text := v.String()
	return func() error { return v.Set(text) }
}

// setting is a flag with one of its values.
type setting struct {
	Flag  string
	Value string
}

// commandOf returns a command with its flags; the flag of its masters, if any, comes first.
func commandOf(command string, of *result.Config, settings []setting) string {
	line := "lockbench " + command
	if len(of.Masters) > 0 {
		settings = append([]setting{targetOf(*of)}, settings...) // people can add the passwords that a document lacks
	}
	for _, s := range settings {
		switch s.Value {
		case "true":
			line += " --" + s.Flag
		case "false":
			line += " --" + s.Flag + "=false"
		default:
			line += " --" + s.Flag + " " + quoted(s.Value)
		}
	}
	return line
}

// bare matches an argument that a shell takes as it is.
var bare = regexp.MustCompile(`^[a-zA-Z0-9_.,:/@=+%-]+$`)

// quoted quotes an argument for a shell.
func quoted(arg string) string {
	if bare.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// targetOf returns the flag for the same masters, or for as many masters of the same kind in each group.
func targetOf(c result.Config) setting {
	if c.Target == result.Given {
		return setting{"masters", strings.Join(c.Masters, ",")}
	}
	return setting{string(c.Target), strconv.Itoa(len(c.Masters) / max(c.Groups, 1))}
}
