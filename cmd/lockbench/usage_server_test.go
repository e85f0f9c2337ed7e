package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/session"
)

func TestUsageErrorsSpeakOfFlagsOnly(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run --slo speed>1": "lockbench: --slo there is no figure",
		"advise --eps 2":    "\nSee lockbench advise --help.\n$",
		"masters now":       "\nSee lockbench masters --help.\n$",
		"walk":              "lockbench: unknown command \"walk\" for \"lockbench\"\nSee lockbench --help.\n$",
		"swep":              `lockbench: unknown command "swep" for "lockbench"; did you mean sweep?` + "\n",
		"run --worker 3":    "lockbench: unknown flag: --worker; did you mean --workers?\n",
		"masters --workers": "lockbench: unknown flag: --workers\n",
	} {
		_, stderr, code := lockbench(t, strings.Fields(line)...)
		require.Equal(t, exitUsage, code)
		require.Regexp(t, strings.ReplaceAll(want, "?", `\?`), stderr)
		require.NotContains(t, stderr, "Config.")
		require.NotContains(t, stderr, "bench: invalid")
	}
	require.Equal(t, "x: --workers must be 1", plain(fmt.Errorf("x: %w", &bench.ConfigError{Field: "Workers", Flag: "workers", Reason: "must be 1"})))
}

func TestWithoutArgumentsItHelps(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := lockbench(t)
	require.Zero(t, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "lockbench run")
	require.Contains(t, stdout, "compare")
}

func TestVersionNamesItself(t *testing.T) {
	t.Parallel()
	stdout, _, code := lockbench(t, "--version")
	require.Zero(t, code)
	require.Regexp(t, `^lockbench .*go1\S+\n$`, stdout)
}

func TestBadInputNamesItsFlagAndStartsNothing(t *testing.T) {
	requireRefused(t, map[string]string{
		"run --workers many":                             "--workers",
		"run --keys 5 --dist own":                        "--keys",
		"run --hold file:":                               "--hold",
		"run --hold file:/no/such/file":                  "/no/such/file",
		"run --think file:/dev/null":                     "has 0 samples",
		"sweep --param hold=1ms,file:/no":                "/no: no such file",
		"run --op hold --impl redislock":                 "--op hold cannot be used with --impl redislock",
		"chaos --op permit:3 --impl redsync-goredis":     "--op permit:3 cannot be used with --impl redsync-goredis",
		"run --impl node-redlock":                        `--impl "node-redlock" is unknown`,
		"run --impl redislock --op mix:extend=1":         "--op mix:extend=1 cannot be used with --impl redislock",
		"run --impl=":                                    "--impl",
		"run --master-timeout -1s":                       "--master-timeout",
		"run --master-timeout 10s":                       "--master-timeout",
		"run --fencing --impl redislock":                 "--fencing",
		"chaos --fencing --impl redislock":               "--fencing",
		"run --ttl 5s --max-ttl 4s":                      "--ttl 5s is above MaxTTL 4s",
		"run --hold 2s --ttl 1s":                         "--hold",
		"run --rate 0":                                   "--rate",
		"run --rate 100 --impl raw":                      "--rate",
		"run --impl raw --fault stop:1":                  "--fault",
		"run --rounds 0":                                 "--rounds",
		"run --seed 9007199254740992":                    "--seed",
		"run --masters a:1 --local 3":                    "--local",
		"run --masters a:1 --embedded 3":                 "--embedded",
		"run --local 3 --embedded 3":                     "--embedded",
		"run --local 0":                                  "--local",
		"run --local 70":                                 "Masters has 70",
		"run --retry-held 2m":                            "--retry-held 2m0s is not between 0 and 1m",
		"sweep --param ttl=10s,100ms":                    "--master-timeout",
		"run --groups 0":                                 "--groups must be 1 to 19 with --local 5, got 0",
		"run --local 3 --groups 34":                      "--groups must be 1 to 33 with --local 3, got 34",
		"run --embedded 50 --groups 2":                   "--groups must be 1 to 1 with --embedded 50, got 2",
		"run --masters a:1,b:2,c:3 --groups 2":           "--groups must divide the number of --masters, 3, got 2",
		"run --masters a:1 --groups 0":                   "--groups",
		"run --groups 2 --op all:4":                      "--op all:4 cannot be used with --groups 2",
		"run --groups 2 --impl muxlock-single":           "--groups cannot be used with --impl muxlock-single",
		"compare --groups 2 --impl muxlock,raw":          "--groups cannot be used with --impl raw",
		"sweep --param groups=1,2 --impl redislock":      "--groups",
		"chaos --groups 2":                               "--groups",
		"run --embedded -1":                              "--embedded",
		"run --fault stop:1 --embedded 3":                "--fault",
		"run --fault=stop:1 --fault=kill:1":              "--fault",
		"run --masters a:1 --fault stop:1":               "--fault",
		"chaos --impl raw":                               "--impl",
		"chaos --impl muxlock,redislock":                 "--impl",
		"chaos --faults=":                                "--faults",
		"chaos --duration 10ms":                          "--duration",
		"chaos --hold 1s":                                "--hold",
		"chaos --op hold":                                "--op hold cannot be used with chaos",
		"run --retry-held 5ms --impl redislock":          "--retry-held cannot be used with --impl redislock: only muxlock takes it",
		"compare --retry-split 5ms --impl noop,raw":      "--retry-split cannot be used with --impl noop,raw",
		"run --max-ttl 1m --impl redsync-goredis":        "--max-ttl cannot be used with --impl redsync-goredis",
		"sweep --param hold=1ms,lognormal:1ms":           `lockbench: --param hold=lognormal:1ms: --hold "lognormal:1ms": a span`,
		"chaos --keys 0":                                 "--keys",
		"chaos --keys 100000":                            "--keys",
		"chaos --history /no/such/file":                  "--history",
		"chaos --masters a:1":                            "--masters",
		"chaos -o bench":                                 "-o",
		"run --impl raw --fault flush:1@1s":              "--fault",
		"chaos --faults stop,swapdb":                     `--faults "swapdb" is not one of`,
		"chaos --faults pause --procs 1":                 "--procs",
		"chaos --impl muxlock,redsync-goredis --procs 1": "--procs",
		"run --out /no/such/file":                        "--out",
		"run --zones 3":                                  "unknown flag: --zones",
		"masters init":                                   `unknown command "init" for "lockbench masters"`,
		"compare a.json b.json":                          `unknown command "a.json" for "lockbench compare"`,
		"sweep --param keys=1,2 --param workers=1,2":     "sweep needs one --param",
		"run -o csv":                                     `-o must be one of text, json, bench, got "csv"`,
		"run now":                                        "now",
		"run --html /no/such/page":                       "--html",
		"report":                                         "arg",
		"report any -o pdf":                              "-o must be",
		"report any":                                     "any cannot be read",
	})
}

