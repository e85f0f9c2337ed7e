package main

import (
	"github.com/spf13/cobra"

	"muxlock/cmd/lockbench/internal/usage"
)

func compareCommand() *cobra.Command {
	return loadCommand(&cobra.Command{
		Use:   "compare",
		Short: "Run implementations in turn and show them side by side",
		Example: `  lockbench compare --workers 1024
  lockbench compare --impl muxlock,raw --workers 1024
  lockbench compare --fault delay:1:50ms --rounds 3`,
		Args: noFilesToCompare,
	}, "muxlock,redsync-autopipeline,redsync-rueidis,redsync-goredis,muxlock-single,raw", 6)
}

// noFilesToCompare is the Args of compare. An earlier compare took two result files.
func noFilesToCompare(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return usage.Formerly("compare OLD.json NEW.json")
	}
	return usageArgs(cobra.NoArgs)(cmd, args)
}
