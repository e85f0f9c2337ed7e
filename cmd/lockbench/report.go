package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/usage"
)

// htmlFormat is a page and svgFormat one picture, which only the report command writes by -o.
const (
	htmlFormat = "html"
	svgFormat  = "svg"
)

// reportFormats is all that the report command writes.
var reportFormats = append([]string{htmlFormat, svgFormat}, formats...)

func reportCommand() *cobra.Command {
	var o plan.Output
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a kept result: as a page with charts, or in any other format",
		Long: `Report reads a result that was kept with -o json, and shows it again: as text on a
terminal or into a pipe, as a page into a file, unless -o names another format. FILE may be -
for standard input.`,
		Example: `  lockbench report result.json
  lockbench report result.json --out report.html
  lockbench report result.json -o bench`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return reportFile(cmd, args[0], o) },
	}
	plan.Declare(cmd.Flags(), plan.OfOutput, func(fs *pflag.FlagSet) {
		fs.StringVarP(&o.Format, "output", "o", "", strings.Join(reportFormats, ", ")+" (default html; text on a terminal or into a pipe)")
		fs.StringVar(&o.File, "out", "", "write to this file instead of standard output")
	})
	return cmd
}

func reportFile(cmd *cobra.Command, name string, o plan.Output) error {
	stdout := cmd.OutOrStdout()
	switch {
	case o.Format == "" && o.File == "" && !isFile(stdout):
		o.Format = "text"
	case o.Format == "":
		o.Format = htmlFormat
	case o.Format == htmlFormat && o.File == "" && onTerminal(stdout):
		return usage.Errorf("-o html is for a browser: name a file with --out, or choose -o text")
	}
	to, err := open(cmd, o, reportFormats)
	if err != nil {
		return err
	}
	defer to.close()
	doc, err := result.ReadFile(name)
	if err != nil {
		return usage.Error{Err: err}
	}
	return to.document(*doc)
}

// isFile distinguishes a file that somebody redirected to from a terminal or a pipe.
func isFile(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
