package main

import (
	"github.com/spf13/cobra"
)

func compareCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Run implementations in turn and show them side by side",
		Example: `  lockbench compare --workers 1024
  lockbench compare --impl muxlock,raw --workers 1024
  lockbench compare --fault delay:1:50ms --rounds 3`,
		Args: noFilesToCompare,
		RunE: func(cmd *cobra.Command, _ []string) error { return execute(cmd, &f) },
	}
	f.declare(cmd, "muxlock,redsync-autopipeline,redsync-rueidis,redsync-goredis,muxlock-single,raw", 6, formats...)
	return cmd
}

// noFilesToCompare is the Args of compare, which once took two results.
func noFilesToCompare(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return formerly("compare OLD.json NEW.json")
	}
	return usageArgs(cobra.NoArgs)(cmd, args)
}
