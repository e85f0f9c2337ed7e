// Muxlock runs commands under locks on independent Redis masters. It also shows and releases
// locks, diagnoses masters, and sets them up for fencing: see muxlock --help and muxlock COMMAND --help.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/engine"
	"muxlock/internal/usage"
)

// Exit codes. Scripts rely on them.
const (
	exitOK        = usage.ExitOK
	exitRun       = usage.ExitRun
	exitUsage     = usage.ExitUsage
	exitFree      = 3
	exitSplit     = 4
	exitRefused   = 121
	exitTimeout   = 122
	exitTaken     = 123
	exitLost      = 124
	exitOurs      = 125
	exitCannotRun = 126
	exitNotFound  = 127
	exitSignal    = 128 // plus the signal's number
)

func main() {
	// A write to a closed pipe must be an ordinary error: SIGPIPE would end muxlock, and its command with it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	holdersLog := newBacklog(os.Stderr)
	all := root(holdersLog)
	var out printed
	all.SetOut(&out)
	cmd, err := all.ExecuteC()
	err = inFlags(cmd, err)
	if err == nil {
		err, _ = out.failed.Load().(error)
	}
	code, quiet := outcome(cmd, err)
	log := cmd.ErrOrStderr()
	if !quiet {
		say(log, "%s", err)
	}
	if errors.As(err, new(usage.Error)) {
		fmt.Fprintln(log, "See "+cmd.CommandPath()+" --help.")
	}
	holdersLog.flush(lastWords)
	os.Exit(code)
}

// root returns muxlock with all its commands. exec and lock write their messages to log, the others to standard error. Warnings
// about settings go to log.
func root(log io.Writer) *cobra.Command {
	set := newSettings(log)
	cmd := &cobra.Command{
		Use:   "muxlock",
		Short: "Run commands under locks on independent Redis masters",
		Long: `Runs commands under locks on independent Redis or Valkey masters (Redlock). It also shows
and releases locks, and looks after the masters. A lock needs a majority of the masters.
Programs that lock the same name on the same masters, with the engine or with Redsync,
exclude these commands, and these commands exclude them. A NAME has at most 512 bytes, those
of --prefix included.

` + settingsHelp,
		Example: `  export MUXLOCK_MASTERS=10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379
  muxlock exec jobs/nightly -- backup.sh /srv
  muxlock status jobs/nightly`,
		Version:       fmt.Sprint(thisTool()),
		Args:          usage.NoSuchCommand[*cobra.Command],
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usage.Flag[*pflag.NotExistError](err, names)
	})
	set.declare(cmd)
	cmd.AddCommand(execCommand(set, log), lockCommand(set, log), statusCommand(set), releaseCommand(set), lsCommand(set), doctorCommand(set), mastersCommand(set), versionCommand())
	return cmd
}

func versionCommand() *cobra.Command {
	say := func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Version) }
	return &cobra.Command{Use: "version", Short: "Print the version", Args: usage.Args(cobra.NoArgs), Run: say}
}

// tool identifies this program in JSON.
type tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go"`
}

func (t tool) String() string { return t.Name + " " + t.Version + " " + t.Go }

func thisTool() tool {
	t := tool{"muxlock", "(unknown)", runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		t.Version = info.Main.Version
	}
	return t
}

// takesLock reports whether a command holds a lock while it runs.
func takesLock(cmd *cobra.Command) bool { return cmd.Name() == execName || cmd.Name() == lockName }

// outcome returns the exit code for a command's error, and whether there is nothing to print.
func outcome(cmd *cobra.Command, err error) (code int, quiet bool) {
	if takesLock(cmd) { // 1 and 2 may be exit codes of exec's command
		return usage.Code(err, exitOurs, exitOurs)
	}
	return usage.Code(err, exitUsage, exitRun)
}

// inFlags rewords an engine's error: it names flags in place of fields. If the engine refused an argument or a flag before it
// asked the masters, that is a usage error.
func inFlags(cmd *cobra.Command, err error) error {
	if !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrConfigMismatch) {
		return err
	}
	invalid, ok := errors.AsType[*engine.InvalidError](err)
	text := strings.ReplaceAll(err.Error(), engine.ErrInvalid.Error()+": Masters: ", "") // masters that refused the engine
	switch {
	case !ok && takesLock(cmd) && errors.As(err, new(*engine.StartError)):
		return usage.Exitf(exitRefused, "%s", asFlags(text))
	case !ok:
		return errors.New(asFlags(text))
	}
	ttl := map[bool]string{true: "--ttl", false: "--max-ttl"}[cmd.Flag("ttl") != nil] // a command without it asks for no lease
	text = cmp.Or(map[string]string{"name": "NAME", "ttl": ttl}[invalid.Field], invalid.Field) + " " + invalid.Reason
	switch of := strings.TrimSuffix(strings.TrimSuffix(err.Error(), invalid.Error()), ": "); {
	case of == "to" || of == "from":
		text = strings.Replace(text, "Masters[0]", map[string]string{"to": "--with", "from": "--for"}[of], 1)
	case strings.Contains(of, "["): // a group, whose masters are no flag; MastersAreNew is one
		text = strings.NewReplacer("MastersAre", "MastersAre", "Masters", of).Replace(text)
	}
	return usage.Errorf("%s", asFlags(text))
}

// flags are the flags of fields that engines name.
var flags = map[string]string{
	"MastersAreNew": "--new-masters", "MastersAreDurable": "--durable-masters", "Masters": "--masters", "Groups": "--groups", "Next": "--next-groups", "MasterTimeout": "--master-timeout",
	"RootCAs": "--tls-ca", "Certificates": "--tls-cert", "MaxTTL": "--max-ttl", "Drift": "--drift", "Prefix": "--prefix", "Holder": "--holder", "Fencing": "--fencing",
}

// word matches a word or a quoted text, which is the user's.
var word = regexp.MustCompile(`"(\\.|[^"\\])*"|\w+`)

func asFlags(text string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string { return cmp.Or(flags[w], w) })
}
