// Lockbench loads distributed locks and shows throughput, latency, the cost for the client,
// and whether two holders ever overlapped.
//
// By default it starts five redis-server (or valkey-server) processes on free ports and stops
// them when it ends. Results go to standard output or --out, as text, as one JSON document
// (-o json), or as lines for benchstat (-o bench). Progress goes to standard error. --out
// writes to FILE.partial until the result is complete.
//
// Exit codes:
//
//	0    ok
//	1    run error
//	2    usage: nothing was started
//	3    an objective (--slo) was missed, in a sweep of rates by the lowest one
//	4    safety violation: two holders at once, or a fencing token that did not grow
//	5    measurement not valid: a rate was not met, the machine spoiled it, or it is too short to
//	     size from
//	7    locks lost their validity while they were held, without --slo about that, and without
//	     a --fault that leaves a majority; never of chaos or a sweep of rates with --slo, where that is expected
//	130  interrupted with the partial result written
//	141  the output was closed (closed pipe)
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/cmd/lockbench/internal/subprocess"
	"muxlock/cmd/lockbench/internal/text"
	"muxlock/internal/usage"
)

func main() {
	// The first signal ends the run in order, the second ends the process.
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		ends = append(ends, syscall.SIGHUP) // the terminal was closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop)
	// A write to a closed pipe is an error, not the end of the process: servers are stopped
	// and folders removed first.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	subprocess.Serve(ctx)
	cmd, err := commands{session.Open}.root().ExecuteContextC(ctx)
	code, quiet := exitCode(err)
	if err != nil && !quiet {
		said := "lockbench: " + plain(err)
		if onTerminal(os.Stderr) {
			said = text.Fold(said)
		}
		fmt.Fprintln(os.Stderr, said)
	}
	if code == exitUsage {
		fmt.Fprintln(os.Stderr, "See "+cmd.CommandPath()+" --help.")
	}
	os.Exit(code)
}

// commands are the program. They make their runs in the sessions of open.
type commands struct{ open session.Opener }

func (c commands) root() *cobra.Command {
	var version bool
	cmd := &cobra.Command{
		Use:   "lockbench",
		Short: "Load distributed locks and see what they do",
		Example: `  lockbench run                             # the engine on five local masters
  lockbench run --keys 1 --procs 4          # processes fight for one lock
  lockbench compare                         # beside Redsync and a single master
  lockbench sweep --param workers=1,8,64    # how the cost grows`,
		Args: usage.NoSuchCommand[*cobra.Command],
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !version {
				return cmd.Help()
			}
			tool := result.CurrentTool()
			_, err := fmt.Fprintln(cmd.OutOrStdout(), tool.Name, tool.Version, tool.Commit, tool.Go)
			return err
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.Flags().BoolVarP(&version, "version", "v", false, "version for lockbench") // cobra's own writes another text
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedName() == "find-max" {
			return usage.Errorf("--find-max is gone; instead: sweep --param rate=1000..128000x2 --slo 'response.p99<5ms'")
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usage.Flag[*pflag.NotExistError](err, names)
	})
	groupHelp(cmd)
	for _, load := range c.loads() {
		cmd.AddCommand(load(&plan.Flags{}))
	}
	cmd.AddCommand(adviseCommand(&adviseFlags{open: c.open}), reportCommand(), c.masters())
	return cmd
}

// plain returns an error's text in terms of the command line: "--workers must be ...".
func plain(err error) string {
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		cause := invalid.Unwrap().Error()
		if own, is := errors.AsType[*bench.ConfigError](invalid); !is || own.Flag == "" { // else it names the flag
			cause = fmt.Sprintf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cause)
		}
		return strings.Replace(err.Error(), invalid.Error(), cause, 1)
	}
	return err.Error()
}
