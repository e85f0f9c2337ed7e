package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
)

// fileFlags are those that mean something when compare is given files.
var fileFlags = []string{"regression", "output", "out", "html"}

// compareFiles is compare with arguments: nothing is run.
func compareFiles(cmd *cobra.Command, f *flags, names []string) error {
	if len(names) < 2 {
		return usagef("to compare files it takes two: lockbench compare old.json new.json")
	}
	var load []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(fileFlags, flag.Name) {
			load = append(load, "--"+flag.Name)
		}
	})
	if len(load) > 0 {
		return usagef("%s has no meaning when files are compared", strings.Join(load, ", "))
	}
	if err := f.outputs.check(few); err != nil {
		return fmt.Errorf("%w when files are compared", err)
	}
	var docs []*result.Document
	for _, name := range names {
		doc, err := result.ReadFile(name)
		if err != nil {
			return usageError{err}
		}
		docs = append(docs, doc)
	}
	if err := result.Comparable(names, docs); err != nil {
		return usageError{err}
	}
	comparison := result.CompareFiles(names, docs, float64(f.regression))
	if len(comparison.Rows) == 0 {
		return usagef("no implementation has a whole run in %s and in another file; lockbench compare --impl a,b compares two", names[0])
	}
	shown := view.Files(comparison)
	write := func(w io.Writer) error { return text.Write(w, shown, onTerminal(w)) }
	if f.format == "json" {
		write = comparison.JSON
	}
	out, err := f.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	if err := errors.Join(out.write(write), out.writePage(shown, comparison)); err != nil {
		return err
	}
	if bad := comparison.Regressions(); len(bad) > 0 {
		return verdict{exitRegression, fmt.Sprintf("regression: %s: %s is %.3f times what it was", bad[0].Impl, bad[0].Figure, bad[0].Ratio)}
	}
	return nil
}
