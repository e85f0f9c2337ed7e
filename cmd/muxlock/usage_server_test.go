package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"muxlock/internal/limits"
	"muxlock/internal/testing/redistest"
	"muxlock/internal/usage"
)

const nowhere = "127.0.0.1:1" // nothing listens there

func TestBadInputNamesItsFlagAndSendsNothing(t *testing.T) {
	long := strings.Repeat("x", limits.NameBytes+1)
	requireRefused(t, map[string]string{
		"exec":                                      "NAME is missing",
		"exec name":                                 "-- is missing before the command",
		"exec name true":                            "-- is missing before the command",
		"exec -- true":                              "NAME is missing",
		"exec name --":                              "the command is missing",
		"exec one two one -- true":                  "NAME \"one\" is there twice",
		"exec --ttl 0s name -- true":                "--ttl",
		"exec --ttl 1m name -- true":                "--ttl 1m0s is above --max-ttl 30s",
		"exec --ttl 50ms name -- true":              "muxlock: --ttl 50ms leaves no validity after --master-timeout 200ms and drift",
		"exec --wait -1s name -- true":              "--wait",
		"exec --try --wait 1s name -- true":         "--try and --wait",
		"exec --grace 5001ms name -- true":          "--grace",
		"exec --hold-at-least -1s name -- true":     "--hold-at-least",
		"exec --fence-env 1A name -- true":          "--fence-env",
		"exec --fencing --new-masters name -- true": "muxlock: --new-masters has no meaning with --fencing: ",
		"exec --holder \x01 name -- true":           "--holder",
		"exec --holder Next\x01 name -- true":       `muxlock: --holder "Next\x01" is not printable`,
		"exec --masters here name -- true":          `--masters[0] "here" is not host:port`,
		"exec --masters a:1,A:1 name -- true":       "muxlock: --masters[1] is the same server as --masters[0]: ",
		"exec --masters= name -- true":              "--masters is missing",
		"exec --master-timeout 2m name -- true":     "--master-timeout",
		"exec --max-ttl 0s name -- true":            "--max-ttl",
		"exec --prefix __muxlock__: name -- true":   "--prefix",
		"exec --password x name -- true":            "unknown flag: --password",
		"exec --password-file /none name -- true":   "--password-file",
		"exec --tls-ca /none name -- true":          "--tls-ca",
		"exec --tls-cert /none name -- true":        "--tls-cert and --tls-key",
		"exec --config /none name -- true":          "--config",
		"exec --tyr name -- true":                   "unknown flag: --tyr; did you mean --try or --ttl?",
		"exec --shared --permits 2 a -- true":       "--shared and --permits exclude",
		"exec --shared a b -- true":                 "--shared and --permits take one NAME",
		"exec --permits 2 a b -- true":              "--shared and --permits take one NAME",
		"exec --permits 0 a -- true":                "--permits must be 1 to 64, got 0",
		"exec -E 256 name -- true":                  "--conflict-exit-code",
		"lock":                                      "NAME is missing",
		"lock a b":                                  "one NAME",
		"status":                                    "NAME is missing",
		"status a b":                                "one NAME",
		"release a":                                 "--force is missing",
		"release --force a":                         "--yes is missing",
		"release --force --yes":                     "NAME is missing",
		"ls --limit 0":                              "--limit",
		"ls --timeout 0s":                           "--timeout",
		"ls -o yaml":                                "-o",
		"ls __muxlock__:":                           "__muxlock__:",
		"ls a b":                                    "at most 1",
		"ls --max-ttl 50ms":                         "muxlock: --max-ttl 50ms leaves no validity",
		"status --max-ttl 50ms name":                "muxlock: --max-ttl 50ms leaves no validity",
		"stauts a":                                  "did you mean status?",
		"run":                                       `unknown command "run"`,
		"exec __muxlock__:x -- true":                "muxlock: NAME begins, with its prefix, with the reserved prefix",
		"exec --prefix __muxlock__ a :x -- true":    "muxlock: NAME begins, with its prefix, with the reserved prefix",
		"exec a " + long + " -- true":               "muxlock: NAME has 513 bytes",
		"lock " + long:                              "muxlock: NAME has 513 bytes",
		"status " + long:                            "muxlock: NAME has 513 bytes",
		"status __muxlock__:x":                      "muxlock: NAME begins",
		"release --force --yes __muxlock__:x":       "muxlock: NAME begins",
	})
}

