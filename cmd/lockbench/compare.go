package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/cmd/lockbench/internal/view"
)

func compareCommand() *cobra.Command {
	f := flags{regression: 0.05}
	cmd := &cobra.Command{
		Use:   "compare [old.json new.json]",
		Short: "Run implementations in turn and show them side by side, or compare results",
		Long: `Run implementations in turn and show them side by side.

With two result files (-o json) as arguments nothing is run: the second is compared with
the first, per implementation and setting of a sweep, round by round. Exit code 6:
throughput, p50 or p99 became worse by more than --regression, and by more than chance.
It takes six rounds in each file to tell anything from chance.`,
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
	f.declare(cmd, "muxlock,redsync-autopipeline,redsync-rueidis,redsync-goredis,muxlock-single,raw", 6, formats...)
	declare(cmd, ofJudgement, func(fs *pflag.FlagSet) {
		fs.Var(&f.regression, "regression", "of two result files: how much worse throughput, p50 and p99 may be")
		once(fs, "regression")
	})
	return cmd
}

// compareFiles is compare with arguments: nothing is run.
func compareFiles(cmd *cobra.Command, f *flags, names []string) (err error) {
	if len(names) != 2 {
		return usagef("to compare files it takes two: lockbench compare old.json new.json")
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"regression", "output", "out", "html"}, flag.Name) {
			err = usagef("--%s has no meaning when files are compared", flag.Name)
		}
	})
	if err := cmp.Or(err, f.outputs.check(few)); err != nil {
		return err
	}
	var docs [2]*result.Document
	for i, name := range names {
		if docs[i], err = result.ReadFile(name); err != nil {
			return usageError{err}
		}
	}
	comparison := result.CompareFiles(names[0], names[1], docs[0], docs[1], float64(f.regression))
	if len(comparison.Rows) == 0 {
		return usagef("no implementation has a whole run at the same setting in both files; lockbench compare --impl a,b compares two")
	}
	shown := view.Files(comparison)
	out, err := f.outputs.open(cmd)
	if err != nil {
		return err
	}
	defer out.close()
	err = out.write(func(w io.Writer) error {
		if f.format == "json" {
			return result.JSON(w, comparison)
		}
		return text.Write(w, shown, onTerminal(w))
	})
	if err := errors.Join(err, out.writePage(shown, comparison)); err != nil {
		return err
	}
	for _, row := range comparison.Rows {
		if row.Regression != "" {
			return verdict{exitRegression, fmt.Sprintf("regression: %s: %s", row.Impl, row.Regression)}
		}
	}
	return nil
}
