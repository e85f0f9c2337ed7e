package plan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"muxlock/cmd/lockbench/internal/result"
	"muxlock/internal/usage"
)

// declared returns the parsed flags of a load.
func declared(t *testing.T, impls string, args ...string) *Flags {
	t.Helper()
	var f Flags
	f.Declare(pflag.NewFlagSet("", pflag.ContinueOnError), impls, 1, "text")
	require.NoError(t, f.flags.Parse(args))
	return &f
}

func runFlags(t *testing.T, args ...string) *Flags {
	t.Helper()
	return declared(t, "muxlock", args...)
}

// planned returns the plan of lockbench run.
func planned(t *testing.T, args ...string) *Plan {
	t.Helper()
	p, err := runFlags(t, args...).Plan("run")
	require.NoError(t, err, args)
	return p
}

// documentOf is what such a plan leaves.
func documentOf(p *Plan, impls string) (result.Document, *pflag.FlagSet) {
	var f Flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Declare(fs, impls, 1, "text")
	f.Settings = p.Settings
	c := result.Config{Settings: p.Settings, Command: p.Command, Target: p.Masters.Target, Masters: make([]string, p.Masters.Count)}
	for i := range c.Masters {
		c.Masters[i] = fmt.Sprintf("m:%d", i+1)
	}
	for _, one := range p.Each {
		c.Loads = append(c.Loads, result.Load{Name: result.LoadName(one.Setting[result.LoadSetting]), Config: one.Config, Impls: one.Impls})
	}
	return result.NewDocument(c, nil), fs
}

// written returns the name of a file with that document.
func written(t *testing.T, doc result.Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, result.JSON(&b, doc))
	name := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

var shellWord = regexp.MustCompile(`'[^']*'|\S+`)

// wordsOf returns the arguments of a command line.
func wordsOf(line string) []string {
	words := shellWord.FindAllString(line, -1)
	for i := range words {
		words[i] = strings.Trim(words[i], "'")
	}
	return words[2:]
}

func TestEveryFlagOfALoadIsKept(t *testing.T) {
	f := runFlags(t)
	f.flags.VisitAll(func(flag *pflag.Flag) {
		h := HeadingOf(flag)
		_ = slices.ContainsFunc([]string{"7", "7s", "true", "try", "uniform"}, func(text string) bool { return flag.Value.Set(text) == nil })
		kept := h != OfOutput && flag.Name != "new-masters" && !slices.Contains(targetFlags, flag.Name)
		line := Again(result.Document{Config: result.Config{Settings: f.Settings}}, f.flags)
		require.Equal(t, kept, strings.Contains(line, "--"+flag.Name), "--%s: %s", flag.Name, line)
		another := runFlags(t)
		another.Settings = f.Settings
		require.Equal(t, line, Again(result.Document{Config: result.Config{Settings: f.Settings}}, another.flags), "the settings have its value")
	})
	require.Equal(t, `'it'\''s'`, quoted("it's"))
}

func TestAConfigThatMakesNoPlanIsRefused(t *testing.T) {
	text, err := os.ReadFile("testdata/config.json")
	require.NoError(t, err)
	for _, c := range []struct{ was, is, want string }{
		{`"muxlock"`, `"unheard"`, "--impl"},
		{`"local"`, `"elsewhere"`, "elsewhere"},
		{`"local"`, `"given", "masters_redacted": true`, "name its masters again with --masters (h:1,h:2,h:3)"},
		{`"schema_version": 3`, `"schema_version": 2`, "was made by another lockbench: schema 2, this one reads 3"},
	} {
		name := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(name, bytes.Replace(text, []byte(c.was), []byte(c.is), 1), 0o600))
		_, err := runFlags(t, "--config", name).Plan("run")
		require.ErrorContains(t, err, c.want)
		require.ErrorAs(t, err, new(usage.Error))
	}
}

// A sample file may have changed since: the document has the samples.
func TestTheSamplesOfAConfigAreThoseOfTheDocument(t *testing.T) {
	samples := filepath.Join(t.TempDir(), "holds")
	require.NoError(t, os.WriteFile(samples, []byte("1ms\n3ms\n"), 0o600))
	p := planned(t, "--embedded", "1", "--hold", "file:"+samples)
	doc, _ := documentOf(p, "muxlock")
	name := written(t, doc)
	require.NoError(t, os.Remove(samples))
	require.Equal(t, p.Hold.Samples(), planned(t, "--config", name).Hold.Samples())
}
