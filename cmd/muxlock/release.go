package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/limits"
	"muxlock/internal/oneline"
	"muxlock/internal/usage"
)

// releaseFlags are the flags of release.
type releaseFlags struct {
	*settings
	force, yes bool
}

func releaseCommand(s *settings) *cobra.Command {
	f := releaseFlags{settings: s}
	cmd := &cobra.Command{
		Use:   "release --force NAME",
		Short: "Take a lock away from its holder",
		Long: `Shows who holds the lock, asks you, and deletes exactly the values it has shown, on all
masters. A lock that somebody else has acquired since is left alone.

The holder is not asked. It works on until its next renewal, beside the next holder; muxlock
exec notices within a third of its --ttl and then ends its command. Only fencing tokens make
that harmless. If the holder has died, the lock frees itself when its lease has run out: see
muxlock status. Permits of NAME are left alone.

Exit codes: 0 released, 1 not released (or not known at a majority), 2 usage, 3 nobody held it.`,
		Example:           `  muxlock release --force jobs/nightly`,
		Args:              usage.Args(oneName),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "required: the holder works on until it notices")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	f.output.declare(cmd)
	return cmd
}

// released is the result of release, and its JSON.
type released struct {
	SchemaVersion int       `json:"schema_version"`
	Name          shownName `json:"name"`
	Holder        string    `json:"holder"`
	Values        []string  `json:"values"` // hashes
	LeftMs        *int64    `json:"left_ms"`
	Deleted       int       `json:"deleted"` // number of masters
	Masters       int       `json:"masters"`
	holders       []string  // of all values
}

func (r released) text(w io.Writer) {
	by := ""
	if len(r.holders) > 0 {
		by = " by " + strings.Join(r.holders, " and ")
	}
	fmt.Fprintf(w, "released %s: %s %s, held%s", r.Name, plural(len(r.Values), "value", "values"), strings.Join(r.Values, " and "), by)
	if r.LeftMs != nil {
		fmt.Fprintf(w, " for another %s", shownLeft(r.LeftMs))
	}
	fmt.Fprintf(w, ", %s deleted on %d of %d masters\n", plural(len(r.Values), "was", "were"), r.Deleted, r.Masters)
}

func (f *releaseFlags) run(cmd *cobra.Command, name string) error {
	switch {
	case !f.force:
		return usage.Errorf("--force is missing: the lock is another's, which goes on working until it notices")
	case !f.yes && !term.IsTerminal(int(os.Stdin.Fd())):
		return usage.Errorf("--yes is missing, and there is no terminal to ask on")
	}
	ctx, log := cmd.Context(), cmd.ErrOrStderr()
	locks, i, err := inspect(ctx, f.lockConfig, name)
	if locks == nil {
		return err
	}
	defer locks.Close()
	was := stateOf(i, err)
	r := released{SchemaVersion: 1, Name: shownName(name), Holder: i.Holder, LeftMs: was.LeftMs, Masters: len(i.Masters)}
	r.Values, r.holders = was.values()
	switch {
	case len(r.Values) == 0 && err != nil:
		return err
	case len(r.Values) == 0:
		permits, _ := lookAt(ctx, locks, slotsOf(name, limits.Permits))
		if n := heldOf(permits); n > 0 {
			return usage.Exitf(exitFree, "no lock on %q; %d %s held (release leaves permits alone)", name, n, plural(n, "permit is", "permits are"))
		}
		return usage.Exitf(exitFree, "nobody holds %q", name)
	case !f.yes:
		was.noteVotes(locks.Stats().Masters)
		was.text(log)
		if !yes(log, "Release it? [y/N] ") {
			return usage.Exitf(exitRun, "not released")
		}
	}
	if r.Deleted, err = admin.ForceRelease(ctx, locks, i); errors.Is(err, engine.ErrNotHeld) {
		return usage.Exitf(exitRun, "%q has changed meanwhile: nothing was released", name)
	}
	if r.Deleted > 0 {
		err = oneline.Join(err, f.write(cmd.OutOrStdout(), r))
	}
	return err
}

// values returns the masters' values without repetition, and their holders.
func (v state) values() (values, holders []string) {
	for _, m := range v.Masters {
		for _, r := range m.all() {
			if r.Value == "" || slices.Contains(values, r.Value) {
				continue
			}
			if values = append(values, r.Value); r.Holder != "" {
				holders = append(holders, r.Holder)
			}
		}
	}
	return values, holders
}

// yes asks a person on the terminal.
func yes(w io.Writer, question string) bool {
	fmt.Fprint(w, question)
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // a failed read means no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
