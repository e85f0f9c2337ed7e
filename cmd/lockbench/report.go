package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// Only the report command takes these as -o: a page, and one picture.
const (
	htmlFormat = "html"
	svgFormat  = "svg"
)

// reportFormats are all formats of the report command.
var reportFormats = append([]string{htmlFormat, svgFormat}, formats...)

func reportCommand() *cobra.Command {
	o := plan.Output{Formats: reportFormats}
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a kept result: as a page with charts, or in any other format",
		Long: `Report reads a result that was kept with -o json, and shows it again. A terminal or a
pipe gets text, a file gets a page; -o chooses another format. FILE may be - for standard
input.`,
		Example: `  lockbench report result.json
  lockbench report result.json --out report.html
  lockbench report result.json -o bench`,
		Args: usage.Args(cobra.ExactArgs(1)),
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
	in, _ := os.Stat(name)
	if name == "-" {
		in, _ = os.Stdin.Stat()
	}
	out, _ := os.Stat(o.File)
	switch {
	case os.SameFile(in, out):
		return usage.Errorf("--out names the file of the result, %s", o.File)
	case o.Format == "" && o.File == "" && !isFile(stdout):
		o.Format = "text"
	case o.Format == "":
		o.Format = htmlFormat
	case o.Format == htmlFormat && o.File == "" && onTerminal(stdout):
		return usage.Errorf("-o html is for a browser: name a file with --out, or choose -o text")
	}
	to, err := open(cmd, o)
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

// isFile reports whether w is a regular file, not a terminal or a pipe.
func isFile(w io.Writer) bool {
	f, _ := w.(*os.File)
	info, err := f.Stat() // an error for nil
	return err == nil && info.Mode().IsRegular()
}
