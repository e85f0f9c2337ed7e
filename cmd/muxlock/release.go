package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/oneline"
)

// releaseFlags is the command line of release.
type releaseFlags struct {
	*settings
	output
	force, yes bool
}

func releaseCommand(s *settings) *cobra.Command {
	f := releaseFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "release --force NAME",
		Short: "Take a lock away from its holder",
		Long: `Shows who holds the lock, asks, and deletes on all masters exactly the values that it
has shown: what somebody else has locked since is left alone.

The holder is not asked. It finds out at its next renewal (muxlock exec: within a third of
its --ttl, and ends its command then), and works on until then, beside the next holder.
Only fencing tokens keep that harmless. A lock whose holder has died is freed by itself when
its lease has run out: see muxlock status.

Exit codes: 0 released, 1 not (or not known at a majority), 2 usage, 3 nobody held it.`,
		Example:           `  muxlock release --force jobs/nightly`,
		Args:              usageArgs(oneName),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "needed: the lock is another's, which goes on working")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	f.output.declare(cmd)
	return cmd
}

// released is what release shows, and its JSON.
type released struct {
	SchemaVersion int      `json:"schema_version"`
	Name          string   `json:"name"`
	Holder        string   `json:"holder"`
	Values        []string `json:"values"` // hashes
	LeftMs        *int64   `json:"left_ms"`
	Deleted       int      `json:"deleted"` // on so many masters
	Masters       int      `json:"masters"`
}

func (r released) text(w io.Writer) {
	by := ""
	if r.Holder != "" {
		by = " by " + r.Holder
	}
	fmt.Fprintf(w, "released %s: value %s, held%s", shown(r.Name), strings.Join(r.Values, " and "), by)
	if r.LeftMs != nil {
		fmt.Fprintf(w, " for another %s", duration(time.Duration(*r.LeftMs)*time.Millisecond))
	}
	fmt.Fprintf(w, ", was deleted on %d of %d masters\n", r.Deleted, r.Masters)
}

func (f *releaseFlags) run(cmd *cobra.Command, name string) error {
	switch {
	case !f.force:
		return usagef("--force is missing: the lock is another's, which goes on working until it notices")
	case !f.yes && !term.IsTerminal(int(os.Stdin.Fd())):
		return usagef("--yes is missing, and there is no terminal to ask on")
	}
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	locks, i, err := inspect(ctx, f.settings, name)
	if locks == nil {
		return err
	}
	defer locks.Close()
	was := stateOf(i, err)
	r := released{SchemaVersion: 1, Name: name, Holder: i.Holder, LeftMs: was.LeftMs, Values: was.values(), Masters: len(i.Masters)}
	switch {
	case len(r.Values) == 0 && err != nil:
		return err
	case len(r.Values) == 0:
		return exit{exitFree, fmt.Sprintf("nobody holds %q", name)}
	case !f.yes:
		was.text(log)
		if !yes(log, "Release it? [y/N] ") {
			return exit{exitRun, "not released"}
		}
	}
	if r.Deleted, err = admin.ForceRelease(ctx, locks, i); errors.Is(err, engine.ErrNotHeld) {
		return exit{exitRun, fmt.Sprintf("%q has changed meanwhile: nothing was released", name)}
	}
	if r.Deleted > 0 {
		err = oneline.Join(err, f.write(cmd.OutOrStdout(), r))
	}
	return err
}

// values is each value that a master has, once.
func (v state) values() (values []string) {
	for _, m := range v.Masters {
		if m.Value != "" && !slices.Contains(values, m.Value) {
			values = append(values, m.Value)
		}
	}
	return values
}

// yes asks a person.
func yes(w io.Writer, question string) bool {
	fmt.Fprint(w, question)
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // what could not be read is no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
