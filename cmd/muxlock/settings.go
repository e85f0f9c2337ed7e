package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muxlock/engine"
	"muxlock/engine/groups"
	"muxlock/internal/usage"
)

const settingsHelp = `Settings of the masters ("Global Flags") come from the command line, else from the
environment (MUXLOCK_MASTERS for --masters, MUXLOCK_MAX_TTL for --max-ttl, ...), else from
the file of --config or MUXLOCK_CONFIG. The file has one variable per line:

  # /etc/muxlock.conf
  MUXLOCK_MASTERS=10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379
  MUXLOCK_USER=locks
  MUXLOCK_PASSWORD_FILE=/run/secrets/locks

A variable of the environment that is close to a setting's, as MUXLOCK_MAXTTL is, is refused.
Muxlock warns of others that begin with MUXLOCK_, unless exec or Kubernetes sets them.

A password comes from the file of --password-file or MUXLOCK_PASSWORD_FILE, or from
MUXLOCK_PASSWORD. There is no flag for it: ps would show it to others. The URL of a master
may have a password too, which overrides these.`

// settings are the global flags: what all processes that share locks agree on, and how to log in.
type settings struct {
	flags *pflag.FlagSet // one per setting, and one for the password, which the command line does not have
	log   io.Writer      // for warnings; writes to it do not block

	cfg                   engine.Config // as far as a flag is one of its fields
	file, passwordFile    string
	masters, groups, next string
	tls                   tlsFiles
	output                // of commands that show something

	fenceEnv string // the variable that exec's --fence-env names
	replaced string // where groups are that masters take the place of; "": nowhere
}

const passwordName = "password"

func newSettings(log io.Writer) *settings {
	s := &settings{flags: pflag.NewFlagSet("", pflag.ContinueOnError), log: log}
	fs := s.flags
	fs.StringVar(&s.file, "config", "", "`file` of settings")
	fs.StringVar(&s.masters, "masters", "", "the masters: host:port, redis://, rediss:// (TLS) or unix://, separated by commas")
	fs.StringVar(&s.groups, "groups", "", "several groups of masters in place of --masters: `ID=MASTERS ID=MASTERS ...` (go doc muxlock/engine/groups)")
	fs.StringVar(&s.next, "next-groups", "", "what --groups is being changed to, in the same form")
	fs.StringVar(&s.cfg.Client.Username, "user", "", "user of the masters' ACL")
	fs.StringVar(&s.cfg.Client.Password, passwordName, "", "")
	fs.StringVar(&s.passwordFile, "password-file", "", "`file` with the password and nothing else")
	fs.StringVar(&s.tls.ca, "tls-ca", "", "connect with TLS; `file` of the authorities trusted to sign the masters' certificates")
	fs.StringVar(&s.tls.cert, "tls-cert", "", "`file` of the client certificate")
	fs.StringVar(&s.tls.key, "tls-key", "", "`file` of the client certificate's key")
	fs.StringVar(&s.cfg.Prefix, "prefix", "", "begins the key of every lock on the masters; a NAME does not include it")
	fs.DurationVar(&s.cfg.MaxTTL, "max-ttl", 30*time.Second, "longest lease that any client of these masters may ask for, as engine.Config.MaxTTL")
	fs.DurationVar(&s.cfg.MasterTimeout, "master-timeout", 200*time.Millisecond, "how long one master may take before the others decide")
	fs.BoolVar(&s.cfg.Fencing, "fencing", false, "locks have fencing tokens; the masters must be set up for it (muxlock masters init)")
	fs.BoolVar(&s.cfg.MastersAreDurable, "durable-masters", false, "assert that all masters write to disk before they answer (appendfsync always): a restarted master votes at once;\nif that is wrong, two may hold a lock")
	fs.BoolVar(&s.cfg.MastersAreNew, "new-masters", false, "assert that the masters have never granted a lock: masters started just now vote at once; if that is wrong, two may hold a lock")
	return s
}

// declare gives a command and its subcommands the flags.
func (s *settings) declare(cmd *cobra.Command) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != passwordName {
			cmd.PersistentFlags().AddFlag(f)
		}
	})
}

