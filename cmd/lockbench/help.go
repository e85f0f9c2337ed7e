package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// flagGroups is the headings of the help, and the flags below each in their order.
var flagGroups = []struct {
	heading string
	flags   []string
}{
	{"Target", []string{"masters", "local", "embedded", "new-masters", "impl"}},
	{"Sweep", []string{"param", "find-max"}},
	{"Load", []string{"case", "op", "workers", "procs", "keys", "dist", "hold", "think", "rate", "arrivals", "drop-after", "duration", "warmup", "ramp", "steady", "for", "rounds", "seed", "probe-every"}},
	{"Lock", []string{"ttl", "max-ttl", "wait", "master-timeout"}},
	{"Advice", []string{"eps", "rto", "waiters"}},
	{"Faults", []string{"fault", "faults"}},
	{"Judgement", []string{"slo", "profile", "regression"}},
	{"Output", []string{"config", "output", "out", "html", "history", "quiet", "help"}},
}

const otherFlags = "Other" // heading of those in no group

// usageTemplate is cobra's, shorter, with the flags in groups.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

"{{.CommandPath}} COMMAND --help" tells more about one.{{end}}
{{- if .HasAvailableLocalFlags}}
{{groupedFlags .LocalFlags}}{{end}}
`

// groupHelp gives a command, and those below it, help with flags in groups.
func groupHelp(cmd *cobra.Command) {
	cobra.AddTemplateFunc("groupedFlags", func(fs *pflag.FlagSet) string { return groupedFlags(fs, helpWidth()) })
	cmd.SetUsageTemplate(usageTemplate)
}

// helpWidth is that of the terminal; 0, no limit, elsewhere.
func helpWidth() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// groupedFlags is the usual lines, which pflag aligns, with headings between them.
func groupedFlags(fs *pflag.FlagSet, width int) string {
	sorted := pflag.NewFlagSet("", pflag.ContinueOnError)
	sorted.SortFlags = false
	for _, g := range flagGroups {
		for _, name := range g.flags {
			if f := fs.Lookup(name); f != nil {
				sorted.AddFlag(f)
			}
		}
	}
	sorted.AddFlagSet(fs) // all that are in no group

	var b strings.Builder
	heading := ""
	for line := range strings.Lines(sorted.FlagUsagesWrapped(width)) {
		if m := flagLine.FindStringSubmatch(line); m != nil {
			if h := groupOf(m[1]); h != heading {
				heading = h
				b.WriteString("\n" + h + ":\n")
			}
		}
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n")
}

// flagLine is the first line of a flag in pflag's usages.
var flagLine = regexp.MustCompile(`^ +(?:-\w, )?--([\w-]+)`)

func groupOf(flag string) string {
	for _, g := range flagGroups {
		if slices.Contains(g.flags, flag) {
			return g.heading
		}
	}
	return otherFlags
}
