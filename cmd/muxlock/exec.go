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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine"
	"muxlock/engine/groups"
	"muxlock/internal/limits"
	"muxlock/internal/usage"
)

const execName = "exec"

// execFlags are the flags of exec.
type execFlags struct {
	claim
	grace, hold time.Duration
}

func execCommand(s *settings, log io.Writer) *cobra.Command {
	f := execFlags{claim: claim{settings: s}}
	cmd := &cobra.Command{
		Use:   execName + " NAME... [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command while holding a lock",
		Long: `Acquires the lock NAME, keeps it alive while COMMAND runs, releases it when COMMAND has
ended, and ends with COMMAND's exit code. COMMAND has muxlock's standard input, output and
error. A NAME has at most 512 bytes, those of --prefix included.

Several names. Muxlock takes all of them or none, and holds none while it waits. It stands in no
line then: it waits until all are free at the same moment. The loss of one is the loss of all.

Readers and permits. With --shared, any number of commands hold NAME at once, and none that wants it
without --shared. With --permits N, at most N commands hold a permit of NAME at once, N of 1 to 64. All
should give the same N, since the largest counts.

Waiting. Without --wait and --try, muxlock waits until it has the lock. It also waits for
masters that it cannot reach, and for masters that do not vote yet because they were started
within the last half minute; standard error says so. It does not wait for masters that say
themselves why they will not do (a wrong password, a missing right or command, cluster mode), or
whose certificate is not trusted: if the others are too few, it ends at once. Waiters stand in
line at the masters, in order of arrival.

Cron. Machines' clocks differ: another machine may come after a short job has ended, and run
it again. With --hold-at-least, muxlock renews the lock until that much time has passed since
it got the lock. A longer command is not affected. A signal ends the hold at once, even one
that the command got. The lease then runs out by itself, as when muxlock is killed.

Loss. When the lock cannot be renewed, the command gets SIGTERM while --grace of the lease
is left, and SIGKILL --grace later. So it has ended before another holder can have the lock.
A lock can also vanish from the masters (released by force, flushed). Muxlock notices that at
its next renewal, within a third of --ttl; the command then gets SIGTERM at once, and SIGKILL
--grace later. The exit code is 124. After a suspend of the machine, the command may go on for
a moment: only fencing makes that harmless.

Signals. Muxlock passes SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGABRT on to the command and
waits for its end; after SIGABRT, it then says so. Without a terminal (cron, systemd, CI) the
command has its own process group, and the whole group gets them. On a terminal the command
shares muxlock's process group: Ctrl-C, Ctrl-\ and Ctrl-Z reach it directly. A SIGINT, SIGQUIT
or SIGWINCH to muxlock in the foreground counts as sent by the terminal. Muxlock passes other
signals to the command alone, not to the command's children. SIGUSR1, SIGUSR2, SIGALRM and
SIGWINCH reach the command alone everywhere. While no command runs, muxlock ignores these
four. While Ctrl-Z stops both, the lease runs out. Without a terminal a SIGTSTP to muxlock
does the same. Where nobody could continue them (the first process of a container, ssh -t
without a shell), neither is stopped. As the first process of a container on Linux, muxlock
reaps orphans.

If SIGHUP, SIGINT or, on Linux, SIGTSTP was ignored when muxlock was started (nohup, & in a
script), it stays ignored, for the command too. SIGQUIT stays ignored if SIGINT was ignored.
Of SIGPIPE, which systemd ignores for its services, SIGTERM and others Go cannot tell whether
they were. The command ignores SIGPIPE if a shell says so:

  muxlock exec jobs/nightly -- sh -c 'trap "" PIPE; exec "$0" "$@"' backup.sh /srv

If muxlock is killed with SIGKILL, Linux kills the command too, but not the command's children
and not a setuid program. The name is free when the lease has run out, after --ttl at most.
On other systems the command lives on without a lock.

Environment of the command: with --fencing, MUXLOCK_FENCE is the fencing token, a number
larger than that of every earlier holder of NAME; of several names, a number for each in their
order, with blanks between. With --shared it is not set, since readers have no fence. With
--permits, MUXLOCK_SLOT is the number of the permit, from 0 to below N, and MUXLOCK_FENCE is
larger than that of every earlier holder of the same permit. Standard error names each master
that does not vote because it is down or lost its data.

Exit codes:
  121    too few masters can be used as configured; standard error has the servers' words, and
         what to do
  122    --wait ended before muxlock had the lock
  123    --try or --wait 0, and another holder has the lock; -E sets another code, also
         instead of 122 if another holder has the lock then
  124    the lock was lost while the command ran, or before --hold-at-least had passed
  125    muxlock failed, as by a mistake in the command line, a NAME that it may not lock,
         masters of another set than --masters names, or too few masters with --try
  126    the command cannot be started; nothing is locked
  127    the command was not found; nothing was locked
  128+N  signal N ended the command, or muxlock while it waited
  else   the command's own
Muxlock explains each code of its own in a line on standard error. It does not wait for a
reader: a full pipe, or a terminal after Ctrl-S, loses lines, never the lock.`,
		Example: `  muxlock exec jobs/nightly -- backup.sh /srv
  muxlock exec -q --try --hold-at-least 1m jobs/nightly -- backup.sh /srv     # in the crontab of several machines
  muxlock exec --wait 30s --ttl 5s deploy -- make deploy
  muxlock exec disk/1 disk/2 -- copy.sh     # both or neither
  muxlock exec --shared catalogue -- report.sh     # beside other readers
  muxlock exec --permits 3 licence -- convert.sh     # three at a time
  muxlock exec --fencing jobs/nightly -- sh -c 'store --fence "$MUXLOCK_FENCE"'`,
		Args: usage.Args(namesAndCommand),
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			return f.run(cmd, args[:dash], args[dash:])
		},
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
	fs.DurationVar(&f.hold, "hold-at-least", 0, "keep the lock for at least this long, even after the command has ended; may be above --max-ttl")
	fs.BoolVar(&f.shared, "shared", false, "hold NAME beside others that share it")
	fs.IntVar(&f.permits, "permits", 0, fmt.Sprintf("hold one of so many permits of NAME, 1 to %d", limits.Permits))
	fs.StringVar(&f.fenceEnv, "fence-env", fenceVariable, "environment variable for the fencing token; implies --fencing")
	return cmd
}