func TestBadInputOfDoctorAndMastersNamesItsFlagAndSendsNothing(t *testing.T) {
	requireRefused(t, map[string]string{
		"doctor --masters a:1,redis://a:1/1":                           "--masters[1] is the same server",
		"doctor --for 0s":                                              "--for",
		"doctor now":                                                   "now",
		"masters init --masters a:1,a:1":                               "--masters",
		"masters init --masters a:1 --max-ttl 1ms":                     "muxlock: --max-ttl 1ms leaves no validity",
		"masters init --masters a:1 --drift 0.5":                       "--drift",
		"masters init --masters a:1 --master-timeout 40s":              "muxlock: --max-ttl 30s leaves no validity",
		"masters init --masters a:1 --recover":                         "--above",
		"masters init --masters a:1 --above 7":                         "--recover",
		"masters init --masters a:1 --recover --above -7":              "--above",
		"masters init --masters a:1 --recover --above 7 --new-masters": "--new-masters",
		"masters replace --masters a:1 --with c:1 --for a:1":           "--masters",
		"masters replace --masters a:1,b:1 --with c:1":                 "--for",
		"masters replace --masters a:1,b:1 --for a:1":                  "--with",
		"masters replace --masters a:1,b:1 --with c:1 --for a:1":       "--all-clients-fence",
		"masters status --workers 3":                                   "--workers",
		"masters status --wait 1m":                                     "1m",
		"masters status --wait=1m":                                     "--wait",
		"masters inti":                                                 `unknown command "inti" for "muxlock masters"; did you mean init?`,
		"masters replace --masters a:1,b:1,d:1 --with redis://c:1/-1 --for a:1 --all-clients-fence": "muxlock: --with.SelectDB -1 is negative",
		"masters replace --masters a:1,b:1,d:1 --with c:1 --for redis://a:1/-1 --all-clients-fence": "muxlock: --for.SelectDB -1 is negative",
	})
}

// requireRefused gives faulty command lines to the commands, within this process: what the program prints of such an error, and
// its exit code, are in the tests below of single lines. Each must name its mistake and send nothing. As it changes the
// environment, the test cannot be parallel.
func requireRefused(t *testing.T, lines map[string]string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, variablePrefix) {
			t.Setenv(name, "")
		}
	}
	t.Setenv("MUXLOCK_MASTERS", nowhere)
	for line, want := range lines {
		var out, log bytes.Buffer
		cmd := root(&log)
		cmd.SetArgs(strings.Fields(line))
		cmd.SetOut(&out)
		cmd.SetErr(&log)
		cmd, err := cmd.ExecuteContextC(t.Context())
		err = inFlags(cmd, err)
		code, quiet := outcome(cmd, err)
		require.False(t, quiet, line)
		text := err.Error()
		require.Equal(t, exitOfMistake(line, exitUsage), code, "%s: %s", line, text)
		require.ErrorAs(t, err, new(usage.Error), "the help is named after it")
		require.Empty(t, out.String(), line)
		require.Empty(t, log.String(), line)
		require.Contains(t, "muxlock: "+text, want, line)
		require.NotContains(t, text, "muxlock: ", line)
		require.NotContains(t, text, "connection refused", line)
		require.NotRegexp(t, `(^|[^"])\b(Masters|MastersAreNew|Groups|Next|MasterTimeout|MaxTTL|Drift|Prefix|Holder|Fencing)\b`, text, "fields of a Go struct")
	}
}

// exitOfMistake is the exit code of a command that fails; otherwise is that of commands that hold no lock.
func exitOfMistake(line string, otherwise int) int {
	if strings.HasPrefix(line, "exec") || strings.HasPrefix(line, "lock") {
		return exitOurs
	}
	return otherwise
}

// An empty variable of a script would else wait for masters that are down.
func TestAnEmptyNameIsRefusedBeforeTheMastersAreAsked(t *testing.T) {
	t.Parallel()
	for line, more := range map[string][]string{"exec --wait 1s a": {"", "--", "true"}, "lock --wait 1s": {""}, "status": {""}, "release --force --yes": {""}} {
		_, stderr, _ := bare.with("MUXLOCK_MASTERS="+nowhere).run(t, line, more...)
		require.Equal(t, "muxlock: NAME is empty\nSee muxlock "+strings.Fields(line)[0]+" --help.\n", stderr)
	}
}

