package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/cmd/lockbench/internal/plan"
	"muxlock/cmd/lockbench/internal/result"
	"muxlock/cmd/lockbench/internal/resulttest"
	"muxlock/cmd/lockbench/internal/rivals"
	"muxlock/cmd/lockbench/internal/session"
	"muxlock/internal/testing/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m.Run, main) }

// flat returns a text as one line, unfolded.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// lockbench runs the binary to its end.
func lockbench(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return lockbenchEnv(t, os.Environ(), args...)
}

func lockbenchEnv(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return redistest.Run(t, env, patient(args)...)
}

// patient gives the engine of a run more time for each master than its default, which a busy machine
// may need, unless the run has settings of its own.
func patient(args []string) []string {
	own := func(arg string) bool {
		return slices.ContainsFunc([]string{"--master-timeout", "--ttl", "--config", "ttl="}, func(flag string) bool { return strings.HasPrefix(arg, flag) })
	}
	if len(args) == 0 || !slices.Contains([]string{"run", "compare", "sweep"}, args[0]) || slices.ContainsFunc(args, own) {
		return args
	}
	return append([]string{args[0], "--master-timeout", "2s"}, args[1:]...)
}

// measured runs lockbench to an end in order, and returns its document and what it said on standard error. Whether so short a
// run is valid depends on the machine: within has verdicts.
func measured(t *testing.T, line string, more ...string) (doc *result.Document, stderr string) {
	t.Helper()
	if strings.Contains(line, "--local") {
		redistest.NeedServer(t)
	}
	stdout, stderr, code := lockbench(t, append(words(line+" -o json"), more...)...)
	require.Contains(t, []int{exitOK, exitNotValid}, code, stderr)
	doc, err := result.Read(strings.NewReader(stdout))
	require.NoError(t, err)
	return doc, stderr
}

// loads makes the result of each run instead of a load: no master is started.
type loads func(impl string, cfg bench.Config) *bench.Result

// runner is a lock whose runs have that result.
type runner func(bench.Config) *bench.Result

func (r runner) Run(_ context.Context, cfg bench.Config) (*bench.Result, error) { return r(cfg), nil }
func (runner) Close() error                                                     { return nil }

func (l loads) open(_ context.Context, p *plan.Plan, _ io.Writer) (*session.Session, error) {
	set, err := masters.StartEmbedded(0)
	set.Kind, set.Version = p.Masters.Target, "redis 7.0.15"
	for i := range p.Masters.Count {
		set.Addrs = append(set.Addrs, fmt.Sprint("m:", i+1))
	}
	return session.New(set, func(_ context.Context, _ *plan.Plan, names []string, _ rivals.Options) (session.Runner, error) {
		return runner(func(cfg bench.Config) *bench.Result { return l(names[0], cfg) }), nil
	}), err
}

// steady is a run in which all went well.
func steady(impl string, cfg bench.Config) *bench.Result {
	r := resulttest.Result(impl, 0, 1000)
	r.Workers, r.Seed, r.DurationS, r.Totals.Offered = cfg.Workers, cfg.Seed, cfg.Duration.Seconds(), 500
	if cfg.Progress != nil { // it is nil with chaos -q
		cfg.Progress(bench.Progress{Impl: impl, Result: r})
	}
	return r
}

// with is a steady run with a change.
func with(change func(*bench.Result)) loads {
	return func(impl string, cfg bench.Config) *bench.Result {
		r := steady(impl, cfg)
		change(r)
		return r
	}
}

// within runs lockbench to its end in this process, in the sessions that a test makes.
func within(t *testing.T, open session.Opener, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out bytes.Buffer
	stderr, code = into(t, &out, open, args...)
	return out.String(), stderr, code
}

// into is within, with another standard output.
func into(t *testing.T, stdout io.Writer, open session.Opener, args ...string) (stderr string, code int) {
	t.Helper()
	var log bytes.Buffer
	cmd := commands{open}.root()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(&log)
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintln(&log, "lockbench: "+plain(err))
	}
	code, _ = exitCode(err)
	return log.String(), code
}

// made returns the document of such runs, which must be in order.
func made(t *testing.T, l loads, line string) (doc *result.Document, stderr string) {
	t.Helper()
	stdout, stderr, code := within(t, l.open, words(line+" -o json")...)
	require.Zero(t, code, stderr)
	doc, err := result.Read(strings.NewReader(stdout))
	require.NoError(t, err)
	return doc, stderr
}

// keep returns the name of a file with the document of such runs.
func keep(t *testing.T, l loads, line string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.json")
	_, stderr, code := within(t, l.open, words(line+" -o json --out "+name)...)
	require.Zero(t, code, stderr)
	return name
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

func words(line string) []string { return strings.Fields(line) }