// namesAndCommand requires NAME... -- COMMAND. Without the --, cobra would take the command's flags for muxlock's.
func namesAndCommand(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return errors.New("NAME is missing")
	case dash < 0:
		return errors.New("-- is missing before the command")
	case len(args) == dash:
		return errors.New("the command is missing after --")
	}
	for i, name := range args[:cmd.ArgsLenAtDash()] {
		if slices.Contains(args[:i], name) {
			return fmt.Errorf("NAME %q is there twice", name)
		}
	}
	return nil
}

// check finds mistakes in the command line before anything is sent.
func (f *execFlags) check(cmd *cobra.Command, names, command []string) (cfg groups.Config, path string, err error) {
	if cfg, err = f.config(cmd, command[0]); err != nil {
		return cfg, "", err
	}
	cfg.Fencing = cfg.Fencing || cmd.Flags().Changed("fence-env") // overrides MUXLOCK_FENCING of a file or the environment
	f.grace = cmp.Or(f.grace, f.ttl/3)
	switch permits := cmd.Flags().Changed("permits"); {
	case f.grace < 0 || f.grace > f.ttl/2:
		return cfg, "", usage.Errorf("--grace must be above 0 and at most half of --ttl %s, got %s: the command is ended that long before the lease", f.ttl, f.grace)
	case f.hold < 0:
		return cfg, "", usage.Errorf("--hold-at-least must not be negative, got %s", f.hold)
	case !variableName.MatchString(f.fenceEnv):
		return cfg, "", usage.Errorf("--fence-env: %q is no name of an environment variable", f.fenceEnv)
	case f.shared && permits:
		return cfg, "", usage.Errorf("--shared and --permits exclude each other")
	case (f.shared || permits) && len(names) > 1:
		return cfg, "", usage.Errorf("--shared and --permits take one NAME")
	case permits && (f.permits < 1 || f.permits > limits.Permits):
		return cfg, "", usage.Errorf("--permits must be 1 to %d, got %d", limits.Permits, f.permits)
	}
	switch path, err = exec.LookPath(command[0]); {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		err = usage.Exitf(exitNotFound, "%s: command not found", command[0])
	case err != nil:
		err = cannotRun(command[0], err)
	}
	return cfg, path, err
}

// variableName matches the names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func cannotRun(command string, err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		err = cause // leaves out the operation and the path
	}
	return usage.Exitf(exitCannotRun, "%s: cannot be started: %v", command, err)
}

func (f *execFlags) run(cmd *cobra.Command, names, command []string) error {
	cfg, path, err := f.check(cmd, names, command)
	if err != nil {
		return err
	}
	h, signals, err := f.acquire(cmd, cfg, names)
	if err != nil {
		return err
	}
	c := &exec.Cmd{Path: path, Args: command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	c.Env = os.Environ()
	switch fence := f.fenceEnv + "="; {
	case cfg.Fencing && f.shared: // that of a lock around this one
		c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, fence) })
	case cfg.Fencing:
		c.Env = append(c.Env, fence+h.fences())
		if f.fenceEnv != fenceVariable && strings.HasPrefix(f.fenceEnv, variablePrefix) {
			c.Env = append(c.Env, fenceVariables+"="+os.Getenv(fenceVariables)+" "+f.fenceEnv)
		}
	}
	if f.permits > 0 {
		c.Env = append(c.Env, slotVariable+"="+strconv.Itoa(h.lock.(*engine.Lock).Slot()))
	}
	return h.run(c, signals, f.grace, f.hold, cmd.ErrOrStderr())
}
