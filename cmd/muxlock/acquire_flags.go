package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine/groups"
	"muxlock/internal/usage"
)

// claim are the flags of exec and lock that say how to acquire the lock.
type claim struct {
	*settings
	kind
	ttl, wait time.Duration
	try       bool
	quiet     bool
	conflict  uint8 // exit code for another holder; used only if given
}

// declare gives a command the flags, and has it write its messages to log. Writes to log must not block.
func (c *claim) declare(cmd *cobra.Command, log io.Writer) {
	cmd.SetErr(log)
	fs := cmd.Flags()
	fs.DurationVar(&c.ttl, "ttl", 10*time.Second, "lease, renewed every third of it; a crashed holder blocks others for this long")
	fs.DurationVar(&c.wait, "wait", 0, "how long to wait for the lock and the masters; without it, for ever; 0 = --try")
	fs.BoolVar(&c.try, "try", false, "wait neither for another holder nor for masters")
	fs.BoolVarP(&c.quiet, "quiet", "q", false, "print nothing when another holder has the lock")
	fs.Uint8VarP(&c.conflict, "conflict-exit-code", "E", 0, "exit code when another holder has the lock, 0 to 255 (default 123, or 122 when --wait is over)")
	fs.StringVar(&c.cfg.Holder, "holder", "", "what others see of this holder, at most 64 bytes (default \"HOST:PID COMMAND\")")
}

// config finds mistakes in the flags before anything is sent. Without --holder, others see command as the holder.
func (c *claim) config(cmd *cobra.Command, command string) (cfg groups.Config, err error) {
	if cfg, err = c.lockConfig(); err != nil {
		return cfg, err
	}
	c.try = c.try || cmd.Flags().Changed("wait") && c.wait == 0 // as flock does
	switch {
	case c.ttl <= 0:
		return cfg, usage.Errorf("--ttl must be above 0, got %s", c.ttl)
	case c.ttl > c.cfg.MaxTTL:
		return cfg, usage.Errorf("--ttl %s is above --max-ttl %s, which all clients of these masters must agree on", c.ttl, c.cfg.MaxTTL)
	case c.wait < 0:
		return cfg, usage.Errorf("--wait must not be negative, got %s", c.wait)
	case c.try && c.wait > 0:
		return cfg, usage.Errorf("--try and --wait exclude each other")
	}
	cfg.TTL = c.ttl
	cfg.Holder = cmp.Or(cfg.Holder, holder(command))
	return cfg, nil
}

// acquire waits for the lock until it has it, --wait is over or a signal comes. The caller acts on later signals.
func (c *claim) acquire(cmd *cobra.Command, cfg groups.Config, names []string) (*held, <-chan os.Signal, error) {
	cfg.Queue = max(len(names), c.permits) // a short queue saves the round trips that pay off only for many
	signals := notified()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	if c.wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.wait)
		defer cancel()
	}
	var h *held
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		h, err = acquire(ctx, cfg, names, c.kind, c.try, cmd.ErrOrStderr())
	}()
	select {
	case <-done:
	case s := <-signals:
		cancel()
		if <-done; err == nil {
			h.release()
		}
		return nil, nil, usage.Exitf(exitSignal+int(s.(syscall.Signal)), "%v while waiting for %s", s, quoted(names))
	}
	if err != nil {
		err = c.refused(cmd, names, err)
	}
	return h, signals, err
}

// notified returns what receives the signals of a holder, who also reaps orphans.
func notified() <-chan os.Signal {
	reapOrphans()
	signals := make(chan os.Signal, 16)
	// A signal that was ignored at the start, as under nohup, stays ignored, for a command too. The runtime does not
	// know that of SIGQUIT, but shells ignore it together with SIGINT for a script's background jobs.
	if signal.Ignored(os.Interrupt) {
		signal.Ignore(syscall.SIGQUIT)
	}
	signal.Notify(signals, slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT}, signal.Ignored)...)
	return signals
}

// refused turns err, because of which the lock was not acquired, into the command's exit.
func (c *claim) refused(cmd *cobra.Command, names []string, err error) error {
	late, taken := c.wait > 0 && errors.Is(err, context.DeadlineExceeded), isTaken(err)
	if taken && c.permits > 0 {
		err = fmt.Errorf("all %d permits are taken", c.permits)
	}
	e := usage.Exit{Code: exitTaken, Text: fmt.Sprintf("%s: %v", quoted(names), err)}
	switch {
	case late:
		why := strings.ReplaceAll(err.Error(), "; "+context.DeadlineExceeded.Error(), "") // which --wait says
		e = usage.Exit{Code: exitTimeout, Text: fmt.Sprintf("%s not acquired within %s: %s", quoted(names), c.wait, why)}
	case !taken:
		return err
	}
	if taken && c.quiet {
		e.Text = ""
	}
	if taken && cmd.Flags().Changed("conflict-exit-code") {
		e.Code = int(c.conflict)
	}
	return e
}
