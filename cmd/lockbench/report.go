package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/result"
)

// htmlFormat is a page and svgFormat one picture, which only the report command writes by -o.
const (
	htmlFormat = "html"
	svgFormat  = "svg"
)

// reportFormats is all that the report command writes.
var reportFormats = append([]string{htmlFormat, svgFormat}, formats...)

func reportCommand() *cobra.Command {
	var format, out string
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportFile(cmd, args[0], format, out)
		},
	}
	declare(cmd, ofOutput, func(fs *pflag.FlagSet) {
		fs.StringVarP(&format, "output", "o", "", strings.Join(reportFormats, ", ")+" (default html; text on a terminal or into a pipe)")
		fs.StringVar(&out, "out", "", "write to this file instead of standard output")
	})
	return cmd
}

func reportFile(cmd *cobra.Command, name, format, out string) error {
	stdout := cmd.OutOrStdout()
	seen := out == "" && onTerminal(stdout)
	switch {
	case format == "" && out == "" && !isFile(stdout):
		format = "text"
	case format == "":
		format = htmlFormat
	default:
		if err := checkFormat(format, reportFormats); err != nil {
			return err
		}
	}
	doc, err := result.ReadFile(name)
	if err != nil {
		return usageError{err}
	}
	if seen && format == htmlFormat {
		return usagef("-o html is for a browser: name a file with --out, or choose -o text")
	}
	to, err := (outputs{format: format, out: out}).open(cmd)
	if err != nil {
		return err
	}
	defer to.close()
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
