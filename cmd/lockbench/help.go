package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// usageTemplate is cobra's, shorter, with the flags under headings.
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

// groupHelp gives a command, and those below it, help with flags under headings.
func groupHelp(cmd *cobra.Command) {
	cobra.AddTemplateFunc("groupedFlags", func(fs *pflag.FlagSet) string {
		width, _, _ := term.GetSize(int(os.Stdout.Fd())) // 0, no limit, where there is no terminal
		return groupedFlags(fs, width)
	})
	cmd.SetUsageTemplate(usageTemplate)
}

// groupedFlags is the lines of cobra, which pflag aligns, with headings between them.
func groupedFlags(fs *pflag.FlagSet, width int) string {
	sorted := pflag.NewFlagSet("", pflag.ContinueOnError)
	sorted.SortFlags = false
	for _, heading := range headings {
		fs.VisitAll(func(f *pflag.Flag) {
			if headingOf(f) == heading {
				sorted.AddFlag(f)
			}
		})
	}

	var b strings.Builder
	heading := ""
	for line := range strings.Lines(sorted.FlagUsagesWrapped(width)) {
		if m := flagLine.FindStringSubmatch(line); m != nil {
			if h := headingOf(sorted.Lookup(m[1])); h != heading {
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