const variablePrefix = "MUXLOCK_"

// variable returns the name that a setting has in the environment and in a file.
func variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variables returns the variables of all settings.
func (s *settings) variables() (all []string) {
	s.flags.VisitAll(func(f *pflag.Flag) { all = append(all, variable(f.Name)) })
	return all
}

// Variables that exec sets for its command.
const (
	fenceVariable  = "MUXLOCK_FENCE" // unless --fence-env names another one
	slotVariable   = "MUXLOCK_SLOT"
	fenceVariables = "MUXLOCK_FENCE_VARIABLES" // the variables of --fence-env that a muxlock might take for settings, separated by spaces
)

// ofKubernetes matches the variables that Kubernetes sets for services whose names begin with muxlock.
var ofKubernetes = regexp.MustCompile(`^MUXLOCK_(\w+_)?(PORT|SERVICE)(_|$)`)

// checkEnvironment refuses a variable whose name is close to that of a setting. It warns of others that begin as settings do,
// except those that an exec around this process or Kubernetes has set.
func (s *settings) checkEnvironment() error {
	known := s.variables()
	leftAlone := append(strings.Fields(os.Getenv(fenceVariables)), fenceVariables, fenceVariable, slotVariable, s.fenceEnv)
	var others []string
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case value == "" || !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name):
		case slices.Contains(leftAlone, name) || ofKubernetes.MatchString(name):
		case usage.Near(name, "", known) != "":
			return noSetting("the environment", name, known)
		default:
			others = append(others, name)
		}
	}
	if others != nil {
		say(s.log, "%s", noSetting("the environment", strings.Join(others, ", "), nil))
	}
	return nil
}

// noSetting is the error about a variable that is no setting.
func noSetting(where, name string, known []string) error {
	return usage.Errorf("%s: there is no setting %s%s", where, name, usage.Near(name, "", known))
}

// engineConfig completes the settings from the environment and the file, and returns them as the configuration of one
// group of masters, --masters.
func (s *settings) engineConfig() (engine.Config, error) {
	cfg, err := s.groupsConfig()
	if err == nil && len(cfg.Groups) > 0 {
		err = usage.Errorf("this looks at one group: set --masters in place of --groups")
	}
	return cfg.Config, err
}

// lockConfig is groupsConfig for commands that lock or release: with some processes on one group and others on all, two
// could hold a lock.
func (s *settings) lockConfig() (groups.Config, error) {
	cfg, err := s.groupsConfig()
	if err == nil && s.replaced != "" {
		err = usage.Errorf("--masters (MUXLOCK_MASTERS) takes the place of the groups in %s, and a lock would not exclude those who lock by the groups", s.replaced)
	}
	return cfg, err
}

// connect returns an engine with the masters of one group or of several. It asks nothing of them if names cannot be
// locked together.
func connect(ctx context.Context, cfg groups.Config, names ...string) (*engine.Engine, error) {
	if len(cfg.Groups) == 0 {
		if err := cfg.Config.Validate(names...); err != nil {
			return nil, err
		}
		return engine.New(ctx, cfg.Config)
	}
	if err := cfg.Validate(names...); err != nil {
		return nil, err
	}
	e, err := groups.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return e.Engine, nil
}

// parseGroups returns the masters of each group. text is ID=MASTERS, separated by spaces.
func parseGroups(flag, text string) (map[string][]string, error) {
	all := make(map[string][]string)
	for _, group := range strings.Fields(text) {
		id, masters, ok := strings.Cut(group, "=")
		if _, twice := all[id]; !ok || id == "" || twice {
			return nil, usage.Errorf("%s is not like red=a:6379,b:6379,c:6379 blue=d:6379,e:6379,f:6379, with each name once", flag)
		}
		all[id] = strings.Split(masters, ",")
	}
	return all, nil
}