func TestAMistakeInTheGroupsNamesItsGroup(t *testing.T) {
	requireRefused(t, map[string]string{
		"exec --groups red=a:1,here name -- true":                       `--groups["red"][1] "here" is not host:port`,
		"exec --groups red=a:1,A:1 name -- true":                        `muxlock: --groups["red"][1] is the same server as --groups["red"][0]: `,
		"exec --groups Next=a:1,here name -- true":                      `muxlock: --groups["Next"][1] "here" is not host:port`,
		"exec --groups red=a:1 --fencing --new-masters name -- true":    "muxlock: --new-masters has no meaning with --fencing: ",
		"exec --groups red=a:1 --next-groups red=a:1 name -- true":      "muxlock: --next-groups equals --groups",
		"exec --groups red=a:1 --next-groups red=b:1 name -- true":      `muxlock: --next-groups["red"] has other masters than in --groups: `,
		"exec --groups red=a:1 --next-groups b=b:1 --fencing n -- true": "muxlock: --next-groups is not possible with --fencing: ",
		"exec --groups =a:1 name -- true":                               "--groups is not like",
		"exec --groups red=a:1 --next-groups blue=b name -- true":       `--next-groups["blue"][0] "b" is not host:port`,
		"exec --groups red=a:1 --next-groups blue=b:1,c:1 name -- true": `--next-groups["blue"] has 2 masters`,
		"exec --groups red=a:1 --prefix __muxlock__: name -- true":      "muxlock: --prefix",
		"exec --groups red=127.0.0.1:1 __muxlock__:x -- true":           "muxlock: NAME begins",
		"status --groups red=127.0.0.1:1 __muxlock__:x":                 "muxlock: NAME begins",
	})
}

func TestNamesAreOfOneOfTheGroups(t *testing.T) {
	t.Parallel()
	require.Contains(t, bare.says(t, exitOurs, "exec --groups", " ", "name", "--", "true"), "--masters is missing")
	require.Equal(t, "muxlock: names are of two groups of masters: \"a\" and \"b\". Names with the same {tag} are in one\nSee muxlock exec --help.\n",
		bare.says(t, exitOurs, "exec --groups", "red="+nowhere+" blue=127.0.0.1:2", "--wait", "1s", "a", "b", "--", "true"))
}

// -n, a flag of other tools, must not suggest --new-masters: with that, two may hold a lock.
func TestAnUnknownLetterHasNoSuggestion(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"-n", "-w"} {
		require.Equal(t, "muxlock: unknown shorthand flag: '"+letter[len(letter)-1:]+"' in "+letter+"\nSee muxlock exec --help.\n", bare.says(t, exitOurs, "exec", letter, "x", "--", "true"))
	}
}

func TestSettingsComeFromTheCommandLineThenTheEnvironmentThenAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "muxlock.conf")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	asked := func(want, args string, env ...string) {
		t.Helper()
		require.Contains(t, bare.with(env...).says(t, exitRun, "status name "+args), want)
	}
	const inEnv = "MUXLOCK_MASTERS=127.0.0.1:2"
	write("# ours\n\nMUXLOCK_MASTERS='127.0.0.1:3'\n")
	asked(nowhere, "--masters "+nowhere, inEnv, "MUXLOCK_CONFIG="+file)
	asked("127.0.0.1:2", "", inEnv, "MUXLOCK_CONFIG="+file)
	asked("127.0.0.1:3", "", "MUXLOCK_CONFIG="+file)
	asked("127.0.0.1:3", "--config "+file)
	write("\ufeffMUXLOCK_MASTERS=127.0.0.1:4\r\n")
	asked("127.0.0.1:4", "--config "+file)

	for text, want := range map[string]string{
		"MUXLOCK_MASTERS\n":                                  "line 1 is not like",
		"\nsecret=secret\n":                                  "line 2 is not like",
		"MUXLOCK_MASTER=a:1\n":                               "line 1: there is no setting MUXLOCK_MASTER; did you mean MUXLOCK_MASTER",
		"MUXLOCK_USER=a\nMUXLOCK_USER=b\n":                   "MUXLOCK_USER is there twice",
		"MUXLOCK_CONFIG=other\n":                             "line 1: a file names no other file of settings",
		"MUXLOCK_MAX_TTL=secret\n":                           "MUXLOCK_MAX_TTL in " + file + ": not a duration",
		"MUXLOCK_PASSWORD=secret\nMUXLOCK_PASSWORD_FILE=x\n": "are both in",
	} {
		write(text)
		stderr := bare.with("MUXLOCK_MASTERS="+nowhere).says(t, exitUsage, "status name --config "+file)
		require.Contains(t, stderr, want)
		require.NotContains(t, stderr, "secret")
	}
}

