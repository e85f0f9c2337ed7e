package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"muxlock/internal/usage"
)

const lockName = "lock"

func lockCommand(s *settings, log io.Writer) *cobra.Command {
	c := claim{settings: s}
	cmd := &cobra.Command{
		Use:   lockName + " NAME",
		Short: "Hold a lock until standard input ends or a signal comes",
		Long: `Acquires the lock NAME as exec does, and keeps it alive without a command. It is for scripts
and programs in other languages. Once muxlock has the lock, it prints "locked NAME". It
releases the lock when standard input ends, or on SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGABRT.

If the lock is lost, muxlock prints "lost NAME: " with the reason, and ends. Your program must
then stop by itself, since another holder may have the lock by then. Exec would have ended its
command earlier.

Muxlock reads standard input only once it has the lock. Under cron, under systemd and in a
script's background, standard input is at its end: give muxlock a pipe, as below. The pipe
ends when the script does.

Exit codes: 0 released, 121 to 125 and -E as for exec, 128+N signal N ended the wait.`,
		Example: `  muxlock lock deploy     # until Ctrl-D
  mkfifo in out; muxlock lock deploy <in >out & exec 3>in; read -r locked <out && make deploy; exec 3>&-`,
		Args:              usage.Args(oneName),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.config(cmd, lockName)
			if err != nil {
				return err
			}
			h, signals, err := c.acquire(cmd, cfg, args[:1])
			if err != nil {
				return err
			}
			out := newBacklog(cmd.OutOrStdout())
			defer out.flush(lastWords)
			return h.keep(os.Stdin, signals, out, log)
		},
	}
	c.declare(cmd, log)
	return cmd
}

// keep keeps the lock until in ends or a signal comes, and releases it.
func (h *held) keep(in io.Reader, signals <-chan os.Signal, out, log io.Writer) error {
	over, end := context.WithCancel(context.Background())
	defer end()
	if h.lock.KeepAlive(0) == nil {
		fmt.Fprintln(out, "locked", shownName(h.names[0]))
		readInBackground()
		go func() { // ends with the process
			if _, err := io.Copy(io.Discard, in); !errors.Is(err, syscall.EIO) { // else a terminal's keys are another's
				end()
			}
		}()
		h.stay(over, nil, signals, end)
	}
	if lost := h.end(log); lost != nil {
		fmt.Fprintf(out, "lost %s: %s\n", shownName(h.names[0]), plain(lost.Error()))
		return usage.Exitf(exitLost, "")
	}
	return nil
}