// groupsConfig completes the settings from the environment and the file, and returns them as an engine's configuration.
func (s *settings) groupsConfig() (cfg groups.Config, err error) {
	if err := cmp.Or(s.checkEnvironment(), s.complete("the environment", os.Getenv), s.completeFromFile()); err != nil {
		return cfg, err
	}
	cfg.Config = s.cfg
	switch {
	case s.masters == "" && strings.TrimSpace(s.groups) == "":
		return cfg, usage.Errorf("--masters is missing, and there is no MUXLOCK_MASTERS")
	case s.masters != "" && s.groups != "":
		return cfg, usage.Errorf("--masters and --groups exclude each other")
	case s.next != "" && s.groups == "":
		return cfg, usage.Errorf("--next-groups needs --groups")
	case cfg.MaxTTL <= 0:
		return cfg, usage.Errorf("--max-ttl must be above 0, got %s", cfg.MaxTTL)
	}
	if cfg.Groups, err = parseGroups("--groups", s.groups); err == nil {
		cfg.Next, err = parseGroups("--next-groups", s.next)
	}
	if err != nil {
		return cfg, err
	}
	if s.masters != "" {
		for _, addr := range strings.Split(s.masters, ",") {
			cfg.Masters = append(cfg.Masters, strings.TrimSpace(addr))
		}
	}
	if s.passwordFile != "" {
		text, err := os.ReadFile(s.passwordFile)
		if err != nil {
			return cfg, usage.Errorf("--password-file: %w", err)
		}
		cfg.Client.Password = strings.TrimRight(withoutMark(text), "\r\n")
	}
	cfg.TTL = cfg.MaxTTL // which a command without --ttl asks for, if it locks at all
	cfg.Client.TLSConfig, err = s.tls.config()
	return cfg, err
}

// completeFromFile sets each setting that is still unset and that the file of --config has.
func (s *settings) completeFromFile() error {
	if s.file == "" {
		return nil
	}
	values, err := s.read(s.file)
	if err != nil {
		return err
	}
	return s.complete(s.file, func(name string) string { return values[name] })
}

// complete sets each setting that is still unset and of which lookup has a value. The password and its file count as one
// setting, and so do the masters and the groups.
func (s *settings) complete(where string, lookup func(name string) string) (err error) {
	had := s.flags.Changed(passwordName) || s.flags.Changed("password-file")
	one := s.masters != ""
	replaced := map[string]bool{passwordName: had, "password-file": had, "masters": s.groups != "", "groups": one, "next-groups": one}
	s.flags.VisitAll(func(f *pflag.Flag) {
		value := lookup(variable(f.Name))
		if value != "" && f.Name == "groups" && one {
			s.replaced = where
		}
		if value == "" || f.Changed || replaced[f.Name] || err != nil {
			return
		}
		if s.flags.Set(f.Name, value) != nil {
			err = usage.Errorf("%s in %s: not a %s", variable(f.Name), where, f.Value.Type())
		}
	})
	if err == nil && !had && s.cfg.Client.Password != "" && s.passwordFile != "" {
		err = usage.Errorf("%s and %s are both in %s", variable(passwordName), variable("password-file"), where)
	}
	return err
}

// read reads a file of settings. Values may be quoted, as for systemd and shells. No error repeats a line: it may be a password.
func (s *settings) read(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usage.Errorf("--config: %w", err)
	}
	known, values := s.variables(), map[string]string{}
	for n, line := range strings.Split(withoutMark(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := fmt.Sprintf("%s line %d", name, n+1)
		variable, value, ok := strings.Cut(line, "=")
		switch _, twice := values[variable]; {
		case !ok || !strings.HasPrefix(variable, variablePrefix):
			return nil, usage.Errorf("%s is not like MUXLOCK_MASTERS=a:6379,b:6379,c:6379", at)
		case variable == "MUXLOCK_CONFIG":
			return nil, usage.Errorf("%s: a file names no other file of settings", at)
		case !slices.Contains(known, variable):
			return nil, noSetting(at, variable, known)
		case twice:
			return nil, usage.Errorf("%s: %s is there twice", at, variable)
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[variable] = value
	}
	return values, nil
}

// withoutMark returns text without the byte order mark that editors of Windows put at its head.
func withoutMark(text []byte) string { return strings.TrimPrefix(string(text), "\ufeff") }
