package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// output is how a result is written.
type output struct{ format string }

func (o *output) declare(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "text or json")
	err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // there is no such flag
	}
}

func (o *output) check() error {
	if o.format != "text" && o.format != "json" {
		return usagef("-o must be text or json, got %q", o.format)
	}
	return nil
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
