package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine"
)

const execName = "exec"

// execFlags is the command line of exec.
type execFlags struct {
	claim
	grace, hold time.Duration
	fenceEnv    string
}

func execCommand(s *settings, log io.Writer) *cobra.Command {
	f := execFlags{claim: claim{settings: s}}
	cmd := &cobra.Command{
		Use:   execName + " NAME [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command while holding a lock",
		Long: `Acquires the lock NAME, keeps it alive while COMMAND runs, releases it when COMMAND has
ended, and ends with its exit code. Standard input, output and error are the command's.

Waiting. Without --wait and --try it waits until the lock is had. A set of masters that
cannot be reached, or whose masters were started within the last half minute and do not
vote yet, is waited for likewise; standard error says so. Of those on one machine that wait
for one name a few ask the masters, and the others wait behind them, in no order.

Cron. Machines' clocks differ, so the next one may come when a short job has ended, and run it
again. With --hold-at-least muxlock stays and renews the lock until so much time has passed since
it was had; a longer command is not affected. A signal, also one that the command got, ends that
at once: the lease runs out by itself, as when muxlock is killed.

Loss. When the lock cannot be renewed, the command gets SIGTERM while --grace of the lease
is left, and SIGKILL --grace later: it has ended before another one can have the lock. When
the masters say that the lock is gone (released by force, flushed), which is noticed at the
next renewal, within a third of --ttl, it gets the same at once. The exit code is 124. On a
machine that was suspended it may go on for a moment: only fencing keeps that harmless.

Signals. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command, and muxlock waits
for its end. On a terminal the command is in the same process group as muxlock: Ctrl-C,
Ctrl-\ and Ctrl-Z reach it directly, SIGINT and SIGQUIT that muxlock gets in the foreground
count as those, and other signals reach only itself, not what it has started. While both are
stopped by Ctrl-Z the lease runs out; where nobody could continue them (as the first process of
a container, under ssh -t without a shell) neither is stopped. Without a terminal (cron,
systemd, CI) the command has a process group of its own, and all of that gets them.

SIGHUP and SIGINT that were ignored when muxlock was started (nohup, & in a script) stay ignored, for
the command too, and SIGQUIT when SIGINT was. SIGTERM is never: Go cannot tell whether it was.

When muxlock is killed with SIGKILL, Linux kills the command too (not what it has started,
and not a setuid program), and the name is free when the lease has run out, after --ttl at
most. On other systems the command lives on without a lock.

Environment of the command: with --fencing MUXLOCK_FENCE is the fencing token, a number
that is larger than that of every holder of NAME before. Standard error names each master
that has no part in that, because it is down or lost its data.

Exit codes:
  122    --wait was over before the lock could be had
  123    --try (or --wait 0), and another one holds the lock; -E sets another code, for 122 too
  124    the lock was lost while the command ran, or before --hold-at-least had passed
  125    muxlock failed: a mistake in the command line, or too few masters with --try
  126    the command cannot be started; nothing is locked
  127    the command was not found; nothing was locked
  128+N  signal N ended the command, or muxlock while it waited
  else   the command's own
Each but the command's own comes with a line on standard error. Muxlock waits for no reader
of its lines: a full pipe, or a terminal after Ctrl-S, loses them, and not the lock.`,
		Example: `  muxlock exec jobs/nightly -- backup.sh /srv
  muxlock exec -q --try --hold-at-least 1m jobs/nightly -- backup.sh /srv     # in the crontab of several machines
  muxlock exec --wait 30s --ttl 5s deploy -- make deploy
  muxlock exec --fencing jobs/nightly -- sh -c 'store --fence "$MUXLOCK_FENCE"'`,
		Args: usageArgs(nameAndCommand),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	f.declare(cmd, log)
	fs := cmd.Flags()
	fs.DurationVar(&f.grace, "grace", 0, "from SIGTERM to SIGKILL when the lock is lost, at most half of --ttl; 0 = a third of it")
	fs.DurationVar(&f.hold, "hold-at-least", 0, "keep the lock for so long since it was had, also when the command has ended before; it may be above --max-ttl")
	fs.StringVar(&f.fenceEnv, "fence-env", "MUXLOCK_FENCE", "environment variable for the fencing token; given, it means --fencing")
	return cmd
}

// nameAndCommand asks for NAME -- COMMAND: without the --, flags of the command would be taken for ours.
func nameAndCommand(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return errors.New("NAME is missing")
	case dash < 0:
		return errors.New("-- is missing before the command")
	case dash > 1:
		return fmt.Errorf("one NAME is locked, got %q", args[:dash])
	case len(args) == 1:
		return errors.New("the command is missing after --")
	}
	return nil
}

// check finds what is wrong with the command line, before anything is sent.
func (f *execFlags) check(cmd *cobra.Command, command []string) (cfg engine.Config, path string, err error) {
	if cfg, err = f.config(cmd, command[0]); err != nil {
		return cfg, "", err
	}
	cfg.Fencing = cfg.Fencing || cmd.Flags().Changed("fence-env") // which counts more than a file or the environment
	f.grace = cmp.Or(f.grace, f.ttl/3)
	switch {
	case f.grace < 0 || f.grace > f.ttl/2:
		return cfg, "", usagef("--grace must be above 0 and at most half of --ttl %s, got %s: the command is ended that long before the lease", f.ttl, f.grace)
	case f.hold < 0:
		return cfg, "", usagef("--hold-at-least must not be negative, got %s", f.hold)
	case !variableName.MatchString(f.fenceEnv):
		return cfg, "", usagef("--fence-env: %q is no name of an environment variable", f.fenceEnv)
	}
	switch path, err = exec.LookPath(command[0]); {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		err = exit{exitNotFound, command[0] + ": command not found"}
	case err != nil:
		err = cannotRun(command[0], err)
	}
	return cfg, path, err
}

// variableName is the name of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func cannotRun(command string, err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		err = cause // without what was done to which path
	}
	return exit{exitCannotRun, fmt.Sprintf("%s: cannot be started: %v", command, err)}
}

func (f *execFlags) run(cmd *cobra.Command, name string, command []string) error {
	cfg, path, err := f.check(cmd, command)
	if err != nil {
		return err
	}
	h, signals, err := f.acquire(cmd, cfg, name)
	if err != nil {
		return err
	}
	c := &exec.Cmd{Path: path, Args: command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if cfg.Fencing {
		c.Env = append(os.Environ(), f.fenceEnv+"="+strconv.FormatUint(h.lock.Fence(), 10))
	}
	return h.run(c, signals, f.grace, f.hold, cmd.ErrOrStderr())
}
