package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// printed is standard output. It keeps an error of a write: cobra ignores those of a help, and a backlog all.
type printed struct{ failed atomic.Value }

func (p *printed) Write(text []byte) (int, error) {
	n, err := os.Stdout.Write(text)
	if err != nil {
		p.failed.Store(err)
	}
	return n, err
}

// output writes results in the format of --output, text or json.
type output string

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "string" }

func (o *output) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("must be text or json")
	}
	*o = output(text)
	return nil
}

func (o *output) declare(cmd *cobra.Command) {
	*o = "text"
	cmd.Flags().VarP(o, "output", "o", "text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not declared
}

// write writes a result as one JSON document or as text.
func (o *output) write(w io.Writer, result interface{ text(io.Writer) }) error {
	var b strings.Builder
	if *o == "json" {
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
