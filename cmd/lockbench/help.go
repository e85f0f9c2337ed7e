package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"muxlock/cmd/lockbench/internal/plan"
)

// usageTemplate is a shorter form of cobra's, with the flags under headings.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} {{if .HasParent}}[COMMAND]{{else}}COMMAND{{end}} [flags]{{else}}{{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

"{{.CommandPath}} COMMAND --help" describes one.{{end}}
{{- if .HasAvailableLocalFlags}}
{{groupedFlags .LocalFlags}}{{end}}
`

// groupHelp gives a command and its subcommands help with flags under headings.
func groupHelp(cmd *cobra.Command) {
	cobra.AddTemplateFunc("groupedFlags", func(fs *pflag.FlagSet) string {
		width, _, _ := term.GetSize(int(os.Stdout.Fd())) // 0, no limit, without a terminal
		return groupedFlags(fs, width)
	})
	cmd.SetUsageTemplate(usageTemplate)
}

// groupedFlags returns pflag's usages of flags, under their headings.
func groupedFlags(fs *pflag.FlagSet, width int) string {
	var b strings.Builder
	for _, heading := range plan.Headings {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.SortFlags = false
		fs.VisitAll(func(f *pflag.Flag) {
			if plan.HeadingOf(f) == heading {
				group.AddFlag(f)
			}
		})
		if group.HasAvailableFlags() {
			b.WriteString("\n" + heading + ":\n" + group.FlagUsagesWrapped(width))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
