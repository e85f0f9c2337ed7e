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

// output writes results in the format of --output.
type output struct{ format format }

// format is the flag value text or json.
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
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not declared
}

// write writes a result as one JSON document or as text.
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

// table writes rows with aligned columns.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // w is a strings.Builder, which never fails
}
