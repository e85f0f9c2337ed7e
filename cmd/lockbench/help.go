package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"muxlock/cmd/lockbench/internal/plan"
)

// groupHelp gives a command and its subcommands a shorter form of cobra's help, with the flags under headings. A template
// of it would make the program twice as large: see package html.
func groupHelp(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprintln(cmd.OutOrStderr(), usageOf(cmd))
		return err
	})
}

func usageOf(cmd *cobra.Command) string {
	text := "Usage:\n  " + cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		text = "Usage:\n  " + cmd.CommandPath() + " COMMAND [flags]"
	}
	if cmd.HasExample() {
		text += "\n\nExamples:\n" + cmd.Example
	}
	if cmd.HasAvailableSubCommands() {
		text += "\n\nCommands:"
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				text += fmt.Sprintf("\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
		text += fmt.Sprintf("\n\n\"%s COMMAND --help\" describes one.", cmd.CommandPath())
	}
	width, _, _ := term.GetSize(int(os.Stdout.Fd())) // 0, no limit, without a terminal
	return text + "\n" + groupedFlags(cmd.LocalFlags(), width)
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