func TestALeaseThatIsTooShortSaysWhatToAdd(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[string]string{
		"120ms": "; add --master-timeout, such as --master-timeout 30ms",
		"1ms":   "; the shortest is --ttl 4ms --master-timeout 1ms",
	} {
		args := words("run --embedded 1 --workers 1 --duration 200ms --warmup 0s --ttl " + ttl)
		_, stderr, code := lockbench(t, args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, want)
		help := words(regexp.MustCompile(`(--ttl \S+ )?--master-timeout \S+$`).FindString(want))
		_, stderr, code = lockbench(t, append(args, help...)...)
		require.NotEqual(t, exitUsage, code, stderr)
	}
}

func TestMoreMastersThanTheEngineTakesAreNoMistakeWhereOneIsUsed(t *testing.T) {
	t.Parallel()
	_, stderr, code := lockbenchEnv(t, append(os.Environ(), "PATH=/no/bin"), "run", "--impl", "muxlock-single", "--local", "70")
	require.Equal(t, exitRun, code, stderr)
	require.Contains(t, stderr, "neither redis-server nor valkey-server", "it came as far as starting them")
}

// requireRefused gives mistaken command lines to the commands, within this process: what the program prints of such an error,
// and its exit code, are in the tests of single lines. Each error names its flag, and nothing is started. As it changes
// the environment, the test cannot be parallel.
func requireRefused(t *testing.T, lines map[string]string) {
	t.Helper()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)     // where servers would put their data,
	t.Setenv("PATH", "/no/bin") // and lockbench not find them and say so
	for line, want := range lines {
		stdout, stderr, code := within(t, session.Open, patient(words(line))...)
		require.Equal(t, exitUsage, code, "%s: %s", line, stderr)
		require.Empty(t, stdout, line)
		require.Regexp(t, "^lockbench: ", stderr, "nothing before it")
		require.Contains(t, stderr, want, line)
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// flagLine matches the first line of a flag in the help.
var flagLine = regexp.MustCompile(`^ +(?:-\w, )?--([\w-]+)`)

func TestEveryFlagStandsOnceInTheHelpUnderAHeading(t *testing.T) {
	for _, cmd := range (commands{}).root().Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		var lines []string
		for line := range strings.Lines(groupedFlags(cmd.Flags(), 0)) {
			if m := flagLine.FindStringSubmatch(line); m != nil {
				lines = append(lines, m[1])
			}
		}
		var want []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				want = append(want, f.Name)
				require.True(t, f.Name == "help" || f.Annotations != nil, "declare --%s of %s under a heading", f.Name, cmd.Name())
			}
		})
		require.ElementsMatch(t, want, lines, cmd.Name())
	}
}

func TestHelpHasExamplesAndFitsAScreen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"run", "compare", "sweep"} {
		stdout, stderr, code := lockbench(t, name, "--help")
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.GreaterOrEqual(t, strings.Count(stdout, "\n  lockbench "+name), 1+3, "the usage line and three examples")
		require.LessOrEqual(t, strings.Count(stdout, "\n"), 78)
		require.Less(t, strings.Index(stdout, "\nTarget:"), strings.Index(stdout, "\nLoad:"))
		require.Less(t, strings.Index(stdout, "\nLoad:"), strings.Index(stdout, "\nOutput:"))
	}
}