func TestAVariableCloseToASettingIsRefusedAndAnotherWarnsOnce(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"MUXLOCK_MAXTTL": "MUXLOCK_MAX_TTL", "MUXLOCK_PREFX": "MUXLOCK_PREFIX", "MUXLOCK_prefix": "MUXLOCK_PREFIX", "MUXLOCK_MASTER": "MUXLOCK_MASTER_TIMEOUT or MUXLOCK_MASTERS",
		"MUXLOCK_CONFIGS": "MUXLOCK_CONFIG", "MUXLOCK_PASSWORDFILE": "MUXLOCK_PASSWORD_FILE", "MUXLOCK_TLS": "MUXLOCK_TLS_CA or MUXLOCK_TLS_CERT or MUXLOCK_TLS_KEY",
	} {
		for command, code := range map[string]int{"exec name -- true": exitOurs, "lock name": exitOurs, "status name": exitUsage, "ls": exitUsage, "doctor": exitUsage, "masters status": exitUsage} {
			stdout, stderr, got := bare.with("MUXLOCK_MASTERS="+nowhere, name+"=secret").run(t, command)
			require.Equal(t, code, got, command)
			require.Empty(t, stdout)
			first, _, _ := strings.Cut(stderr, "\n")
			require.Equal(t, "muxlock: the environment: there is no setting "+name+"; did you mean "+want+"?", first)
		}
	}
	ours := []string{"MUXLOCK_TEST_SERVERS", "MUXLOCK_REQUIRE_REDIS", "MUXLOCK_SERVER", "MUXLOCK_MODEL", "MUXLOCK_VALIDATE", "MUXLOCK_TALKER"}
	s := newSet(t).with("MUXLOCK_TTL=", "MUXLOCK_PREFX=") // empty is not set
	stderr := s.with(strings.Split(strings.Join(ours, "=a ")+"=a", " ")...).says(t, 0, "exec name -- true")
	names, one := strings.CutPrefix(strings.TrimSuffix(stderr, "\n"), "muxlock: the environment: there is no setting ")
	require.True(t, one, stderr)
	require.ElementsMatch(t, ours, strings.Split(names, ", "))
}

func TestVariablesOfExecAndKubernetesAreNoMistakes(t *testing.T) {
	t.Parallel()
	s := newFencedSet(t)
	const inner = `"$0" exec --ttl 4s --fence-env MUXLOCK_MAXTTL b -- sh -c 'echo $MUXLOCK_PREFX $MUXLOCK_MAXTTL; "$0" status -o json b >/dev/null' "$0"`
	stdout, stderr, code := s.run(t, "exec --ttl 4s --fence-env MUXLOCK_PREFX a -- sh -c", inner, redistest.Program(t))
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.Len(t, strings.Fields(stdout), 2)

	around := s.with("MUXLOCK_FENCE=7", "MUXLOCK_SLOT=1", "MUXLOCK_USERS=7",
		"MUXLOCK_PORT=tcp://10.0.0.1:6379", "MUXLOCK_PORT_6379_TCP_ADDR=10.0.0.1", "MUXLOCK_SERVICE_HOST=10.0.0.1", "MUXLOCK_SERVICE_PORT_REDIS=6379",
		"MUXLOCK_MASTERS_PORT=tcp://10.0.0.1:6379", "MUXLOCK_MASTERS_SERVICE_HOST=10.0.0.1")
	require.Empty(t, around.says(t, 0, "exec --ttl 4s --fence-env MUXLOCK_USERS a -- true"))
}

func TestHelpCompletionAndVersionNeedNoMasters(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                       "Usage:",
		"exec --help":            "128+N",
		"lock --help":            "121 to 125",
		"status --help":          "split    4",
		"ls --help":              "+scan",
		"masters":                "repair ",
		"masters init --help":    "--above",
		"masters status --help":  "--wait ",
		"__complete masters st":  "status\t",
		"version":                "muxlock ",
		"--version":              "muxlock ",
		"completion bash":        "bash completion",
		"__complete status -o j": "json\n",
		"__complete rel":         "release\t",
		"__complete exec --fenc": "--fence-env\t",
	} {
		require.Contains(t, bare.ok(t, line), want, line)
	}
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	s := newSet(t)
	for _, line := range []string{"", "--help", "help ls", "masters", "version", "--version", "completion bash", "exec --help", "lock name"} {
		c := exec.Command(redistest.Program(t), strings.Fields(line)...)
		c.Stdout = full
		j := s.launch(t, c)
		j.ends(t, exitOfMistake(line, exitRun))
		require.Equal(t, "muxlock: write /dev/stdout: no space left on device\n", j.log.String(), line)
	}
}
