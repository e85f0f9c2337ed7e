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

func compareCommand() *cobra.Command {
	f := flags{regression: 0.05}
	cmd := &cobra.Command{
		Use:   "compare [old.json new.json ...]",
		Short: "Run implementations in turn and show them side by side, or compare results",
		Long: `Run implementations in turn and show them side by side.

With result files (-o json) as arguments nothing is run: every later file is compared
with the first, per implementation and setting of a sweep, by medians over the rounds,
95 % intervals of their ratio, and Mann and Whitney's test. Exit code 6: throughput, p50
or p99 became worse by more than --regression, and by more than chance. It takes four
rounds in each file to distinguish anything from chance.`,
		Example: `  lockbench compare --workers 1024
  lockbench compare --impl muxlock,raw --workers 1024
  lockbench compare --fault delay:1:50ms --rounds 3
  lockbench compare old.json new.json --regression 10% --html changes.html`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) > 0 {
				return compareFiles(cmd, &f, files)
			}
			if cmd.Flags().Changed("regression") {
				return usagef("--regression needs two result files to compare")
			}
			return execute(cmd, &f)
		},
	}
	f.declare(cmd, "muxlock,redsync-autopipeline,redsync-rueidis,redsync-goredis,muxlock-single,raw", 5, formats...)
	declare(cmd, ofJudgement, func(fs *pflag.FlagSet) {
		fs.Var(&f.regression, "regression", "of two result files: how much worse throughput, p50 and p99 may be")
		once(fs, "regression")
	})
	return cmd
}

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
	comparison := result.CompareFiles(names, docs, float64(f.regression))
	if len(comparison.Rows) == 0 {
		return usagef("no implementation has a whole run at the same setting in %s and in another file; lockbench compare --impl a,b compares two", names[0])
	}
	shown := view.Files(comparison)
	write := func(w io.Writer) error {
		if f.format == "json" {
			return result.JSON(w, comparison)
		}
		return text.Write(w, shown, onTerminal(w))
	}
	out, err := f.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	if err := errors.Join(out.write(write), out.writePage(shown, comparison)); err != nil {
		return err
	}
	if i := slices.IndexFunc(comparison.Rows, func(r result.Row) bool { return r.Regression }); i >= 0 {
		bad := comparison.Rows[i]
		return verdict{exitRegression, fmt.Sprintf("regression: %s: %s is %.3f times what it was", result.Name(bad.Impl, bad.Setting), bad.Figure, bad.Ratio)}
	}
	return nil
}
