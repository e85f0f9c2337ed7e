package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// output is how a result is written.
type output struct{ format format }

// format is text or json; it is a flag's value.
type format string

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "string" }

func (f *format) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("must be text or json")
	}
	*f = format(text)
	return nil
}

func (o *output) declare(cmd *cobra.Command) {
	o.format = "text"
	cmd.Flags().VarP(&o.format, "output", "o", "text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // there is such a flag
}

// write writes a result as one document, or as its text.
func (o *output) write(w io.Writer, result interface{ text(io.Writer) }) error {
	var b strings.Builder
	if o.format == "json" {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(result); err != nil {
			return err
		}
	} else {
		result.text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes rows whose columns are aligned.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // of a strings.Builder
}
